// The catalogue of formats.
#include "report/format.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/names.h"

namespace lenbench {

namespace {

struct Entry {
  const char* name;
  std::string (*draw)(std::span<const Grid>);
  const char* summary;
};

constexpr Entry kFormats[] = {
#define LENBENCH_FORMAT(name, function, summary) {name, function, summary},
#include "report/catalog.def"
#undef LENBENCH_FORMAT
};

}  // namespace

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kFormats) names.emplace_back(entry.name);
  return names;
}

std::vector<std::string> format_summaries() {
  std::vector<std::string> summaries;
  for (const Entry& entry : kFormats) summaries.emplace_back(entry.summary);
  return summaries;
}

std::string render(std::string_view format, std::span<const Grid> grids) {
  for (const Entry& entry : kFormats) {
    if (format == entry.name) return entry.draw(grids);
  }
  throw Error(fmt::format("unknown format '{}'{}; there are {}", format, did_you_mean(format, format_names()),
                          join(format_names(), ", ")));
}

}  // namespace lenbench
