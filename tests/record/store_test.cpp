// Tests of reading and of the Record's JSON line.
#include "record/store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/files.h"
#include "tests/base/expect_error.h"
#include "tests/base/german_locale.h"
#include "tests/base/temporary_folder.h"
#include "tests/record/sample_records.h"

namespace lenbench {
namespace {

using Json = nlohmann::ordered_json;

std::string refusal(const std::string& line) {
  return error_of([&] { record_from_json_line(line, "r.jsonl:3"); });
}

// The refusal of a good Record in which `change` was made to the JSON.
template <class Change>
std::string refusal_after(const Change& change) {
  Json json = Json::parse(to_json_line(recall_record()));
  change(json);
  return refusal(json.dump());
}

TEST(RecordLine, RoundTripsEveryField) {
  Record skipped;
  skipped.question.length = 1;
  skipped.status = "skipped";
  skipped.reason = "too long";
  for (const Record& record : {recall_record(), text_record(), skipped}) {
    const std::string line = to_json_line(record);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const Record back = record_from_json_line(line, "t");
    EXPECT_EQ(back, record);
    EXPECT_TRUE(fields_equal(back, record));
    EXPECT_EQ(to_json_line(back), line);
  }
}

TEST(RecordLine, IsTheSameInAnyLocale) {
  const std::string line = to_json_line(text_record());
  const GermanLocale german;
  EXPECT_EQ(to_json_line(text_record()), line);
  EXPECT_EQ(record_from_json_line(line, "t"), text_record());
}

TEST(RecordLine, EscapesNamesThatAreNotUtf8) {
  Record record = recall_record();
  record.subject.name = "caf\xE9";
  EXPECT_EQ(record_from_json_line(to_json_line(record), "t").subject.name, "caf\\xe9");
}

TEST(RecordLine, HoldsNoNonFiniteNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  Record record = text_record();
  record.measurement.perplexity = infinity;
  record.measurement.nll_nats = nan;
  record.measurement.probe_rows = "answer";
  record.measurement.heads.resize(1);
  record.measurement.heads[0].rows = 1;
  record.measurement.heads[0].normalized_entropy = nan;
  const Record back = record_from_json_line(to_json_line(record), "t");
  EXPECT_FALSE(back.measurement.perplexity);
  EXPECT_FALSE(back.measurement.nll_nats);
  EXPECT_FALSE(back.measurement.heads[0].normalized_entropy);

  const auto refused = [&](const auto& change) {
    Record broken = recall_record();
    change(broken);
    return error_of([&] { to_json_line(broken); }, ExitCode::kNotMeasured);
  };
  EXPECT_NE(refused([&](Record& r) { r.measurement.seconds = nan; }).find("measurement.seconds is NaN"),
            std::string::npos);
  EXPECT_NE(refused([&](Record& r) { r.measurement.exact->low = -infinity; }).find("measurement.exact.low"),
            std::string::npos);
  EXPECT_NE(refused([&](Record& r) { r.measurement.heads[1].entropy = nan; }).find("measurement.heads[1].entropy"),
            std::string::npos);
  EXPECT_NE(refused([&](Record& r) {
              r.sample_nats = {1, infinity};
            }).find("sample_nats[1] is infinity"),
            std::string::npos);
}

TEST(RecordLine, RefusesANewerSchemaWithBothNumbers) {
  EXPECT_EQ(refusal_after([](Json& j) {
              j["schema"] = 7;
              j["future"] = 1;
            }),
            "r.jsonl:3: schema 7 is newer than schema 1, the newest this lenbench reads: use a newer lenbench");
  refusal_after([](Json& j) { j["schema"] = 0; });
  refusal_after([](Json& j) { j["schema"] = -1; });
  refusal_after([](Json& j) { j["schema"] = 18446744073709551615u; });
}

TEST(RecordLine, RefusesWhatIsNoRecord) {
  for (const std::string line : {"{}", "[]", "1", "null", "{\"schema\":\"1\"}", "{\"schema\":1.0}"}) {
    EXPECT_NE(refusal(line).find("r.jsonl:3: not a lenbench record"), std::string::npos) << line;
  }
  refusal("{\"schema\":1}");
  refusal("{\"schema\":1,\"schema\":1}");
  refusal("not json");
}

TEST(RecordLine, IsStrict) {
  EXPECT_EQ(refusal_after([](Json& j) { j["measurement"]["exakt"] = nullptr; }),
            "r.jsonl:3: measurement: unknown key 'exakt' (did you mean 'exact'?)");
  EXPECT_EQ(refusal_after([](Json& j) { j["question"].erase("length"); }),
            "r.jsonl:3: question: the key 'length' is missing");
  EXPECT_EQ(refusal_after([](Json& j) { j["question"]["length"] = "64"; }),
            "r.jsonl:3: question.length must be an integer, not \"64\"");
  EXPECT_EQ(refusal_after([](Json& j) { j["measurement"]["seconds"] = nullptr; }),
            "r.jsonl:3: measurement.seconds must be a number, not null");
}

TEST(RecordLine, RefusesContentsThatContradictThemselves) {
  const auto exact = [](std::int64_t n, std::int64_t right, double value, double low, double high) {
    return [=](Json& j) {
      j["measurement"]["exact"] = {{"n", n}, {"right", right}, {"value", value}, {"low", low}, {"high", high}};
    };
  };
  refusal_after(exact(4, 5, 1.25, 0, 1));
  refusal_after(exact(4, -1, -0.25, 0, 1));
  refusal_after(exact(4, 2, 0.6, 0.1, 0.9));
  refusal_after(exact(4, 2, 0.5, 0.6, 0.9));
  refusal_after(exact(4, 2, 0.5, -0.1, 0.9));
  // An error of zero between the ends, as published by a neighbouring tool: 14 of 307 is 0.0456.
  EXPECT_NE(refusal_after(exact(307, 14, 14.0 / 307, 14.0 / 307, 14.0 / 307)).find("interval is inconsistent"),
            std::string::npos);
  refusal_after([](Json& j) { j["status"] = "started"; });
  refusal_after([](Json& j) { j["outcomes"] = "10x"; });
  refusal_after([](Json& j) { j["outcomes"] = "10x2"; });
  refusal_after([](Json& j) { j["sample_nats"] = {1.0}; });
  refusal_after([](Json& j) { j["samples_requested"] = -5; });
}

TEST(ReadRecords, NamesTheLine) {
  const TemporaryFolder folder;
  const std::string good = to_json_line(recall_record()) + "\n";
  const auto problem = [&](const std::string& bytes) {
    write_file_atomically(folder / "r.jsonl", bytes);
    return error_of([&] { read_records(folder / "r.jsonl"); }).substr(folder.path().size());
  };
  EXPECT_EQ(problem(good + good + "{}\n" + good).substr(0, 12), "/r.jsonl:3: ");
  EXPECT_EQ(problem(good + "\n" + good), "/r.jsonl:2: an empty line");
  EXPECT_EQ(problem(good + "{\"schema\":1,\n" + good).substr(0, 12), "/r.jsonl:2: ");
  EXPECT_EQ(problem("name,score\n").substr(0, 12), "/r.jsonl:1: ");
  EXPECT_EQ(problem("name,score").substr(0, 12), "/r.jsonl:1: ");
  EXPECT_NE(error_of([&] { read_records(folder / "none"); }).find("no such file"), std::string::npos);
}

TEST(ReadRecords, TakesAnEmptyFileAndALastLineWithoutLineFeed) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "r.jsonl", "");
  EXPECT_TRUE(read_records(folder / "r.jsonl").empty());
  write_file_atomically(folder / "r.jsonl", to_json_line(recall_record()) + "\n" + to_json_line(text_record()));
  std::string note = "old";
  EXPECT_EQ(read_records(folder / "r.jsonl", &note), (std::vector<Record>{recall_record(), text_record()}));
  EXPECT_EQ(note, "");
}

