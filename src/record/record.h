// One measured Cell: what was asked, of whom, under which circumstances, and what came out. Schema in
// results/README.md. Each struct's `fields` is its one list of fields (base/fields.h), in the order of the file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/part.h"

namespace lenbench {

inline constexpr int kRecordSchema = 1;

// What was asked. Two Records with equal questions can be compared, whoever answered.
struct Question {
  std::string task;
  int task_version = 1;
  std::map<std::string, std::string> parameters;
  std::string comparability;
  std::int64_t length = 0;  // nominal
  std::uint64_t data_seed = 0;
  std::string split = "test";
  std::string metric;            // "exact_match" or "perplexity"
  std::string documents_sha256;  // of the documents behind a task, or of a file of samples; else empty
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("task", self.task);
    visit("task_version", self.task_version);
    visit("parameters", self.parameters);
    visit("comparability", self.comparability);
    visit("length", self.length);
    visit("data_seed", self.data_seed);
    visit("split", self.split);
    visit("metric", self.metric);
    visit("documents_sha256", self.documents_sha256);
  }
  bool operator==(const Question&) const = default;
};

// Who answered.
struct Subject {
  std::string name;
  std::string checkpoint_sha256;
  std::string transform, positions, dtype, device;
  std::int64_t num_parameters = 0;
  std::int64_t train_length = 0;  // 0: unknown
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("name", self.name);
    visit("checkpoint_sha256", self.checkpoint_sha256);
    visit("transform", self.transform);
    visit("positions", self.positions);
    visit("dtype", self.dtype);
    visit("device", self.device);
    visit("num_parameters", self.num_parameters);
    visit("train_length", self.train_length);
  }
  bool operator==(const Subject&) const = default;
};

// Circumstances that should not change the answer.
struct Setting {
  std::string lenbench_version, commit, torch_version, attention_path, cpu, started_at;  // ISO 8601, UTC
  std::int64_t batch = 0;
  int threads = 0;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("lenbench_version", self.lenbench_version);
    visit("commit", self.commit);
    visit("torch_version", self.torch_version);
    visit("attention_path", self.attention_path);
    visit("cpu", self.cpu);
    visit("started_at", self.started_at);
    visit("batch", self.batch);
    visit("threads", self.threads);
  }
  bool operator==(const Setting&) const = default;
};

// A proportion with its 95 % interval.
struct Proportion {
  std::int64_t n = 0, right = 0;
  double value = 0, low = 0, high = 0;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("n", self.n);
    visit("right", self.right);
    visit("value", self.value);
    visit("low", self.low);
    visit("high", self.high);
  }
  bool operator==(const Proportion&) const = default;
};

struct HeadMeans {
  std::int64_t layer = 0, head = 0;
  bool has_position = false;
  std::int64_t rows = 0;
  double entropy = 0;                        // nats
  std::optional<double> normalized_entropy;  // none when no row saw two keys
  double support = 0, sink_mass = 0, top_mass = 0;
  std::optional<double> source_mass = {};  // on the token that holds the row's answer; none where the task names none
  std::optional<double> scale = {};        // what multiplies the query; none where the factor depends on the scores
  std::optional<double> alpha = {};        // of alpha-entmax; 1: softmax
  // Rows behind normalized_entropy, source_mass and scale; in parts only, where joining needs them.
  std::optional<std::int64_t> normalized_rows = {}, source_rows = {}, scaled_rows = {};
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("layer", self.layer);
    visit("head", self.head);
    visit("has_position", self.has_position);
    visit("rows", self.rows);
    visit("entropy", self.entropy);
    visit("normalized_entropy", self.normalized_entropy);
    visit("support", self.support);
    visit("sink_mass", self.sink_mass);
    visit("top_mass", self.top_mass);
    visit("source_mass", self.source_mass);
    visit.sparse("scale", self.scale);
    visit.sparse("alpha", self.alpha);
    visit.sparse("normalized_rows", self.normalized_rows);
    visit.sparse("source_rows", self.source_rows);
    visit.sparse("scaled_rows", self.scaled_rows);
  }
  bool operator==(const HeadMeans&) const = default;
};

// Attention statistics of the rows at positions [first, last] of a pass, both included.
struct PositionHeads {
  std::int64_t first = 0, last = 0;
  std::vector<HeadMeans> heads;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("first", self.first);
    visit("last", self.last);
    visit("heads", self.heads);
  }
  bool operator==(const PositionHeads&) const = default;
};

// How far apart the states of different inputs lie: means over pairs of samples next to each other, at the last judged
// row of each.
struct RepresentationDistance {
  std::int64_t depth = 0;  // 0: embeddings; k: the residual stream after block k
  std::int64_t pairs = 0;
  std::optional<double> distance;         // |a - b| / sqrt(|a|^2 + |b|^2): 0 equal, 1 orthogonal
  std::optional<double> cosine_distance;  // 1 - cos(a, b)
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("depth", self.depth);
    visit("pairs", self.pairs);
    visit("distance", self.distance);
    visit("cosine_distance", self.cosine_distance);
  }
  bool operator==(const RepresentationDistance&) const = default;
};

// A fact of the samples, such as prompt_tokens or distance.
struct FactRange {
  double mean = 0, min = 0, max = 0;
  std::optional<std::int64_t> samples = {};  // that have the fact; in parts only
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("mean", self.mean);
    visit("min", self.min);
    visit("max", self.max);
    visit.sparse("samples", self.samples);
  }
  bool operator==(const FactRange&) const = default;
};

