// Records with every field set to something that is not its default.
#pragma once

#include <cmath>

#include "record/record.h"

namespace lenbench {

inline Record recall_record() {
  Record record;
  record.question = {.task = "recall",
                     .task_version = 2,
                     .parameters = {{"density", "4"}, {"keys", "1024"}},
                     .comparability = "exact: ours",
                     .length = 4096,
                     .data_seed = 18446744073709551615u,
                     .split = "validation",
                     .metric = "exact_match",
                     .documents_sha256 = "d0c5"};
  record.subject = {.name = "模型/évaluation\u2028\u0085å\n|\t\"`",
                    .checkpoint_sha256 = "abcd",
                    .transform = "asentmax",
                    .positions = "nape",
                    .dtype = "float32",
                    .device = "cpu",
                    .num_parameters = 123456,
                    .train_length = 64};
  record.setting = {.lenbench_version = "0.1.0",
                    .commit = "c0ffee",
                    .torch_version = "2.11.0",
                    .attention_path = "streaming",
                    .cpu = "a cpu",
                    .started_at = "2025-01-02T03:04:05Z",
                    .batch = 8,
                    .threads = 2};
  record.samples_requested = 5;
  record.status = "failed";
  record.reason = "one sample is non-finite";
  Measurement& measured = record.measurement;
  measured.samples = 4;
  measured.effective_tokens_min = 4000;
  measured.effective_tokens_max = 4100;
  measured.exact = Proportion{4, 2, 0.5, 0.15, 0.85};
  measured.answer = Proportion{8, 6, 0.75, 0.41, 0.93};
  measured.token = Proportion{16, 15, 0.9375, 0.72, 0.99};
  measured.chance = 1.0 / 3;
  measured.nonfinite_samples = 1;
  measured.probe_rows = "answer";
  measured.heads = {{.layer = 1,
                     .head = 2,
                     .has_position = true,
                     .rows = 3,
                     .entropy = 0.1,
                     .normalized_entropy = 0.2,
                     .support = 1.5,
                     .sink_mass = 0.25,
                     .top_mass = 0.75,
                     .source_mass = 0.5},
                    {.layer = 1, .head = 3, .rows = 1, .entropy = 0.3, .normalized_entropy = {}, .source_mass = {}}};
  measured.heads_wrong = {measured.heads[0]};
  measured.facts = {{"distance", {12.5, 1, 40}}, {"pairs", {8, 8, 8}}};
  measured.seconds = 12.5;
  measured.peak_bytes = 1 << 30;
  record.outcomes = "10x1";
  return record;
}

inline Record text_record() {
  Record record = recall_record();
  record.question.task = "text";
  record.question.metric = "perplexity";
  record.status = "ok";
  record.reason = "";
  record.outcomes = "";
  record.sample_nats = {1.25, 0.1 + 0.2, 3e-300};
  record.sample_tokens = {10, 20, 30};
  Measurement& measured = record.measurement;
  measured = {};
  measured.samples = 3;
  measured.nll_tokens = 60;
  measured.nll_nats = 1.55;
  measured.perplexity = std::exp(1.55 / 60);
  measured.perplexity_low = 1.01;
  measured.perplexity_high = 1.03;
  measured.bits_per_byte = 0.04;
  measured.nll_by_position = {{.first = 0, .last = 63, .tokens = 40, .nats = 1.0}, {64, 127, 20, 0.55}};
  return record;
}

}  // namespace lenbench
