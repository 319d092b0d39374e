// Records of parts of Cells: read where they may be, refused elsewhere, checked like all else.
#include "record/part.h"

#include <gtest/gtest.h>

#include <functional>

#include "record/check.h"
#include "record/store.h"
#include "record/stream.h"
#include "tests/base/expect_error.h"
#include "tests/base/temporary_folder.h"
#include "tests/record/sample_records.h"

namespace lenbench {
namespace {

// recall_record() as samples 12 to 15 of 40.
Record part_record() {
  Record record = recall_record();
  record.samples_requested = 40;
  record.measurement.samples = 4;
  Part part;
  part.plan_sha256 = "aa";
  part.item = 3;
  part.num_items = 10;
  part.first = 12;
  part.samples = 4;
  part.cell_samples = 40;
  part.nonfinite_sample = 14;
  part.nonfinite_position = 7;
  part.num_layers = 2;
  part.num_heads = 4;
  part.token_right = {4, 3, 0, 4};
  part.token_n = {4, 4, 4, 4};
  part.first_state = {{0.5, -1}, {}};
  part.last_state = {{0.25, 1}, {3, 4}};
  record.part = part;
  record.measurement.heads[0].normalized_rows = 2;
  record.measurement.heads[0].source_rows = 1;
  record.measurement.heads[0].scaled_rows = 0;
  record.measurement.facts["distance"].samples = 3;
  return record;
}

TEST(Part, SurvivesTheFileAndIsAbsentFromWholeRecords) {
  const std::string line = to_json_line(part_record());
  EXPECT_EQ(record_from_json_line(line, "t"), part_record());
  EXPECT_EQ(to_json_line(record_from_json_line(line, "t")), line);
  EXPECT_EQ(to_json_line(recall_record()).find("\"part\""), std::string::npos);
  EXPECT_EQ(to_json_line(recall_record()).find("normalized_rows"), std::string::npos);
}

TEST(Part, IsAnotherPieceOfWorkThanItsCell) {
  Record whole = part_record(), next = part_record();
  whole.part.reset();
  next.part->item = 4;
  EXPECT_NE(whole.resume_key(), part_record().resume_key());
  EXPECT_NE(next.resume_key(), part_record().resume_key());
  EXPECT_EQ(whole.question_key(), part_record().question_key());
}

TEST(Part, ReadersRefuseItUnlessTheyAskForParts) {
  const TemporaryFolder folder;
  const std::string path = folder / "p.jsonl";
  {
    RecordWriter writer(path);
    writer.append(text_record());
    writer.append(part_record());
  }
  const std::string wanted =
      path +
      ":2: a part of a run (item 4 of 10), not a whole cell: join all parts with 'lenbench merge PARTS... -o "
      "FILE' first";
  EXPECT_EQ(error_of([&] { read_records(path); }), wanted);
  EXPECT_EQ(error_of([&] { for_each_record(path, [](const Record&, const StreamPlace&) {}); }), wanted);
  EXPECT_EQ(read_records(path, nullptr, Parts::kAllowed).size(), 2U);
  EXPECT_EQ(RecordWriter(path).existing().size(), 2U);
}

TEST(Part, ContradictionsAreNamed) {
  EXPECT_EQ(contradiction(part_record()), "");
  const std::pair<const char*, std::function<void(Record&)>> cases[] = {
      {"part.item is 10", [](Record& r) { r.part->item = 10; }},
      {"part.first is 37", [](Record& r) { r.part->first = 37; }},
      {"part.first is -1", [](Record& r) { r.part->first = -1; }},
      {"part.cell_samples is 41", [](Record& r) { r.part->cell_samples = 41; }},
      {"part.samples is 5", [](Record& r) { r.part->samples = 5; }},
      {"differ in length", [](Record& r) { r.part->token_right.pop_back(); }},
      {"part.token_right[1] is 5 of 4", [](Record& r) { r.part->token_right[1] = 5; }},
      {"differ in depth", [](Record& r) { r.part->last_state.pop_back(); }},
      {"statistics of layer 1, head 2", [](Record& r) { r.part->num_heads = 2; }},
      {"a mean over 4 of 3 rows", [](Record& r) { r.measurement.heads[0].source_rows = 4; }},
      {"facts.distance.samples is 9", [](Record& r) { r.measurement.facts["distance"].samples = 9; }},
  };
  for (const auto& [message, change] : cases) {
    Record record = part_record();
    change(record);
    EXPECT_NE(contradiction(record).find(message), std::string::npos) << contradiction(record);
  }
}

}  // namespace
}  // namespace lenbench
