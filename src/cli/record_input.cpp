// Record files that a command reads, and what reports need to know of tasks.
#include "cli/record_input.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "cli/terminal.h"
#include "record/stream.h"
#include "tasks/catalog.h"

namespace lenbench::cli {

namespace {

constexpr std::int64_t kRecordsAStep = 256;     // between looks at the progress line
constexpr std::int64_t kManyRecords = 100'000;  // from which a log says that they were read

}  // namespace

std::vector<Record> read_record_files(const std::vector<std::string>& files) {
  std::vector<Record> records;
  stream_record_files(files, [&](const Record& record) { records.push_back(record); });
  return records;
}

void stream_record_files(const std::vector<std::string>& files, const std::function<void(const Record&)>& take) {
  if (files.empty()) throw Error("name Record files, as written by 'lenbench run -o FILE'");
  ProgressLine line;
  std::int64_t total = 0;
  for (const std::string& file : files) {
    std::string note;
    std::int64_t done = 0;
    const auto count = for_each_record(
        file,
        [&](const Record& record, const StreamPlace& place) {
          take(record);
          if (++done % kRecordsAStep != 0) return;
          line.show(fmt::format("{}: {} Records, {:.0f} %", file, done,
                                100.0 * static_cast<double>(place.bytes_read) /
                                    static_cast<double>(std::max<std::int64_t>(1, place.bytes_total))));
        },
        &note);
    if (!note.empty()) {
      line.clear();
      print_note(note);
    }
    if (count == 0) throw Error("'" + file + "' holds no Records");
    total += count;
  }
  if (total >= kManyRecords) line.keep(fmt::format("{} Records read from {} files", total, files.size()));
}

std::map<std::string, std::string> default_parameters(const std::string& task) {
  try {
    TaskResources resources;
    resources.documents.push_back({"none", "none"});
    return make_task({task, {}, 0}, resources)->info().parameters;
  } catch (const Error&) {
    return {};
  }
}

std::vector<std::string> comma_parts(const std::vector<std::string>& texts) {
  return texts.empty() ? std::vector<std::string>{} : split(join(texts, ","), ',');
}

}  // namespace lenbench::cli