TEST(ReadRecords, ReportsATailTornAtAnyByte) {
  const TemporaryFolder folder;
  const std::string first = to_json_line(recall_record()) + "\n", second = to_json_line(text_record());
  for (const std::string& before : {std::string(), first}) {
    write_file_atomically(folder / "r.jsonl", before + second);
    for (std::size_t kept = second.size() - 1; kept > 0; --kept) {
      std::filesystem::resize_file(folder / "r.jsonl", before.size() + kept);
      std::string note;
      const std::vector<Record> records = read_records(folder / "r.jsonl", &note);
      ASSERT_EQ(records.size(), before.empty() ? 0u : 1u) << kept;
      ASSERT_NE(note.find("the last " + std::to_string(kept) + " bytes"), std::string::npos) << note;
      if (kept % 100 == 1) error_of([&] { read_records(folder / "r.jsonl"); });
    }
  }
}

TEST(IndexByResumeKey, NamesBothLinesOfADuplicate) {
  Record failed = recall_record();
  failed.status = "ok";
  const std::vector<Record> records = {recall_record(), text_record()};
  const auto index = index_by_resume_key(records, "r.jsonl");
  EXPECT_EQ(index.at(records[1].resume_key()), 1u);
  EXPECT_EQ(index.size(), 2u);
  const std::string message = error_of([&] {
    index_by_resume_key({recall_record(), text_record(), failed}, "r.jsonl");
  });
  EXPECT_EQ(message.substr(0, 27), "r.jsonl: lines 1 and 3 meas");
}

}  // namespace
}  // namespace lenbench
