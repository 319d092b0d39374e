// The Record file behind `run -o`: opened before anything is loaded, resumed only under the plan that made it.
#include "cli/record_output.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/names.h"

namespace lenbench::cli {

namespace fs = std::filesystem;

namespace {

std::string parameters_text(const Question& question) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : question.parameters) parts.push_back(name + "=" + value);
  return join(parts, ",");
}

std::string shown(const std::string& value) { return value.empty() ? "none" : "'" + value + "'"; }

// "WHAT is A in the file and B in this run", or "" when equal.
std::string difference(const char* what, const std::string& in_file, const std::string& now) {
  if (in_file == now) return "";
  return std::string(what) + " is " + shown(in_file) + " in the file and " + shown(now) + " in this run";
}

// First difference between subjects; the checkpoint before its consequences.
std::string subject_difference(const Subject& in_file, const Subject& now) {
  if (in_file.checkpoint_sha256 != now.checkpoint_sha256) {
    return "checkpoint hash differs: " + shown(in_file.checkpoint_sha256.substr(0, 12)) + " in the file, " +
           shown(now.checkpoint_sha256.substr(0, 12)) + " now";
  }
  for (const std::string& text :
       {difference("the model", in_file.name, now.name), difference("--transform", in_file.transform, now.transform),
        difference("the position encoding", in_file.positions, now.positions),
        difference("--dtype", in_file.dtype, now.dtype), difference("--device", in_file.device, now.device)}) {
    if (!text.empty()) return text;
  }
  return "the model's description differs";
}

std::string cell_text(const Record& record) {
  return record.question.task + " at length " + std::to_string(record.question.length);
}

// How `record` differs from the most similar of the plan's Records.
std::string question_difference(const Record& record, const std::vector<Record>& planned) {
  const Question& in_file = record.question;
  const Record* nearest = nullptr;
  for (const Record& candidate : planned) {
    if (candidate.question.task == in_file.task && candidate.question.length == in_file.length) {
      nearest = &candidate;
      break;
    }
  }
  if (nearest == nullptr) return cell_text(record) + " is in the file and not asked for in this run";
  const Question& now = nearest->question;
  for (const std::string& text :
       {difference("the data seed", std::to_string(in_file.data_seed), std::to_string(now.data_seed)),
        difference("the split", in_file.split, now.split),
        difference("the task's parameters", parameters_text(in_file), parameters_text(now)),
        difference("the task's version", std::to_string(in_file.task_version), std::to_string(now.task_version)),
        difference("the documents' hash", in_file.documents_sha256.substr(0, 12), now.documents_sha256.substr(0, 12)),
        difference("the metric", in_file.metric, now.metric),
        difference("the number of samples", std::to_string(record.samples_requested),
                   std::to_string(nearest->samples_requested))}) {
    if (!text.empty()) return cell_text(record) + ": " + text;
  }
  return cell_text(record) + " differs";
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error("'" + path + "' holds another plan: " + why + "; choose another -o, or --overwrite to move it aside");
}

}  // namespace

std::unique_ptr<RecordWriter> open_record_output(const std::string& path, bool overwrite, std::string* note) {
  if (path.empty()) throw Error("-o is empty; name a file, e.g. -o out.jsonl");
  const std::string file = path.back() == '/' ? path + "records.jsonl" : path;
  auto writer = std::make_unique<RecordWriter>(file, OpenMode::kResume);
  *note = writer->note();
  if (!overwrite || writer->existing().empty()) return writer;
  writer.reset();
  std::string aside;
  std::error_code failure;
  for (int i = 1; aside.empty() || fs::exists(fs::symlink_status(aside, failure)); ++i) {
    aside = file + ".old-" + std::to_string(i);
  }
  fs::rename(file, aside, failure);
  if (failure) throw Error("cannot move '" + file + "' to '" + aside + "': " + failure.message());
  *note = "'" + file + "' moved to '" + aside + "'";
  return std::make_unique<RecordWriter>(file, OpenMode::kNew);
}

void require_same_checkpoint(const std::vector<Record>& existing, const std::string& sha256, const std::string& path) {
  for (const Record& record : existing) {
    if (record.subject.checkpoint_sha256 == sha256) continue;
    Subject now = record.subject;
    now.checkpoint_sha256 = sha256;
    refuse(path, subject_difference(record.subject, now));
  }
}

std::vector<Record> planned_records(const RunPlan& plan, const PredictorInfo& model) {
  std::vector<Record> planned;
  for (const Cell& cell : plan.cells) planned.push_back(make_record(cell, model));
  for (const SkippedCell& skip : plan.skipped) planned.push_back(make_record(skip.cell, model));
  return planned;
}

std::vector<Record> planned_parts(const RunPlan& plan, const ItemPlan& items, const std::vector<std::size_t>& chosen,
                                  const PredictorInfo& model) {
  std::vector<Record> planned;
  for (const std::size_t index : chosen) {
    planned.push_back(make_record(cell_of(items.items[index], plan), model));
    planned.back().part = make_part(items, index, plan);
  }
  return planned;
}

void require_same_plan(const std::vector<Record>& existing, const std::vector<Record>& planned, const Subject& subject,
                       const std::string& path) {
  std::set<std::string> keys;
  for (const Record& record : planned) keys.insert(record.resume_key());
  const bool parts = !planned.empty() && planned.front().part;
  index_by_resume_key(existing, path);
  for (const Record& record : existing) {
    if (keys.contains(record.resume_key())) continue;
    if (record.subject != subject) refuse(path, subject_difference(record.subject, subject));
    if (record.part && !parts) refuse(path, "it holds parts of a run with --shard, which 'lenbench merge' joins");
    if (!record.part && parts) refuse(path, "it holds whole cells, and --shard writes parts of them");
    if (record.part && record.part->plan_sha256 == planned.front().part->plan_sha256) {
      refuse(path, "it holds parts of another shard");
    }
    const auto asks_the_same = [&](const Record& each) {
      return each.question_key() == record.question_key() && each.samples_requested == record.samples_requested;
    };
    if (record.part && std::any_of(planned.begin(), planned.end(), asks_the_same)) {
      refuse(path, "its parts are cut otherwise: tasks, lengths, samples, seeds, --batch, --memory or --probe differ");
    }
    refuse(path, question_difference(record, planned));
  }
}

}  // namespace lenbench::cli
