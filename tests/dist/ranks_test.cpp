// What launchers say, and what they cannot mean.
#include "dist/ranks.h"

#include <gmock/gmock.h>

#include <map>

#include "tests/bench/expect_error.h"

namespace lenbench {
namespace {

using Variables = std::map<std::string, std::string>;
using ::testing::HasSubstr;

std::optional<Ranks> ranks_in(const Variables& variables) {
  return ranks_from([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string refusal(const Variables& variables) {
  return error_of([&] { ranks_in(variables); });
}

const Variables kTorchrun = {{"RANK", "3"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"MASTER_ADDR", "node1"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_RUN_ID", "abc"},
                             {"TORCHELASTIC_RESTART_COUNT", "2"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
const Variables kSlurm = {{"SLURM_PROCID", "2"},  {"SLURM_NTASKS", "4"},    {"SLURM_LOCALID", "0"},
                          {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_ID", "1234"}, {"SLURM_STEP_NODELIST", "gpu[07-09,12]"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"MASTER_ADDR", "10.0.0.1"},
                            {"MASTER_PORT", "4000"}};

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

Variables without(Variables variables, const char* name) {
  variables.erase(name);
  return variables;
}

TEST(Ranks, OfEveryLauncher) {
  const Ranks torchrun = ranks_in(kTorchrun).value();
  EXPECT_EQ(torchrun.rank, 3);
  EXPECT_EQ(torchrun.world, 8);
  EXPECT_EQ(torchrun.local_rank, 1);
  EXPECT_EQ(torchrun.host, "node1");
  EXPECT_EQ(torchrun.port, 29500);
  EXPECT_TRUE(torchrun.store_is_held);
  EXPECT_EQ(torchrun.run, "abc/2");

  const Ranks slurm = ranks_in(kSlurm).value();
  EXPECT_EQ(slurm.rank, 2);
  EXPECT_EQ(slurm.world, 4);
  EXPECT_EQ(slurm.local_rank, 0);
  EXPECT_EQ(slurm.host, "gpu07");
  EXPECT_GE(slurm.port, 1024);
  EXPECT_LT(slurm.port, 65536);
  EXPECT_FALSE(slurm.store_is_held);
  EXPECT_NE(ranks_in(with(kSlurm, {{"SLURM_STEP_ID", "1"}}))->port, slurm.port) << "steps side by side";
  EXPECT_EQ(ranks_in(with(kSlurm, {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "77"}}))->port, 77);

  const Ranks mpi = ranks_in(kOpenMpi).value();
  EXPECT_EQ(mpi.rank, 1);
  EXPECT_EQ(mpi.world, 2);
  EXPECT_EQ(mpi.host, "10.0.0.1");
}

TEST(Ranks, NoneWithoutALauncherOrWithOneRank) {
  EXPECT_FALSE(ranks_in({}));
  EXPECT_FALSE(ranks_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  // In a batch script, before srun, nothing runs side by side.
  EXPECT_FALSE(ranks_in(without(kSlurm, "SLURM_STEP_ID")));
}

TEST(Ranks, TheInnerLauncherCounts) {
  EXPECT_EQ(ranks_in(with(kTorchrun, kSlurm))->world, 8);
  EXPECT_EQ(ranks_in(with(kOpenMpi, kSlurm))->world, 2);
}

TEST(Ranks, RefusesWhatContradictsItselfOrIsMissing) {
  const Variables by_hand = without(kTorchrun, "TORCHELASTIC_RUN_ID");
  EXPECT_THAT(refusal(with(by_hand, kSlurm)), HasSubstr("RANK says rank 3 of 8, and SLURM_PROCID rank 2 of 4"));
  EXPECT_THAT(refusal(with(by_hand, kOpenMpi)), HasSubstr("OMPI_COMM_WORLD_RANK rank 1 of 2"));
  EXPECT_THAT(refusal(with(kTorchrun, {{"RANK", "8"}})), HasSubstr("RANK is 8 and WORLD_SIZE is 8: ranks are 0 to 7"));
  EXPECT_THAT(refusal(with(kTorchrun, {{"RANK", "-1"}})), HasSubstr("RANK is -1"));
  EXPECT_THAT(refusal(with(kTorchrun, {{"WORLD_SIZE", "many"}})), HasSubstr("WORLD_SIZE"));
  EXPECT_THAT(refusal(with(kTorchrun, {{"WORLD_SIZE", "0"}})), HasSubstr("WORLD_SIZE is 0"));
  EXPECT_THAT(refusal(with(kTorchrun, {{"MASTER_PORT", "65536"}})), HasSubstr("MASTER_PORT is 65536"));
  EXPECT_THAT(refusal(without(kTorchrun, "WORLD_SIZE")), HasSubstr("WORLD_SIZE is not set"));
  EXPECT_THAT(refusal(without(kTorchrun, "MASTER_ADDR")), HasSubstr("MASTER_ADDR is not set"));
  EXPECT_THAT(refusal(without(kOpenMpi, "MASTER_PORT")), HasSubstr("MASTER_PORT is not set"));
  EXPECT_THAT(refusal(without(kSlurm, "SLURM_STEP_NODELIST")), HasSubstr("MASTER_ADDR is not set"));
}

TEST(Ranks, FirstHostOfANodeList) {
  for (const auto& [nodes, host] : Variables{{"a", "a"},
                                             {"a,b", "a"},
                                             {"n[3-5]", "n3"},
                                             {"n[07,09]", "n07"},
                                             {"n[007]-ib,other", "n007-ib"},
                                             {"rack-1-[1-2]", "rack-1-1"},
                                             {"n[3", ""},
                                             {"", ""}}) {
    EXPECT_EQ(first_host(nodes), host) << nodes;
  }
}

}  // namespace
}  // namespace lenbench
