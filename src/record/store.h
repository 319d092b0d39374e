// Records as JSON lines: append-only writing that survives kill -9, strict reading. Format: results/README.md.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"

namespace lenbench {

// One line without its line feed. Throws Error(kNotMeasured) naming a required number that is not finite; optional ones
// become null.
std::string to_json_line(const Record& record);

// Throws Error opening with `where`: a newer schema (both numbers), unknown or missing keys, wrong types, and contents
// that contradict themselves (check.h).
Record record_from_json(const nlohmann::ordered_json& json, const std::string& where);
Record record_from_json_line(std::string_view line, const std::string& where);

// Whether a file may hold parts of Cells (Record::part). Readers that take a Record for a whole Cell must refuse them.
enum class Parts { kRefused, kAllowed };

// Throws Error opening with `where` on a part: it is to be merged first.
void refuse_part(const Record& record, const std::string& where);

// All Records of a file in order; the Record at index i is line i + 1. Lines end at LF only. Messages are "PATH:LINE:
// ...". An empty file gives none. A last line cut short by a killed run is left out and reported through `note` (one
// line, else empty); without `note` it is an Error. A whole Record that only lacks its line feed counts.
std::vector<Record> read_records(const std::string& path, std::string* note = nullptr, Parts parts = Parts::kRefused);

// Whether a file's first bytes are those of a Record: every one opens with its schema.
inline bool opens_as_records(std::string_view start) { return start.starts_with("{\"schema\""); }

// Index of each Record by resume_key(). Throws Error naming `path` and both lines when two have the same key.
std::map<std::string, std::size_t> index_by_resume_key(const std::vector<Record>& records, const std::string& path);

// What to do with an existing file.
enum class OpenMode {
  kResume,     // keep its Records and append
  kOverwrite,  // drop its Records, if Records is what it holds
  kNew,        // refuse it unless empty
};

// Holds a Record file open, and locked against other writers, for as long as it lives.
class RecordWriter {
 public:
  // Creates the file and missing folders. Throws Error (exit 2) before anything is measured when the path cannot be
  // written, is a folder or special file, is held by another writer, or holds something other than Records. A torn last
  // line moves to the first free PATH.torn-N and note() says so.
  explicit RecordWriter(const std::string& path, OpenMode mode = OpenMode::kResume);
  // Removes the file when this writer created it and wrote nothing.
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  // What the file held when it was opened; empty unless resuming.
  const std::vector<Record>& existing() const { return existing_; }
  // One line about a torn tail that was moved aside; else empty.
  const std::string& note() const { return note_; }
  const std::string& path() const { return path_; }

  // On disk when it returns. Throws Error(kNotMeasured) when it cannot be written; the file then ends with the last
  // whole Record.
  void append(const Record& record);

 private:
  void open_and_lock();
  void take_over(OpenMode mode);
  void discard();

  std::string path_;
  int file_ = -1;
  bool created_ = false;
  bool appended_ = false;
  std::vector<Record> existing_;
  std::string note_;
};

}  // namespace lenbench
