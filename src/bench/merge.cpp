// What must hold before parts are joined: one plan, one model, one build, every item once.
#include "bench/merge.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "bench/join.h"

namespace lenbench {

namespace {

std::string quoted(const std::string& file) { return "'" + printable(file) + "'"; }

std::string cell_text(const Record& record) {
  return printable(record.question.task) + " at " + std::to_string(record.question.length);
}

std::string range_text(const Part& part) {
  if (part.samples == 0) return "no samples";
  if (part.samples == 1) return fmt::format("sample {}", part.first);
  return fmt::format("samples {} to {}", part.first, part.first + part.samples - 1);
}

// The first field in which two parts that must agree differ; empty when none.
std::string identity_difference(const Record& a, const Record& b) {
  const std::pair<const char*, std::pair<const std::string&, const std::string&>> texts[] = {
      {"checkpoint hash", {a.subject.checkpoint_sha256, b.subject.checkpoint_sha256}},
      {"model", {a.subject.name, b.subject.name}},
      {"transform", {a.subject.transform, b.subject.transform}},
      {"positions", {a.subject.positions, b.subject.positions}},
      {"dtype", {a.subject.dtype, b.subject.dtype}},
      {"device", {a.subject.device, b.subject.device}},
      {"lenbench version", {a.setting.lenbench_version, b.setting.lenbench_version}},
      {"commit", {a.setting.commit, b.setting.commit}},
      {"LibTorch version", {a.setting.torch_version, b.setting.torch_version}},
      {"attention path", {a.setting.attention_path, b.setting.attention_path}},
  };
  for (const auto& [name, values] : texts) {
    if (values.first != values.second) {
      return fmt::format("{} is '{}' and '{}'", name, printable(values.first), printable(values.second));
    }
  }
  return a.subject == b.subject ? "" : "the model's description differs";
}

void require_one_plan(const SourcedRecord& a, const SourcedRecord& b) {
  const std::string files = quoted(a.file) + " and " + quoted(b.file);
  const std::string difference = identity_difference(a.record, b.record);
  if (!difference.empty()) throw Error("merge: " + files + " are of different runs: " + difference);
  if (a.record.part->plan_sha256 != b.record.part->plan_sha256 ||
      a.record.part->num_items != b.record.part->num_items) {
    throw Error("merge: " + files +
                " are parts of different plans: give all parts the same tasks, lengths, samples, seeds, --batch and "
                "--memory");
  }
}

// Items that no file has, as far as one line holds them.
std::string missing_text(const std::map<std::int64_t, const SourcedRecord*>& items, std::int64_t num_items) {
  constexpr int kMostNamed = 5;
  std::string text;
  std::int64_t missing = 0;
  for (std::int64_t item = 0; item < num_items; ++item) {
    if (items.contains(item)) continue;
    if (++missing <= kMostNamed) text += (missing > 1 ? ", " : "") + std::to_string(item + 1);
  }
  if (missing > kMostNamed) text += fmt::format(" and {} more", missing - kMostNamed);
  return fmt::format("{} {} of {}", missing == 1 ? "item" : "items", text, num_items);
}

std::string file_names(const std::vector<SourcedRecord>& records) {
  std::set<std::string> names;
  for (const SourcedRecord& each : records) names.insert(each.file);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + quoted(name);
  return text;
}

// Parts of a Cell must cover its samples in the order of their items.
void require_tiling(const std::vector<const SourcedRecord*>& parts) {
  std::int64_t next = 0;
  const SourcedRecord* before = parts.front();
  for (const SourcedRecord* each : parts) {
    const Part& part = *each->record.part;
    if (part.first != next || part.cell_samples != parts.front()->record.part->cell_samples) {
      throw Error(fmt::format("merge: {}: {} of {} in {} do not follow {} in {}", cell_text(each->record),
                              range_text(part), part.cell_samples, quoted(each->file), range_text(*before->record.part),
                              quoted(before->file)));
    }
    next += part.samples;
    before = each;
  }
  if (before->record.status != "skipped" && next != before->record.part->cell_samples) {
    throw Error(fmt::format("merge: {}: {} samples of {} are in {} and {}", cell_text(before->record), next,
                            before->record.part->cell_samples, quoted(parts.front()->file), quoted(before->file)));
  }
}

}  // namespace

std::vector<Record> merge_records(const std::vector<SourcedRecord>& records) {
  std::map<std::int64_t, const SourcedRecord*> items;
  const SourcedRecord* reference = nullptr;
  for (const SourcedRecord& each : records) {
    if (!each.record.part) continue;
    if (reference == nullptr) reference = &each;
    require_one_plan(*reference, each);
    const auto [place, is_new] = items.emplace(each.record.part->item, &each);
    if (!is_new) {
      throw Error(fmt::format("merge: {} and {} both hold {} of {}", quoted(place->second->file), quoted(each.file),
                              range_text(*each.record.part), cell_text(each.record)));
    }
  }
  if (reference != nullptr && std::ssize(items) != reference->record.part->num_items) {
    throw Error("merge: " + missing_text(items, reference->record.part->num_items) + ", in none of " +
                file_names(records) +
                ": give all parts, and finish those that were stopped by the command that began them");
  }

  std::vector<Record> merged;
  std::map<std::string, std::string> file_of;  // by the key of the whole Cell
  const auto take = [&](Record whole, const std::string& file) {
    const auto [place, is_new] = file_of.emplace(whole.resume_key(), file);
    if (!is_new) {
      throw Error(fmt::format("merge: {} and {} both hold {}", quoted(place->second), quoted(file), cell_text(whole)));
    }
    merged.push_back(std::move(whole));
  };
  for (auto place = items.begin(); place != items.end();) {
    const std::string cell = place->second->record.cell_key();
    std::vector<const SourcedRecord*> parts;
    std::vector<const Record*> joined;
    for (; place != items.end(); ++place) {
      if (place->second->record.cell_key() != cell) break;
      parts.push_back(place->second);
      joined.push_back(&place->second->record);
    }
    require_tiling(parts);
    take(join_parts(joined), parts.front()->file);
  }
  for (const SourcedRecord& each : records) {
    if (!each.record.part) take(each.record, each.file);
  }
  return merged;
}

}  // namespace lenbench
