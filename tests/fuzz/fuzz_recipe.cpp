// A training recipe.
#include "train/recipe.h"

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static lenbench::FuzzFile file;
  return lenbench::fuzz(data, size, [](std::string_view bytes) { lenbench::read_recipe(file.write(bytes)); });
}
