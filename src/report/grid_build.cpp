// From groups to Grids: rows, columns, cells, floors and the best of each column.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/names.h"
#include "report/best.h"
#include "report/grid_fields.h"
#include "report/grid_state.h"
#include "report/reading.h"

namespace lenbench {

std::string GridBuilder::State::repeat_name(const Repeat& repeat) const {
  const std::string seed = fmt::format("data seed {}", repeat.data_seed);
  const std::string& checkpoint = checkpoints.text(repeat.checkpoint);
  return checkpoint.empty() ? seed : fmt::format("checkpoint {}, {}", checkpoint.substr(0, 8), seed);
}

std::map<std::string, std::vector<bool>> GridBuilder::State::differing_fields(const Group& group) const {
  std::map<std::string, std::vector<bool>> differ;
  std::map<std::string, const RowDraft*> firsts;
  for (const RowDraft& row : group.rows) {
    const std::string name = separates[kModelField] ? row.model : "";
    const RowDraft& first = *firsts.try_emplace(name, &row).first->second;
    std::vector<bool>& fields = differ[name];
    fields.resize(row.fields.size(), false);
    for (std::size_t i = 0; i < row.fields.size(); ++i) fields[i] = fields[i] || row.fields[i] != first.fields[i];
  }
  return differ;
}

std::string GridBuilder::State::row_label(const RowDraft& draft, const std::vector<bool>& differs) const {
  std::vector<std::string> details;
  for (std::size_t i = 0; i < separates.size(); ++i) {
    if (i == kModelField || !separates[i] || draft.fields[i].empty()) continue;
    if (listed[i] || differs[i]) details.push_back(draft.fields[i]);
  }
  if (separates[kModelField]) {
    return details.empty() ? draft.model : fmt::format("{} ({})", draft.model, join(details, ", "));
  }
  return details.empty() ? "all" : join(details, ", ");
}

void GridBuilder::State::require_same(const Group& group, const Kept& a, const Kept& b) const {
  const std::string place = fmt::format("{} on {} at length {}, data seed {}", models.text(a.model),
                                        group.question.task, a.length, a.repeat.data_seed);
  if (a.samples_requested != b.samples_requested) {
    throw Error(fmt::format("{} was measured twice, with {} and with {} samples: pass one of the two files", place,
                            a.samples_requested, b.samples_requested));
  }
  if (a.digest != b.digest) {
    throw Error(fmt::format("two different Records of {}: pass one of the two files", place));
  }
}

std::string GridBuilder::State::shown_parameters(const Question& question) const {
  std::map<std::string, std::string> defaults;
  if (request.default_parameters) defaults = request.default_parameters(question.task);
  std::vector<std::string> shown;
  for (const auto& [key, value] : question.parameters) {
    const auto found = defaults.find(key);
    if (found == defaults.end() || found->second != value) shown.push_back(key + "=" + value);
  }
  return join(shown, ",");
}

GridCell GridBuilder::State::cell_of(const Repeats& present, const std::set<Repeat>& repeats, std::size_t which) const {
  GridCell cell;
  if (present.empty()) {
    cell.reason = "not measured";
    return cell;
  }
  Repeats parts;
  std::vector<std::string> gaps;
  std::set<std::string> whys_here;
  std::set<std::uint64_t> seeds;
  std::set<std::uint32_t> checkpoints_here;
  auto next = present.begin();
  for (const Repeat& repeat : repeats) {
    const Kept* kept = next != present.end() && (*next)->repeat == repeat ? *next++ : nullptr;
    if (kept != nullptr && has_value(*kept, which)) {
      parts.push_back(kept);
      cell.n += kept->samples;
      seeds.insert(repeat.data_seed);
      checkpoints_here.insert(repeat.checkpoint);
      continue;
    }
    std::string why = kept == nullptr ? "not measured" : whys.text(kept->why);
    if (why.empty()) why = "this task has no such accuracy";
    whys_here.insert(why);
    gaps.push_back(repeat_name(repeat) + " " + why);
  }
  cell.repeats = static_cast<std::int64_t>(parts.size());
  cell.data_seeds.assign(seeds.begin(), seeds.end());
  cell.checkpoints = static_cast<std::int64_t>(checkpoints_here.size());
  if (!parts.empty()) {
    aggregate_repeats(parts, which, request.aggregate, cell);
    double sum = 0;
    for (const Kept* part : parts) sum += part->x;
    if (!std::isnan(sum)) cell.x = sum / static_cast<double>(parts.size());
  }
  if (gaps.empty()) return cell;
  if (parts.empty()) {
    cell.reason = whys_here.size() == 1 ? *whys_here.begin() : join(gaps, "; ");
  } else {
    cell.reason = fmt::format("{} of {} repeats: {}", parts.size(), repeats.size(), join(gaps, "; "));
  }
  return cell;
}

// Of the repeats with the most values, the one whose mean over the row is best; all when there is but one.
std::set<Repeat> GridBuilder::State::best_seed(const std::vector<Repeats>& row, const std::set<Repeat>& repeats,
                                               std::size_t which, Metric metric) const {
  if (repeats.size() < 2) return repeats;
  std::map<Repeat, std::pair<std::int64_t, double>> totals;
  for (const Repeats& cell : row) {
    for (const Kept* kept : cell) {
      if (!has_value(*kept, which)) continue;
      auto& [count, sum] = totals[kept->repeat];
      ++count;
      sum += smaller_is_better(metric) ? -kept->values[which].value : kept->values[which].value;
    }
  }
  if (totals.empty()) return repeats;
  // Equal counts, so that sums compare as means do.
  const auto best =
      std::max_element(totals.begin(), totals.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return {best->first};
}

GridRow GridBuilder::State::chance_row(const std::vector<const Kept*>& members,
                                       const std::map<std::uint32_t, std::size_t>& places) {
  GridRow row;
  row.name = "chance";
  row.kind = RowKind::kChance;
  row.cells.resize(places.size());
  std::vector<bool> differ(places.size(), false);
  for (const Kept* kept : members) {
    if (std::isnan(kept->chance)) continue;
    const std::size_t column = places.at(kept->column);
    GridCell& cell = row.cells[column];
    if (cell.value && *cell.value != kept->chance) differ[column] = true;
    cell.value = kept->chance;
  }
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    if (differ[i]) row.cells[i].value.reset();
    if (!row.cells[i].value)
      row.cells[i].reason = differ[i] ? "differs among the models of this column" : "not measured";
  }
  return row;
}

void GridBuilder::State::mark_best(Grid& grid, const std::vector<std::vector<Repeats>>& shown, std::size_t which,
                                   Metric metric, bool across_rows) {
  std::set<std::string> tests;
  const std::size_t rows = shown.size(), columns = grid.columns.size();
  for (std::size_t line = 0; line < (across_rows ? columns : rows); ++line) {
    std::vector<Contender> contenders;
    std::vector<GridCell*> cells;
    for (std::size_t i = 0; i < (across_rows ? rows : columns); ++i) {
      const std::size_t row = across_rows ? i : line, column = across_rows ? line : i;
      GridCell& cell = grid.rows[row].cells[column];
      if (grid.rows[row].kind != RowKind::kMeasured || !cell.value) continue;
      contenders.push_back({*cell.value, cell.low, cell.high, shown[row][column]});
      cells.push_back(&cell);
    }
    const std::vector<bool> best = best_of_column(contenders, which, metric, tests);
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i]->best = best[i];
  }
  if (tests.empty()) return;
  const char* place = across_rows ? "column" : "row";
  grid.best_rule = fmt::format(
      "best of its {} and those not told apart from it at 5 % ({}; Holm over the {}), where any is told apart", place,
      join({tests.begin(), tests.end()}, "; "), place);
}