struct NllBucket {  // positions [first, last] of the window, both included
  std::int64_t first = 0, last = 0, tokens = 0;
  double nats = 0;  // sum
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("first", self.first);
    visit("last", self.last);
    visit("tokens", self.tokens);
    visit("nats", self.nats);
  }
  bool operator==(const NllBucket&) const = default;
};

struct Measurement {
  std::int64_t samples = 0;  // measured
  std::int64_t effective_tokens_min = 0, effective_tokens_max = 0;
  // prompt_tokens, answer_tokens (judged), and whatever the task says of its samples (pairs, density, distance, ...).
  std::map<std::string, FactRange> facts;
  // exact match
  std::optional<Proportion> exact;   // all scored tokens of a sample right
  std::optional<Proportion> answer;  // per answer; the interval is widened for answers that share a sample
  std::optional<Proportion> token;   // teacher-forced token accuracy
  std::optional<double> chance;      // per answer
  // perplexity
  std::int64_t nll_tokens = 0;
  std::optional<double> nll_nats;  // sum over nll_tokens
  std::optional<double> perplexity, perplexity_low, perplexity_high, bits_per_byte;
  std::vector<NllBucket> nll_by_position;
  // attention statistics; empty unless probed
  std::string probe_rows;  // "answer", "all" or "prefix"
  std::vector<HeadMeans> heads;
  std::vector<HeadMeans> heads_right, heads_wrong;      // answer rows only: of answers that were right, and wrong
  std::vector<PositionHeads> heads_by_position;         // prefix rows only, in place of `heads`; ascending
  std::vector<RepresentationDistance> representations;  // answer rows only, by depth
  std::int64_t nonfinite_samples = 0;
  // The model's rows depend on the length of the whole text (dynamic RoPE scaling), so exact match is that of one pass
  // over prompt and answer and not that of decoding.
  bool teacher_forced = false;
  double seconds = 0;
  std::int64_t peak_bytes = 0;  // resident set high-water mark of the process
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("samples", self.samples);
    visit("effective_tokens_min", self.effective_tokens_min);
    visit("effective_tokens_max", self.effective_tokens_max);
    visit.defaulted("facts", self.facts);
    visit("exact", self.exact);
    visit("answer", self.answer);
    visit("token", self.token);
    visit("chance", self.chance);
    visit("nll_tokens", self.nll_tokens);
    visit("nll_nats", self.nll_nats);
    visit("perplexity", self.perplexity);
    visit("perplexity_low", self.perplexity_low);
    visit("perplexity_high", self.perplexity_high);
    visit("bits_per_byte", self.bits_per_byte);
    visit("nll_by_position", self.nll_by_position);
    visit("probe_rows", self.probe_rows);
    visit("heads", self.heads);
    visit.defaulted("heads_right", self.heads_right);
    visit.defaulted("heads_wrong", self.heads_wrong);
    visit.sparse("heads_by_position", self.heads_by_position);
    visit.sparse("representations", self.representations);
    visit("nonfinite_samples", self.nonfinite_samples);
    visit.defaulted("teacher_forced", self.teacher_forced);
    visit("seconds", self.seconds);
    visit("peak_bytes", self.peak_bytes);
  }
  bool operator==(const Measurement&) const = default;
};

struct Record {
  int schema = kRecordSchema;
  Question question;
  Subject subject;
  Setting setting;
  std::int64_t samples_requested = 0;
  std::string status = "ok";  // "ok", "skipped", "failed"
  std::string reason;         // one line when status is not "ok"
  Measurement measurement;
  // One character per sample, in index order: '1' right, '0' wrong, 'x' non-finite. Empty for perplexity.
  std::string outcomes;
  // Perplexity: nats and scored tokens per sample, in index order.
  std::vector<double> sample_nats;
  std::vector<std::int64_t> sample_tokens;
  // Exact match where `outcomes` does not say it: the number of answers of each sample, in index order, and which were
  // right (answer_outcomes.h).
  std::vector<std::int64_t> sample_answers;
  std::string answer_outcomes;
  std::optional<Part> part;  // none: the Record is a whole Cell

  // Equal for two Records that asked the same thing: the canonical text of the question without `comparability`, which
  // is prose that task and version already fix.
  std::string question_key() const;
  // Question, subject and sample count, and of a part its plan and item: what `run` needs to know that a Cell, or a
  // part of it, is done.
  std::string resume_key() const;
  // resume_key of the whole Cell, also where this is a part of one.
  std::string cell_key() const;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("schema", self.schema);
    visit("question", self.question);
    visit("subject", self.subject);
    visit("setting", self.setting);
    visit("samples_requested", self.samples_requested);
    visit("status", self.status);
    visit("reason", self.reason);
    visit("measurement", self.measurement);
    visit("outcomes", self.outcomes);
    visit("sample_nats", self.sample_nats);
    visit("sample_tokens", self.sample_tokens);
    visit.sparse("sample_answers", self.sample_answers);
    visit.sparse("answer_outcomes", self.answer_outcomes);
    visit.sparse("part", self.part);
  }
  bool operator==(const Record&) const = default;
};

}  // namespace lenbench
