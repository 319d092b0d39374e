// What it takes to make a table again: which models, asked what, beside which published numbers. One JSON file each,
// results/tables/ID.json.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lenbench {

// One line of the table: a recipe trained with some seeds.
struct StudyRow {
  std::string method;  // the line's name
  std::string recipe;  // name of a file in recipes/, without .json
  // The recipe's own seed first; others train checkpoints named RECIPE-seedN.
  std::vector<std::uint64_t> seeds;
  // A checkpoint that is made from the recipe's by other means than training; empty: what the recipe trains. Those of
  // further seeds are named NAME-seedN.
  std::string checkpoint;
  std::string transform;  // attention transform that replaces the checkpoint's at inference; empty: as trained

  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("method", self.method);
    visit("recipe", self.recipe);
    visit("seeds", self.seeds);
    visit.defaulted("checkpoint", self.checkpoint);
    visit.defaulted("transform", self.transform);
  }
};

// A table at one scale of models: "small" trains on CPU cores, "paper" has the published hyper-parameters.
struct StudyScale {
  std::string task;               // NAME[:k=v,...]
  std::string metric;             // a metric name of report/grid.h
  std::vector<std::string> also;  // metrics shown after it, in tables of their own
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> samples;  // parallel to lengths
  std::vector<StudyRow> rows;

  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("task", self.task);
    visit("metric", self.metric);
    visit.defaulted("also", self.also);
    visit("lengths", self.lengths);
    visit("samples", self.samples);
    visit("rows", self.rows);
  }
};

struct Study {
  std::string id;                      // the file's name
  std::string title;                   // one line
  std::string remark;                  // what a reader must know before comparing; may be empty
  std::vector<std::string> published;  // ids of published/paper_tables.json shown beside the measured rows
  std::map<std::string, StudyScale> scales;

  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("title", self.title);
    visit.defaulted("remark", self.remark);
    visit.defaulted("published", self.published);
    visit("scales", self.scales);
  }
};

// A model counts as trained when it answers at least this share of whole samples of its training length.
inline constexpr double kLearntExactMatch = 0.99;

// The checkpoint that a row trains, or names, with a seed: its first has the plain name.
std::string checkpoint_of(const StudyRow& row, std::uint64_t seed);
// The name of its Record file, without .jsonl: the checkpoint, and "+TRANSFORM" where one is put in its place.
std::string records_of(const StudyRow& row, std::uint64_t seed);

// Strict. Throws Error naming file and key: unknown or missing keys, no rows, lengths and samples that do not pair up,
// lengths that do not ascend, a row without seeds, a seed or method that occurs twice.
Study read_study(const std::string& path);

// All of a folder, ascending by id.
std::vector<Study> read_studies(const std::string& folder);

// By id or short name: `mqmtar` is `paper-1-mqmtar`. Throws Error on an unknown id ("did you mean").
const Study& find_study(const std::vector<Study>& studies, std::string_view id);

}  // namespace lenbench
