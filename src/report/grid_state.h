// What a GridBuilder holds between Records: one group for each Grid to come. Private to grid.cpp and grid_build.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/grid.h"
#include "report/kept.h"

namespace lenbench {

inline constexpr std::size_t kModelField = 0;  // of identity_fields()

// Texts by number, each stored once.
class TextPool {
 public:
  std::uint32_t number(const std::string& text) {
    const auto [place, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(&place->first);
    return place->second;
  }
  const std::string& text(std::uint32_t number) const { return *texts_[number]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> texts_;
};

struct RowDraft {
  std::string model, transform;
  std::int64_t train_length = 0;
  RowKind kind = RowKind::kMeasured;
  std::vector<std::string> fields;  // texts of identity_fields(); those of repeats are the first Record's
};

// Columns are ordered by number, then by appearance.
struct ColumnDraft {
  std::int64_t order = 0;
  std::string label;
  std::int64_t length = 0;
  std::string remark;  // the first length_note of its Records
};

struct Group {
  Question question;      // without length and data seed
  std::deque<Kept> kept;  // never moved, never twice in memory
  TextPool row_keys, column_keys;
  std::vector<RowDraft> rows;
  std::vector<ColumnDraft> columns;
  std::vector<std::string> probes = {""};  // kinds of probed rows by Kept::probe
  bool several_answers = false;            // some sample holds several
  bool single_answers = false;             // some Record counts one a sample
};

struct GridBuilder::State {
  GridRequest request;  // a ratio of perplexities is asked for as perplexity
  bool as_ratio = false;
  std::size_t column_field = 0;
  std::vector<bool> listed;     // rows_by, by field
  std::vector<bool> separates;  // whether rows are told apart by the field
  std::vector<std::unique_ptr<Group>> groups;
  std::unordered_map<std::string, std::size_t> group_numbers;
  Group* last_group = nullptr;  // of the Record before
  TextPool models, checkpoints, whys;

  // The metrics kept of a group's Records; the one to show is known when all are seen.
  std::vector<MetricChoice> candidates(const Question& question) const {
    if (request.metric) return {*request.metric};
    if (question.metric == "perplexity") return {{Metric::kPerplexity}};
    return {{Metric::kExact}, {Metric::kAnswer}};
  }

  void add(const Record& record);
  Group& group_of(const Question& question);
  std::uint32_t row_of(Group& group, const Record& record) const;
  std::uint32_t column_of(Group& group, const Record& record) const;
  // For each model (one for all, where rows are not told apart by model) the fields in which its rows differ.
  std::map<std::string, std::vector<bool>> differing_fields(const Group& group) const;
  // The name, with the fields asked for and those in which rows of this name differ.
  std::string row_label(const RowDraft& draft, const std::vector<bool>& differs) const;
  std::string repeat_name(const Repeat& repeat) const;
  // Requires that both stand in one cell as the same repeat; throws unless they are copies.
  void require_same(const Group& group, const Kept& a, const Kept& b) const;
  std::string shown_parameters(const Question& question) const;
  Grid build(const Group& group, std::uint8_t probe) const;
  GridCell cell_of(const Repeats& present, const std::set<Repeat>& repeats, std::size_t which) const;
  std::set<Repeat> best_seed(const std::vector<Repeats>& row, const std::set<Repeat>& repeats, std::size_t which,
                             Metric metric) const;
  static GridRow chance_row(const std::vector<const Kept*>& members,
                            const std::map<std::uint32_t, std::size_t>& places);
  static void mark_best(Grid& grid, const std::vector<std::vector<Repeats>>& shown, std::size_t which, Metric metric,
                        bool across_rows);
};

}  // namespace lenbench