Grid GridBuilder::State::build(const Group& group, std::uint8_t probe) const {
  const std::vector<MetricChoice> metrics = candidates(group.question);
  const std::size_t which = metrics.size() > 1 && group.several_answers ? 1 : 0;
  const MetricChoice& choice = metrics[which];
  Grid grid;
  grid.task = group.question.task;
  grid.parameters = shown_parameters(group.question);
  grid.task_version = group.question.task_version;
  grid.split = group.question.split;
  grid.comparability = group.question.comparability;
  grid.metric = metric_name(choice);
  grid.percent = is_proportion(choice.metric);
  grid.aggregate = aggregate_name(request.aggregate);
  grid.probe_rows = group.probes[probe];
  grid.documents = group.question.documents_sha256.substr(0, 8);

  const bool by_length = request.columns == "length";
  std::vector<const Kept*> members;
  // A run that probes prefix rows leaves the shorter lengths, which the longest covers, without.
  const bool prefix = grid.probe_rows == "prefix";
  for (const Kept& kept : group.kept) {
    if (probe == 0 || (kept.probe == 0 && !prefix) || kept.probe == probe) members.push_back(&kept);
  }
  std::stable_sort(members.begin(), members.end(), [](const Kept* a, const Kept* b) {
    return std::tie(a->row, a->column, a->repeat) < std::tie(b->row, b->column, b->repeat);
  });
  std::set<std::uint32_t> used;
  for (const Kept* kept : members) used.insert(kept->column);
  std::vector<std::uint32_t> columns(used.begin(), used.end());
  std::stable_sort(columns.begin(), columns.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return group.columns[a].order < group.columns[b].order; });
  std::map<std::uint32_t, std::size_t> places;
  for (const std::uint32_t column : columns) {
    places[column] = grid.columns.size();
    const ColumnDraft& draft = group.columns[column];
    // A note on the tokens of whole samples says nothing of prefix rows.
    grid.columns.push_back({draft.label, draft.length, by_length && !prefix ? draft.remark : ""});
  }

  const std::map<std::string, std::vector<bool>> differ = differing_fields(group);
  bool has_interval = false, has_repeats = false, any_value = false;
  std::vector<std::vector<Repeats>> shown;
  for (auto begin = members.begin(); begin != members.end();) {
    const std::uint32_t row = (*begin)->row;
    std::vector<Repeats> cells(columns.size());
    std::set<Repeat> repeats;
    for (; begin != members.end() && (*begin)->row == row; ++begin) {
      const Kept& kept = **begin;
      repeats.insert(kept.repeat);
      Repeats& cell = cells[places[kept.column]];
      if (!cell.empty() && cell.back()->model != kept.model) {
        throw Error(fmt::format("'{}' and '{}' would share a cell: add model to --rows-by",
                                models.text(cell.back()->model), models.text(kept.model)));
      }
      if (!cell.empty() && cell.back()->repeat == kept.repeat) {
        require_same(group, *cell.back(), kept);
      } else {
        cell.push_back(&kept);
      }
    }
    const RowDraft& draft = group.rows[row];
    GridRow line{row_label(draft, differ.at(separates[kModelField] ? draft.model : "")),
                 draft.kind,
                 "",
                 "",
                 draft.train_length,
                 draft.transform,
                 {}};
    if (request.aggregate == Aggregate::kBestSeed) {
      const std::size_t all = repeats.size();
      repeats = best_seed(cells, repeats, which, choice.metric);
      for (Repeats& cell : cells) {
        std::erase_if(cell, [&](const Kept* kept) { return !repeats.contains(kept->repeat); });
      }
      if (all > 1 && repeats.size() == 1) {
        line.remark = fmt::format("best of {} runs by the mean of its cells: {}", all, repeat_name(*repeats.begin()));
      }
    }
    for (Repeats& cell : cells) {
      // Columns of different models have different repeats, by right.
      std::set<Repeat> own;
      for (const Kept* kept : cell) own.insert(kept->repeat);
      line.cells.push_back(cell_of(cell, by_length ? repeats : own, which));
      std::erase_if(cell, [&](const Kept* kept) { return !has_value(*kept, which); });
      any_value = any_value || line.cells.back().value;
      has_interval = has_interval || line.cells.back().low;
      has_repeats = has_repeats || line.cells.back().repeats > 1;
    }
    grid.rows.push_back(std::move(line));
    shown.push_back(std::move(cells));
  }
  const bool several_runs_pooled = request.aggregate != Aggregate::kMean && has_repeats;
  if (request.mark_best && !several_runs_pooled) mark_best(grid, shown, which, choice.metric, by_length);
  const bool chance_applies = choice.metric == Metric::kAnswer ||
                              (choice.metric == Metric::kExact && group.single_answers && !group.several_answers);
  if (request.chance_row && chance_applies && any_value) grid.rows.push_back(chance_row(members, places));
  if (has_interval) grid.interval_kind = interval_sentence(choice.metric, request.interval, has_repeats);
  return grid;
}

}  // namespace lenbench
