// Keys that say when two Records asked the same thing, and of whom.
#include "record/record.h"

#include "base/fields.h"
#include "base/json.h"

namespace lenbench {

std::string Record::question_key() const {
  nlohmann::ordered_json json = write_fields(question);
  json.erase("comparability");
  return dump_json(json);
}

std::string Record::cell_key() const {
  return "{\"question\":" + question_key() + ",\"subject\":" + dump_json(write_fields(subject)) +
         ",\"samples_requested\":" + std::to_string(samples_requested) + "}";
}

std::string Record::resume_key() const {
  std::string key = cell_key();
  if (part) {
    key.pop_back();
    key += ",\"plan\":\"" + part->plan_sha256 + "\",\"item\":" + std::to_string(part->item) + "}";
  }
  return key;
}

}  // namespace lenbench
