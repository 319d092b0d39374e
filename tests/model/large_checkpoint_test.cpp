// A llama-shaped checkpoint of 500 MB: opens at once, stays at its stored size, and computes a layer at a time.
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "../checkpoint/temp_folder.h"
#include "checkpoint/family.h"
#include "checkpoint/memory.h"
#include "model/batch.h"
#include "model/weights.h"

namespace lenbench {
namespace {

using Json = nlohmann::ordered_json;

// Bytes of the process that are no file's: memory that it takes from the system for good.
std::int64_t anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib * 1024;
  }
  return -1;
}

// bf16 zeros, which a sparse file holds without taking room on the disk.
void write_large(const TempFolder& folder) {
  const Json config = Json::parse(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 16000,
    "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 5, "num_attention_heads": 16,
    "num_key_value_heads": 4, "max_position_embeddings": 4096, "tie_word_embeddings": true})");
  folder.write("config.json", config.dump());
  Json header = Json::object();
  std::int64_t offset = 0;
  for (const TensorSpec& spec : stored_tensor_specs(parse_config(config.dump(), "config.json"))) {
    const std::int64_t bytes = 2 * num_elements(spec);
    header[spec.name] = {{"dtype", "BF16"}, {"shape", spec.shape}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string start;
  for (int i = 0; i < 8; ++i) start.push_back(static_cast<char>(text.size() >> (8 * i) & 0xff));
  folder.write("model.safetensors", start + text);
  std::filesystem::resize_file(folder.file("model.safetensors"), 8 + text.size() + static_cast<std::uint64_t>(offset));
}

TEST(LargeCheckpoint, OpensAtOnceAndTakesItsStoredBytesUntilALayerIsComputed) {
  const TempFolder folder;
  write_large(folder);
  const std::int64_t before = anonymous_bytes();
  ASSERT_GT(before, 0);
  const auto started = std::chrono::steady_clock::now();
  const Checkpoint checkpoint = Checkpoint::open(folder.path().string());
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count(), 1.0);
  const std::int64_t stored = stored_bytes(checkpoint);
  EXPECT_GT(stored, 500'000'000);
  EXPECT_LT(anonymous_bytes() - before, 4 << 20);

  const Decoder decoder = load_decoder(checkpoint);
  EXPECT_LT(anonymous_bytes() - before, 16 << 20);
  Sample sample;
  for (std::int32_t t = 0; t < 8; ++t) sample.tokens.push_back(t);
  sample.scored.push_back({7, 1, -1, false});
  EvaluationRequest request = evaluation_request(std::span(&sample, 1));
  std::int64_t most = 0;
  request.on_attend = [&](std::int64_t, const AttendRequest&) { most = std::max(most, anonymous_bytes() - before); };
  const at::Tensor hidden = decoder.hidden(request);
  // One layer in float32, while the whole model would be 1 GB.
  const std::int64_t layer = 4 * 45'000'000;
  EXPECT_GT(most, layer / 2);
  EXPECT_LT(most, 2 * layer);
  EXPECT_LT(most, converted_bytes(checkpoint, 4) + (64 << 20));
  EXPECT_LT(anonymous_bytes() - before, 64 << 20);
  EXPECT_EQ(decoder.logits(hidden[0]).abs().max().item<double>(), 0);
}

}  // namespace
}  // namespace lenbench
