// A file of Records: what is read is written and read again as the same.
#include "record/lines.h"
#include "record/store.h"

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return lenbench::fuzz(data, size, [](std::string_view bytes) {
    for (const lenbench::Record& record : lenbench::parse_record_lines(bytes, "f").records) {
      const std::string line = lenbench::to_json_line(record);
      if (lenbench::to_json_line(lenbench::record_from_json_line(line, "again")) != line) std::abort();
      record.question_key();
      record.resume_key();
    }
  });
}
