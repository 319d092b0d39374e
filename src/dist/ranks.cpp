// Reads launchers' variables, strictly.
#include "dist/ranks.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.h"
#include "base/numbers.h"

namespace lenbench {

namespace {

constexpr int kMostRanks = 1 << 20;
constexpr int kFirstSlurmPort = 20000;
constexpr std::uint64_t kSlurmPorts = 20000;

int number(const Environment& environment, const char* name, std::int64_t least, std::int64_t most) {
  const std::optional<std::string> text = environment(name);
  if (!text) throw Error(std::string(name) + " is not set, though the launcher's other variables are");
  const std::int64_t value = parse_int(*text, name);
  if (value < least || value > most) {
    throw Error(fmt::format("{} is {}; it must be {} to {}", name, value, least, most));
  }
  return static_cast<int>(value);
}

// One launcher's names. Its ranks are there when the variables of rank and size are.
struct Names {
  const char *rank, *size, *local_rank;
};

std::optional<Ranks> read(const Environment& environment, const Names& names) {
  if (!environment(names.rank) && !environment(names.size)) return std::nullopt;
  Ranks ranks;
  ranks.world = number(environment, names.size, 1, kMostRanks);
  ranks.rank = number(environment, names.rank, 0, kMostRanks);
  if (ranks.rank >= ranks.world) {
    throw Error(fmt::format("{} is {} and {} is {}: ranks are 0 to {}", names.rank, ranks.rank, names.size, ranks.world,
                            ranks.world - 1));
  }
  ranks.local_rank = environment(names.local_rank) ? number(environment, names.local_rank, 0, kMostRanks) : ranks.rank;
  ranks.source = names.rank;
  return ranks;
}

void require_same(const Ranks& a, const Ranks& b) {
  if (a.rank == b.rank && a.world == b.world) return;
  throw Error(fmt::format("{} says rank {} of {}, and {} rank {} of {}: unset the variables of one launcher", a.source,
                          a.rank, a.world, b.source, b.rank, b.world));
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr || value[0] == '\0') return std::nullopt;
    return value;
  };
}

std::string first_host(const std::string& nodes) {
  const std::size_t end = nodes.find_first_of("[,");
  std::string host = nodes.substr(0, end);
  if (end == std::string::npos || nodes[end] == ',') return host;
  const std::size_t number_end = nodes.find_first_of("-,]", end + 1);
  if (number_end == std::string::npos) return "";
  host += nodes.substr(end + 1, number_end - end - 1);
  const std::size_t close = nodes.find(']', number_end);
  if (close == std::string::npos) return "";
  const std::size_t next = nodes.find(',', close);
  return host + nodes.substr(close + 1, next == std::string::npos ? next : next - close - 1);
}

std::optional<Ranks> ranks_from(const Environment& environment) {
  const std::optional<Ranks> torch = read(environment, {"RANK", "WORLD_SIZE", "LOCAL_RANK"});
  const std::optional<Ranks> mpi =
      read(environment, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"});
  // A batch script, in which nothing was started side by side, has the other variables but no step.
  const bool in_step = environment("SLURM_STEP_ID").has_value();
  const std::optional<Ranks> slurm =
      in_step ? read(environment, {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"}) : std::nullopt;
  // torchrun and mpirun may themselves be started by another launcher, whose ranks are then those of machines.
  const bool torchrun = environment("TORCHELASTIC_RUN_ID").has_value();
  std::optional<Ranks> ranks = torch ? torch : mpi ? mpi : slurm;
  if (torch && !torchrun && mpi) require_same(*torch, *mpi);
  if (torch && !torchrun && !mpi && slurm) require_same(*torch, *slurm);
  if (!ranks || ranks->world == 1) return std::nullopt;

  ranks->store_is_held = environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (torchrun) {
    ranks->run = *environment("TORCHELASTIC_RUN_ID") + "/" + environment("TORCHELASTIC_RESTART_COUNT").value_or("0");
  }
  const bool is_slurm = !torch && !mpi;
  const std::optional<std::string> host = environment("MASTER_ADDR");
  if (host) {
    ranks->host = *host;
  } else if (is_slurm) {
    ranks->host = first_host(environment("SLURM_STEP_NODELIST").value_or(""));
  }
  if (ranks->host.empty()) {
    throw Error(fmt::format("{} says rank {} of {}, and MASTER_ADDR is not set: it names the machine of rank 0",
                            ranks->source, ranks->rank, ranks->world));
  }
  if (environment("MASTER_PORT")) {
    ranks->port = number(environment, "MASTER_PORT", 1, 65535);
  } else if (is_slurm && environment("SLURM_JOB_ID")) {
    const std::uint64_t job = parse_uint(*environment("SLURM_JOB_ID"), "SLURM_JOB_ID");
    const std::uint64_t step = parse_uint(*environment("SLURM_STEP_ID"), "SLURM_STEP_ID");
    ranks->port = kFirstSlurmPort + static_cast<int>((31 * (job % kSlurmPorts) + step) % kSlurmPorts);
  } else {
    throw Error(fmt::format("{} says rank {} of {}, and MASTER_PORT is not set: it names a free port of rank 0",
                            ranks->source, ranks->rank, ranks->world));
  }
  return ranks;
}

}  // namespace lenbench
