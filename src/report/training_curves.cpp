// Reads training logs and lays them out by step.
#include "report/training_curves.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace lenbench {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> number_at(const Json& json, const char* key, const std::string& where) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return std::nullopt;
  if (!found->is_number()) throw Error(where + ": '" + key + "' must be a number");
  return found->get<double>();
}

double required_number(const Json& json, const char* key, const std::string& where) {
  const std::optional<double> value = number_at(json, key, where);
  if (!value) throw Error(where + ": '" + key + "' is missing");
  return *value;
}

std::int64_t whole_number(const Json& json, const char* key, const std::string& where) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) {
    throw Error(where + ": '" + key + "' must be an integer");
  }
  return found->get<std::int64_t>();
}

void begin_attempt(const Json& json, const std::string& where, TrainingLog& log) {
  const auto recipe = json.find("recipe");
  if (recipe == json.end() || !recipe->is_string()) throw Error(where + ": 'recipe' must be a text");
  log.name = recipe->get<std::string>();
  log.attempts.push_back({static_cast<std::uint64_t>(whole_number(json, "seed", where)), {}, {}});
}

void read_line(const Json& json, const std::string& where, TrainingLog& log) {
  if (!json.is_object()) throw Error(where + ": must be an object");
  const auto event = json.find("event");
  if (event != json.end()) {
    if (*event == "start") begin_attempt(json, where, log);
    return;
  }
  if (log.attempts.empty()) throw Error(where + ": a training log opens with the event 'start'");
  TrainingAttempt& attempt = log.attempts.back();
  const std::int64_t step = whole_number(json, "step", where);
  if (json.contains("loss")) {
    attempt.training.push_back({step, required_number(json, "loss", where)});
  } else {
    attempt.validation.push_back({step, required_number(json, "validation_loss", where),
                                  required_number(json, "validation_accuracy", where),
                                  number_at(json, "validation_exact", where)});
  }
}

using Value = std::function<std::optional<double>(const ValidationStep&)>;

struct Curve {
  std::string title, value_title;
  std::optional<double> low, high;
  Value validation;  // empty: loss in training
};

void add_point(ChartLine& line, std::int64_t step, std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return;
  ChartPoint point;
  point.value = *value;
  point.x = static_cast<double>(step);
  point.place = "step " + std::to_string(step);
  line.points.push_back(std::move(point));
}

LinePanel panel_of(const std::vector<TrainingLog>& logs, const Curve& curve) {
  LinePanel panel;
  panel.title = curve.title;
  panel.value_title = curve.value_title;
  panel.low = curve.low;
  panel.high = curve.high;
  panel.axis = {"step", false, false};
  for (const TrainingLog& log : logs) {
    for (std::size_t a = 0; a < log.attempts.size(); ++a) {
      const TrainingAttempt& attempt = log.attempts[a];
      ChartLine line{
          log.attempts.size() > 1 ? fmt::format("{} (attempt {}, seed {})", log.name, a + 1, attempt.seed) : log.name,
          log.transform,
          {}};
      if (curve.validation) {
        for (const ValidationStep& step : attempt.validation) add_point(line, step.step, curve.validation(step));
      } else {
        for (const TrainingStep& step : attempt.training) add_point(line, step.step, step.loss);
      }
      if (!line.points.empty()) panel.lines.push_back(std::move(line));
    }
  }
  return panel;
}

std::optional<double> percent(std::optional<double> share) {
  return share ? std::optional(100 * *share) : std::nullopt;
}

}  // namespace

TrainingLog parse_training_log(std::string_view text, const std::string& where) {
  TrainingLog log;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) break;
    const std::string line_where = where + ": line " + std::to_string(++number);
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    read_line(parse_json(line, line_where), line_where, log);
  }
  if (log.attempts.empty()) throw Error(where + ": is no training log: it does not open with the event 'start'");
  return log;
}

Figure training_figure(const std::vector<TrainingLog>& logs) {
  const std::vector<Curve> curves = {
      {"Loss in training", "nats a judged token", {}, {}, {}},
      {"Loss in validation", "nats a judged token", {}, {}, [](const ValidationStep& step) { return step.loss; }},
      {"Whole samples right in validation", "percent", 0, 100,
       [](const ValidationStep& step) { return percent(step.exact); }},
      {"Judged tokens right in validation", "percent", 0, 100,
       [](const ValidationStep& step) { return percent(step.accuracy); }},
  };
  Figure figure;
  figure.title = "Training by step";
  figure.description =
      "Loss of training batches, whose tasks and lengths may change with the step, and of validation samples, which "
      "are the same at every step.";
  figure.columns = 2;
  for (const Curve& curve : curves) {
    LinePanel panel = panel_of(logs, curve);
    if (!panel.lines.empty()) figure.lines.push_back(std::move(panel));
  }
  return figure;
}

}  // namespace lenbench
