// Where a checkpoint comes from: facts that identify it to readers and change no computation (origin.json).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace lenbench {

struct Origin {
  std::string name;               // as shown in tables; empty: the folder's name is shown
  std::int64_t train_length = 0;  // longest training sample, in the task's nominal length; 0: unknown
  std::string recipe;             // name of the recipe
  std::uint64_t seed = 0;
  std::map<std::string, std::string> facts;  // anything else, e.g. steps, data, licence of the text
  bool operator==(const Origin&) const = default;

  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit.defaulted("name", self.name);
    visit.defaulted("train_length", self.train_length);
    visit.defaulted("recipe", self.recipe);
    visit.defaulted("seed", self.seed);
    visit.defaulted("facts", self.facts);
  }
};

// Strict: an unknown key, a wrong type or a negative length throws Error opening with `where`.
Origin parse_origin(std::string_view text, const std::string& where);
// One line of JSON, with a line feed at the end.
std::string origin_text(const Origin& origin);

}  // namespace lenbench
