// `lenbench merge`: the parts that `run --shard` wrote, joined into the Records of a single run.
#include "bench/merge.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/output_file.h"
#include "cli/terminal.h"
#include "record/store.h"

namespace lenbench::cli {
namespace {

class Merge : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positionals("PARTS", files_, "Record files that 'lenbench run --shard I/N' wrote: all of a run");
    flags.value("-o,--output", output_, "FILE", "Append the joined Records; those already there stay as they are",
                true);
  }

  int run(const Parsed&) override {
    if (output_.empty()) throw Error("-o is empty; name a file, e.g. -o out.jsonl");
    if (files_.empty()) throw Error("name the parts to merge, as written by 'lenbench run --shard I/N -o FILE'");
    require_other_file(output_, "-o", files_);
    const std::vector<SourcedRecord> records = read_parts();
    const std::vector<Record> merged = merge_records(records);
    RecordWriter writer(output_);
    if (!writer.note().empty()) print_note(writer.note());
    const std::size_t kept = require_beginning(writer.existing(), merged);
    for (std::size_t i = kept; i < merged.size(); ++i) writer.append(merged[i]);
    if (kept > 0) print_note(fmt::format("{} of {} cells were already in '{}'", kept, merged.size(), output_));
    print_out(fmt::format("{}: {} {} from {} {}\n", printable(output_), merged.size(),
                          merged.size() == 1 ? "Record" : "Records", files_.size(),
                          files_.size() == 1 ? "file" : "files"));
    return 0;
  }

 private:
  std::vector<SourcedRecord> read_parts() const {
    std::vector<SourcedRecord> records;
    for (const std::string& file : files_) {
      std::string note;
      std::vector<Record> parts = read_records(file, &note, Parts::kAllowed);
      if (!note.empty()) print_note(note);
      if (parts.empty()) throw Error("'" + printable(file) + "' holds no Records");
      for (Record& part : parts) records.push_back({std::move(part), file});
    }
    return records;
  }

  // How many of `merged` the output holds already: it must be what an interrupted merge of the same parts left.
  std::size_t require_beginning(const std::vector<Record>& existing, const std::vector<Record>& merged) const {
    for (std::size_t i = 0; i < existing.size(); ++i) {
      if (i < merged.size() && existing[i].resume_key() == merged[i].resume_key()) continue;
      throw Error(fmt::format("'{}' holds other Records than these parts give ({} at {}): choose another -o",
                              printable(output_), printable(existing[i].question.task), existing[i].question.length));
    }
    return existing.size();
  }

  std::vector<std::string> files_;
  std::string output_;
};

}  // namespace

CommandEntry merge_command() {
  return {"merge", "Join the parts of a run into the Records of a single process",
          "lenbench merge part1.jsonl part2.jsonl part3.jsonl -o out.jsonl\n"
          "lenbench merge parts/*.jsonl -o out.jsonl && lenbench table out.jsonl",
          [] { return std::unique_ptr<Command>(std::make_unique<Merge>()); }};
}

}  // namespace lenbench::cli
