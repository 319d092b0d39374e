// Record files that a command reads, and what reports need to know of tasks.
#include "cli/record_input.h"

#include "base/error.h"
#include "base/names.h"
#include "cli/terminal.h"
#include "record/store.h"
#include "tasks/catalog.h"

namespace lenbench::cli {

std::vector<Record> read_record_files(const std::vector<std::string>& files) {
  if (files.empty()) throw Error("name Record files, as written by 'lenbench run -o FILE'");
  std::vector<Record> records;
  for (const std::string& file : files) {
    std::string note;
    std::vector<Record> more = read_records(file, &note);
    if (!note.empty()) print_note(note);
    if (more.empty()) throw Error("'" + file + "' holds no Records");
    records.insert(records.end(), more.begin(), more.end());
  }
  return records;
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
