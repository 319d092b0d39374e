// Guards what was measured against a slip of the command line.
#include "cli/output_file.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "cli/terminal.h"
#include "record/store.h"
#include "verdict/baseline.h"

namespace lenbench::cli {

namespace fs = std::filesystem;

namespace {

bool same_file(const std::string& a, const std::string& b) {
  std::error_code failure;
  if (fs::equivalent(a, b, failure)) return true;
  return fs::weakly_canonical(a, failure) == fs::weakly_canonical(b, failure);
}

bool holds_measurements(const std::string& path) {
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string start(256, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(file.gcount()));
  return opens_as_records(start) || is_baseline(start);
}

}  // namespace

void require_other_file(const std::string& path, const std::string& flag, const std::vector<std::string>& others) {
  if (path.empty()) return;
  for (const std::string& other : others) {
    if (!other.empty() && same_file(path, other)) {
      throw Error(flag + " is '" + printable(path) + "', which this command also uses as '" + printable(other) +
                  "'; name another file");
    }
  }
}

void require_free_output(const std::string& path, const std::string& flag, const std::vector<std::string>& others) {
  require_other_file(path, flag, others);
  if (!path.empty() && holds_measurements(path)) {
    throw Error(flag + " is '" + printable(path) +
                "', which holds measured data (Records or a baseline) and is not overwritten; name another file");
  }
}

void write_output(const std::string& path, std::string_view bytes) {
  if (path.empty()) {
    print_out(bytes);
    return;
  }
  create_parent_folders(path);
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status)) {
    write_file_atomically(path, bytes);
    return;
  }
  std::ofstream stream(path, std::ios::binary);
  stream << bytes << std::flush;
  if (!stream) throw Error(printable(path) + " cannot be written", ExitCode::kNotMeasured);
}

}  // namespace lenbench::cli
