// The identity fields that rows and columns of a Grid are told apart by.
#include "report/grid_fields.h"

#include <fmt/format.h>

#include <string_view>

#include "base/error.h"
#include "base/names.h"
#include "report/grid.h"

namespace lenbench {

namespace {

const IdentityField kFields[] = {
    {"model", false, [](const Record& r) { return r.subject.name; }},
    {"transform", false, [](const Record& r) { return r.subject.transform; }},
    {"positions", false, [](const Record& r) { return r.subject.positions; }},
    {"dtype", false, [](const Record& r) { return r.subject.dtype; }},
    {"device", false, [](const Record& r) { return r.subject.device; }},
    {"train-length", false,
     [](const Record& r) {
       return r.subject.train_length > 0 ? fmt::format("trained at {}", r.subject.train_length) : std::string();
     }},
    {"length", false, [](const Record& r) { return fmt::format("length {}", r.question.length); }},
    {"checkpoint", true, [](const Record& r) { return r.subject.checkpoint_sha256.substr(0, 8); }},
    {"data-seed", true, [](const Record& r) { return fmt::format("data seed {}", r.question.data_seed); }},
};

}  // namespace

std::span<const IdentityField> identity_fields() { return kFields; }

std::vector<std::string> row_field_names() {
  std::vector<std::string> names;
  for (const IdentityField& field : kFields) names.emplace_back(field.name);
  return names;
}

std::size_t field_index(const std::string& name) {
  for (std::size_t i = 0; i < std::size(kFields); ++i) {
    if (name == kFields[i].name) return i;
  }
  throw Error(fmt::format("rows and columns cannot be told apart by '{}'{}; there are {}", name,
                          did_you_mean(name, row_field_names()), join(row_field_names(), ", ")));
}

std::int64_t field_order(std::size_t field, const Record& record) {
  const std::string_view name = kFields[field].name;
  if (name == "length") return record.question.length;
  if (name == "train-length") return record.subject.train_length;
  return 0;
}

}  // namespace lenbench
