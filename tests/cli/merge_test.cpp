// Runs cut into shards and joined again: the same Records as one process, and refusals where parts do not fit.
#include <gtest/gtest.h>

#include <csignal>

#include "cli/program.h"
#include "tests/record/same_records.h"

namespace lenbench::cli_test {
namespace {

TEST(Merge, ShardsGiveTheRecordsAndTheTableOfOneRun) {
  const TempFolder folder;
  for (const char* model : {"blind", "oracle:1024", "nan@300", "oom@2048"}) {
    const std::string name = folder.path(std::string(model).substr(0, 3));
    const Words run = {"run",          model,      "--tasks",   "recall:density=4,mqmtar,text",
                       "--lengths",    "64..2048", "--samples", "40",
                       "--samples-at", "64=300",   "--quiet"};
    lenbench(with(run, {"-o", name + ".jsonl"}));
    Words merge = {"merge"};
    for (const char* shard : {"1/3", "2/3", "3/3"}) {
      const std::string part = name + "-part" + shard[0];
      lenbench(with(run, {"--shard", shard, "-o", part}));
      ASSERT_FALSE(slurp(part).empty()) << shard;
      merge.push_back(part);
    }
    const std::string joined = name + "-joined.jsonl";
    const Outcome outcome = lenbench(with(merge, {"-o", joined}));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, joined + ": 18 Records from 3 files\n");
    EXPECT_TRUE(same_records(lines_of(slurp(name + ".jsonl")), lines_of(slurp(joined)), kReals)) << model;
    EXPECT_EQ(lenbench({"table", joined}).out, lenbench({"table", name + ".jsonl"}).out);

    // Again: nothing is written twice. After an interruption: the rest is.
    const std::string bytes = slurp(joined);
    EXPECT_EQ(lenbench(with(merge, {"-o", joined})).code, 0);
    EXPECT_EQ(slurp(joined), bytes);
    spill(joined, bytes.substr(0, bytes.size() / 2));
    EXPECT_EQ(lenbench(with(merge, {"-o", joined})).code, 0);
    EXPECT_EQ(slurp(joined), bytes);
  }
}

TEST(Merge, WhatReadsWholeCellsRefusesParts) {
  const TempFolder folder;
  const std::string part = folder.path("part.jsonl"), whole = folder.path("whole.jsonl");
  const Words run = {"run", "oracle", "--lengths", "64,128", "--samples", "10", "-o"};
  ASSERT_EQ(lenbench(with(run, {whole})).code, 0);
  const Outcome shard = lenbench(with(run, {part, "--shard", "1/1"}));
  ASSERT_EQ(shard.code, 0) << shard.err;
  EXPECT_EQ(shard.out, "");
  for (const Words& words : std::vector<Words>{{"table", part},
                                               {"plot", "accuracy", part},
                                               {"report", part, "-o", folder.path("r.html")},
                                               {"compare", whole, part},
                                               {"check", part, "--baseline", whole},
                                               {"baseline", "write", part, "-o", folder.path("b.json")}}) {
    EXPECT_TRUE(refused(lenbench(words), 2, "a part of a run (item 1 of 2), not a whole cell: join all parts with"))
        << words[0];
  }
  EXPECT_TRUE(refused(lenbench(with(run, {part})), 2, "it holds parts of a run with --shard"));
  EXPECT_TRUE(refused(lenbench(with(run, {whole, "--shard", "1/1"})), 2, "--shard writes parts of them"));
  EXPECT_TRUE(refused(lenbench(with(run, {part, "--shard", "1/1", "--batch", "1"})), 2, "cut otherwise"));
}

TEST(Merge, RefusesInOneLineWhatIsNotAllOfOneRun) {
  const TempFolder folder;
  const auto part = [&](const std::string& name, const Words& more) {
    const Outcome outcome =
        lenbench(with({"run", "oracle", "--lengths", "64..2048", "--samples", "40", "-o", folder.path(name)}, more));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return folder.path(name);
  };
  const std::string a = part("a", {"--shard", "1/2"}), b = part("b", {"--shard", "2/2"}),
                    other = part("other", {"--shard", "2/2", "--seed", "3"}), out = folder.path("out");
  const auto merge = [&](const Words& files) { return lenbench(with(with({"merge"}, files), {"-o", out})); };
  EXPECT_TRUE(refused(merge({a}), 2, "in none of '" + a + "'"));
  EXPECT_TRUE(refused(merge({a, b, a}), 2, "'" + a + "' and '" + a + "' both hold"));
  EXPECT_TRUE(refused(merge({a, other}), 2, "'" + a + "' and '" + other + "' are parts of different plans"));
  EXPECT_TRUE(refused(merge({}), 2, "name the parts"));
  EXPECT_TRUE(refused(merge({folder.path("none")}), 2, "no such file"));
  EXPECT_TRUE(refused(lenbench({"merge", a, b, "-o", a}), 2, "-o"));
  EXPECT_FALSE(std::filesystem::exists(out)) << "a refused merge leaves nothing behind";
  ASSERT_EQ(merge({b, a}).code, 0);
  spill(folder.path("c"), slurp(out));
  EXPECT_TRUE(refused(lenbench({"merge", a, b, "-o", other}), 2, "holds other Records"));
  // Whole Records of another run are joined to it, the same ones are not.
  const std::string longer = part("longer", {});
  EXPECT_TRUE(refused(lenbench({"merge", a, b, longer, "-o", folder.path("d")}), 2, "both hold recall at"));

  for (const auto& [shard, why] : std::map<std::string, std::string>{{"0/2", "at least 1"},
                                                                     {"3/2", "numbered from 1 to 2"},
                                                                     {"1", "write I/N"},
                                                                     {"1/0", "at least 1"},
                                                                     {"x/2", "--shard I/N"}}) {
    EXPECT_TRUE(refused(lenbench({"run", "oracle", "--shard", shard, "-o", out}), 2, why)) << shard;
  }
  EXPECT_TRUE(refused(lenbench({"run", "oracle", "--shard", "1/2"}), 2, "--shard needs -o"));
}

TEST(Merge, AShardThatWasKilledResumesAndLosesNothing) {
  const TempFolder folder;
  const Words run = {"run",     "sleepy:5", "--lengths", "1024", "--samples",        "120", "--batch", "4",
                     "--quiet", "--shard",  "1/1",       "-o",   folder.path("part")};
  Child child(run);
  const bool begun = wait_until([&] { return lines_of(slurp(folder.path("part"))).size() >= 3; }, 30);
  child.send(SIGKILL);
  EXPECT_EQ(child.wait().signal, SIGKILL);
  ASSERT_TRUE(begun);
  const std::size_t items = lines_of(slurp(folder.path("part"))).size();
  EXPECT_TRUE(refused(lenbench({"merge", folder.path("part"), "-o", folder.path("out")}), 2, "finish those"));
  ASSERT_EQ(lenbench(run).code, 0);
  EXPECT_GT(lines_of(slurp(folder.path("part"))).size(), items);
  ASSERT_EQ(lenbench({"merge", folder.path("part"), "-o", folder.path("out")}).code, 0);
  const nlohmann::json record = nlohmann::json::parse(slurp(folder.path("out")));
  EXPECT_EQ(record["outcomes"], std::string(120, '1'));
  EXPECT_FALSE(record.contains("part"));
}

}  // namespace
}  // namespace lenbench::cli_test
