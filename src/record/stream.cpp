// Record files read one Record at a time.
#include "record/stream.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "record/lines.h"
#include "record/store.h"

namespace lenbench {

std::int64_t for_each_record(const std::string& path,
                             const std::function<void(const Record&, const StreamPlace&)>& take, std::string* note) {
  namespace fs = std::filesystem;
  if (note != nullptr) note->clear();
  std::error_code failure;
  if (fs::is_directory(path, failure)) throw Error(printable(path) + ": is a folder, not a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(printable(path) + ": " +
                (errno == ENOENT ? "no such file" : std::string("cannot be opened: ") + std::strerror(errno)));
  }
  StreamPlace place;
  const auto size = fs::file_size(path, failure);
  place.bytes_total = failure ? 0 : static_cast<std::int64_t>(size);
  std::int64_t count = 0;
  for (std::string line; std::getline(file, line);) {
    const bool unterminated = file.eof();
    place.bytes_read += static_cast<std::int64_t>(line.size()) + (unterminated ? 0 : 1);
    const std::string where = path + ":" + std::to_string(count + 1);
    if (line.empty()) throw Error(printable(where) + ": an empty line");
    if (unterminated && is_torn_line(line, count > 0)) {
      const std::string problem = torn_line_problem(path, count + 1, line.size());
      if (note == nullptr) throw Error(problem + " (resume that run to mend the file)");
      *note = problem + "; left out";
      break;
    }
    const Record record = record_from_json_line(line, where);
    refuse_part(record, where);
    take(record, place);
    ++count;
  }
  if (file.bad()) throw Error(printable(path) + ": cannot be read to its end");
  return count;
}

}  // namespace lenbench
