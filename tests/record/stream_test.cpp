// Reading one Record at a time says the same as reading them all.
#include "record/stream.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "record/store.h"
#include "tests/base/expect_error.h"
#include "tests/base/temporary_folder.h"
#include "tests/record/sample_records.h"

namespace lenbench {
namespace {

class Stream : public ::testing::Test {
 protected:
  std::string file(const std::string& bytes) const {
    write_file_atomically(folder_ / "r.jsonl", bytes);
    return folder_ / "r.jsonl";
  }
  static std::vector<Record> read(const std::string& path, std::string* note = nullptr) {
    std::vector<Record> records;
    const std::int64_t count = for_each_record(
        path,
        [&](const Record& record, const StreamPlace& place) {
          EXPECT_LE(place.bytes_read, place.bytes_total);
          records.push_back(record);
        },
        note);
    EXPECT_EQ(count, static_cast<std::int64_t>(records.size()));
    return records;
  }
  const std::string line_ = to_json_line(recall_record());
  TemporaryFolder folder_;
};

TEST_F(Stream, WholeFilesWithAndWithoutALastLineFeed) {
  for (const std::string& bytes : {line_ + "\n" + line_ + "\n", line_ + "\n" + line_}) {
    const std::string path = file(bytes);
    EXPECT_EQ(read(path), read_records(path));
    EXPECT_EQ(read(path).size(), 2U);
  }
  EXPECT_TRUE(read(file("")).empty());
}

TEST_F(Stream, ATornTailIsLeftOutWithTheSameNote) {
  const std::string path = file(line_ + "\n" + line_.substr(0, 100));
  std::string note, expected;
  EXPECT_EQ(read(path, &note), read_records(path, &expected));
  EXPECT_EQ(note, expected);
  EXPECT_NE(note, "");
  EXPECT_THROW(read(path), Error);
}

TEST_F(Stream, TheSameRefusals) {
  for (const std::string& bytes :
       {line_ + "\n\n" + line_ + "\n", line_ + "\n{}\n", std::string("text\n"), line_ + "}\n"}) {
    const std::string path = file(bytes);
    std::string streamed, whole;
    try {
      read(path);
    } catch (const Error& error) {
      streamed = error.what();
    }
    try {
      read_records(path);
    } catch (const Error& error) {
      whole = error.what();
    }
    EXPECT_NE(whole, "");
    EXPECT_EQ(streamed, whole);
  }
  EXPECT_THROW(read(folder_.path()), Error);
  EXPECT_THROW(read(folder_ / "missing"), Error);
}

}  // namespace
}  // namespace lenbench
