// Takes Records into groups, and starts the building of Grids.
#include "report/grid.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/fields.h"
#include "record/answer_outcomes.h"
#include "report/fact_axis.h"
#include "report/grid_fields.h"
#include "report/grid_state.h"
#include "report/growth.h"
#include "report/length_note.h"
#include "report/prefix_rows.h"
#include "report/reading.h"

namespace lenbench {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::string group_key(const Question& question) {
  Record record;
  record.question = question;
  record.question.length = 0;
  record.question.data_seed = 0;
  return record.question_key();
}

// Whether group_key() is the same; false where only the comparability differs.
bool same_group(const Question& a, const Question& b) {
  return a.task == b.task && a.task_version == b.task_version && a.parameters == b.parameters && a.split == b.split &&
         a.metric == b.metric && a.documents_sha256 == b.documents_sha256 && a.comparability == b.comparability;
}

// Subjects that answer without reading the prompt: what a number must beat to mean anything.
RowKind kind_of(const Subject& subject) {
  const bool is_double = subject.checkpoint_sha256.empty() && subject.transform.empty() && subject.num_parameters == 0;
  const bool floor = subject.name == "blind" || subject.name == "uniform" || subject.name == "echo";
  return is_double && floor ? RowKind::kFloor : RowKind::kMeasured;
}

// Outcomes decide an accuracy only where it counts one answer a sample.
bool outcomes_decide(const Measurement& m, Metric metric) {
  if (metric == Metric::kExact) return true;
  const std::optional<Proportion>& p = metric == Metric::kAnswer ? m.answer : m.token;
  return (metric == Metric::kAnswer || metric == Metric::kToken) && p && p->n == m.samples;
}

std::vector<float> nats_a_token(const Record& record) {
  std::vector<float> nats;
  for (std::size_t i = 0; i < record.sample_nats.size(); ++i) {
    const auto tokens = static_cast<double>(record.sample_tokens[i]);
    nats.push_back(tokens > 0 ? static_cast<float>(record.sample_nats[i] / tokens) : 0.0F);
  }
  return nats;
}

// Leaves GridBuilder's documents only where it takes them to tell Grids apart.
void name_documents(std::vector<Grid>& grids) {
  const auto alike = [](const Grid& a, const Grid& b) {
    return a.task == b.task && a.parameters == b.parameters && a.task_version == b.task_version && a.split == b.split &&
           a.metric == b.metric && a.probe_rows == b.probe_rows;
  };
  std::vector<bool> several(grids.size(), false);
  for (std::size_t i = 0; i < grids.size(); ++i) {
    for (std::size_t k = 0; k < grids.size(); ++k) {
      several[i] = several[i] || (alike(grids[i], grids[k]) && grids[i].documents != grids[k].documents);
    }
  }
  for (std::size_t i = 0; i < grids.size(); ++i) {
    if (!several[i]) grids[i].documents.clear();
  }
}

// Empty where the Record does not say, or where a sample has more than the type holds.
std::vector<std::uint16_t> answers_by_sample(const Record& record) {
  if (record.sample_answers.empty()) return {};
  std::vector<std::uint16_t> counts;
  for (const std::int64_t right : right_answers(record)) {
    if (right > std::numeric_limits<std::uint16_t>::max()) return {};
    counts.push_back(static_cast<std::uint16_t>(right));
  }
  return counts;
}

}  // namespace

Group& GridBuilder::State::group_of(const Question& question) {
  // Records of one group tend to follow one another, and a key takes longer to make than a question to compare.
  if (last_group != nullptr && same_group(last_group->question, question)) return *last_group;
  const auto [place, is_new] = group_numbers.try_emplace(group_key(question), groups.size());
  if (is_new) {
    groups.push_back(std::make_unique<Group>());
    groups.back()->question = question;
  }
  last_group = groups[place->second].get();
  return *last_group;
}

std::uint32_t GridBuilder::State::row_of(Group& group, const Record& record) const {
  RowDraft draft{
      record.subject.name, record.subject.transform, record.subject.train_length, kind_of(record.subject), {}};
  std::string key;
  for (std::size_t i = 0; i < separates.size(); ++i) {
    draft.fields.push_back(identity_fields()[i].text(record));
    if (!separates[i]) continue;
    const bool whole = std::string_view(identity_fields()[i].name) == "checkpoint";
    key += whole ? record.subject.checkpoint_sha256 : draft.fields[i];
    key += '\0';
  }
  const std::uint32_t row = group.row_keys.number(key);
  if (row == group.rows.size()) group.rows.push_back(std::move(draft));
  return row;
}

std::uint32_t GridBuilder::State::column_of(Group& group, const Record& record) const {
  const bool by_length = std::string_view(identity_fields()[column_field].name) == "length";
  std::string label = by_length ? std::to_string(record.question.length) : identity_fields()[column_field].text(record);
  const std::uint32_t column = group.column_keys.number(label);
  if (column == group.columns.size()) {
    const std::int64_t length = by_length ? record.question.length : 0;
    group.columns.push_back({field_order(column_field, record), label.empty() ? "none" : std::move(label), length, ""});
  }
  std::string& remark = group.columns[column].remark;
  if (remark.empty()) remark = length_note(record);
  return column;
}

