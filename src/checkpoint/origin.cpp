// Reads and writes origin.json.
#include "checkpoint/origin.h"

#include "base/error.h"
#include "base/fields.h"
#include "base/json.h"

namespace lenbench {

Origin parse_origin(std::string_view text, const std::string& where) {
  Origin origin;
  read_fields(parse_json(text, where), origin, where);
  if (origin.train_length < 0) {
    throw Error(where + ": train_length is " + std::to_string(origin.train_length) + "; it must be at least 0");
  }
  return origin;
}

std::string origin_text(const Origin& origin) { return dump_json(write_fields(origin)) + "\n"; }

}  // namespace lenbench