void GridBuilder::State::add(const Record& record) {
  Group& group = group_of(record.question);
  const Measurement& m = record.measurement;
  Kept kept;
  kept.row = row_of(group, record);
  kept.column = column_of(group, record);
  kept.model = models.number(record.subject.name);
  kept.repeat = {checkpoints.number(record.subject.checkpoint_sha256), record.question.data_seed};
  kept.length = record.question.length;
  kept.samples_requested = record.samples_requested;
  kept.samples = m.samples;
  kept.digest = fields_hash(record);
  kept.chance = m.chance.value_or(kNone);
  kept.x = request.x.empty() ? kNone : fact_of(record, request.x).value_or(kNone);
  kept.values.fill({kNone, kNone, kNone});
  std::string why;
  const std::vector<MetricChoice> metrics = candidates(record.question);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const Reading reading = read_metric(record, metrics[i], request.interval);
    if (i == 0) why = reading.why;
    if (!reading.value) continue;
    kept.values[i] = {*reading.value, reading.low.value_or(kNone), reading.high.value_or(kNone)};
  }
  kept.why = whys.number(why);
  group.several_answers = group.several_answers || (m.answer && m.answer->n > m.samples);
  group.single_answers = group.single_answers || (m.answer && m.answer->n == m.samples);
  const Metric shown = metrics.front().metric;
  if (request.mark_best && outcomes_decide(m, shown)) kept.outcomes = outcome_bits(record.outcomes);
  if (request.mark_best && shown == Metric::kPerplexity) kept.nats = nats_a_token(record);
  const bool may_show_answers = std::any_of(metrics.begin(), metrics.end(),
                                            [](const MetricChoice& each) { return each.metric == Metric::kAnswer; });
  if (request.mark_best && may_show_answers) kept.answers = answers_by_sample(record);
  if (request.metric && is_attention(request.metric->metric) && !m.probe_rows.empty()) {
    const auto known = std::find(group.probes.begin(), group.probes.end(), m.probe_rows);
    kept.probe = static_cast<std::uint8_t>(known - group.probes.begin());
    if (known == group.probes.end()) group.probes.push_back(m.probe_rows);
  }
  group.kept.push_back(std::move(kept));
}

GridBuilder::GridBuilder(GridRequest request) : state_(std::make_unique<State>()) {
  const std::size_t count = identity_fields().size();
  state_->column_field = field_index(request.columns);
  state_->listed.assign(count, false);
  for (const std::string& name : request.rows_by) state_->listed[field_index(name)] = true;
  const bool names_repeat_columns = request.columns != "length" && request.columns != "model";
  for (std::size_t i = 0; i < count; ++i) {
    const bool by_itself = !identity_fields()[i].is_repeat && !(i == kModelField && names_repeat_columns);
    state_->separates.push_back(i != state_->column_field && (state_->listed[i] || by_itself));
  }
  if (request.metric && request.metric->metric == Metric::kPerplexityRatio) {
    if (request.columns != "length") throw Error("metric perplexity-ratio needs lengths as columns");
    state_->as_ratio = true;
    request.metric->metric = Metric::kPerplexity;
    request.mark_best = false;
  }
  state_->request = std::move(request);
}

GridBuilder::~GridBuilder() = default;
GridBuilder::GridBuilder(GridBuilder&&) noexcept = default;
GridBuilder& GridBuilder::operator=(GridBuilder&&) noexcept = default;

void GridBuilder::add(const Record& record) {
  const std::optional<MetricChoice>& metric = state_->request.metric;
  if (!metric || !is_attention(metric->metric) || record.measurement.heads_by_position.empty()) {
    state_->add(record);
    return;
  }
  for (const Record& part : prefix_rows(record)) state_->add(part);
}

std::vector<Grid> GridBuilder::build() const {
  std::vector<Grid> grids;
  for (const std::unique_ptr<Group>& group : state_->groups) {
    // By name, so that the order of the Records does not matter.
    std::map<std::string, std::uint8_t> probes;
    for (std::size_t i = 0; i < group->probes.size(); ++i) probes[group->probes[i]] = static_cast<std::uint8_t>(i);
    if (probes.size() > 1) probes.erase("");
    for (const auto& [name, probe] : probes) grids.push_back(state_->build(*group, probe));
  }
  name_documents(grids);
  if (state_->as_ratio) std::transform(grids.begin(), grids.end(), grids.begin(), relative_to_training);
  return grids;
}

std::vector<Grid> build_grids(const std::vector<Record>& records, const GridRequest& request) {
  GridBuilder builder(request);
  for (const Record& record : records) builder.add(record);
  return builder.build();
}

}  // namespace lenbench
