// The safetensors reader against hand-made files: right ones, every truncation, corrupt headers, random damage.
#include "checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "base/error.h"
#include "temp_folder.h"

namespace lenbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string with_header(const std::string& header, const std::string& data) {
  std::string file;
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<char>(header.size() >> (8 * i) & 0xff));
  return file + header + data;
}

std::string error_of(const std::string& bytes) {
  try {
    SafetensorsFile::from_bytes(bytes, "x.safetensors");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return "";
}

// Two tensors, written by hand: a = F32 [2] (1.0, -2.0), b = I64 [1] (7).
std::string small_file() {
  const float a[2] = {1.0F, -2.0F};
  const std::int64_t b = 7;
  std::string data(16, '\0');
  std::memcpy(data.data(), a, 8);
  std::memcpy(data.data() + 8, &b, 8);
  return with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                     R"("b":{"dtype":"I64","shape":[1],"data_offsets":[8,16]}})",
                     data);
}

TEST(Safetensors, ReadsMinimalFileWithoutMetadata) {  // H11
  const SafetensorsFile file = SafetensorsFile::from_bytes(small_file(), "x");
  ASSERT_EQ(file.tensors().size(), 2u);
  const TensorView& a = file.tensors().at("a");
  EXPECT_EQ(a.dtype, Dtype::kF32);
  EXPECT_EQ(a.shape, std::vector<std::int64_t>{2});
  EXPECT_EQ(element_as_double(a.dtype, a.bytes, 0), 1.0);
  EXPECT_EQ(element_as_double(a.dtype, a.bytes, 1), -2.0);
  const TensorView& b = file.tensors().at("b");
  EXPECT_EQ(element_as_double(b.dtype, b.bytes, 0), 7.0);
  EXPECT_TRUE(file.metadata().empty());
}

TEST(Safetensors, EveryTruncationIsRefusedAndSaysHowManyBytesAreMissing) {  // H7
  const TempFolder folder;
  const std::string whole = small_file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    folder.write("cut.safetensors", whole.substr(0, size));
    const std::size_t header_end = 8 + (whole.size() - 16 - 8);
    const std::size_t missing = size < 8 ? 8 - size : size < header_end ? header_end - size : whole.size() - size;
    try {
      SafetensorsFile file(folder.file("cut.safetensors"));
      FAIL() << "accepted " << size << " of " << whole.size() << " bytes";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("cut.safetensors"), HasSubstr("cut off"),
                                      HasSubstr("(" + std::to_string(missing) + " bytes missing)")));
    }
  }
  folder.write("whole.safetensors", whole);
  EXPECT_EQ(SafetensorsFile(folder.file("whole.safetensors")).tensors().size(), 2u);
}

TEST(Safetensors, RandomDamageNeverCrashes) {
  const std::string whole = small_file();
  std::mt19937 random(20240229);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = whole;
    const int flips = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < flips; ++i) damaged[random() % (damaged.size() - 16)] = static_cast<char>(random());
    try {
      const SafetensorsFile file = SafetensorsFile::from_bytes(damaged, "x");
      for (const auto& [name, view] : file.tensors()) {
        for (std::int64_t i = 0; i < view.num_elements(); ++i) element_as_double(view.dtype, view.bytes, i);
      }
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 15000);
}

struct BadHeader {
  const char* name;
  const char* header;
  int data_bytes;
  const char* expected;
};

class SafetensorsHeader : public testing::TestWithParam<BadHeader> {};

TEST_P(SafetensorsHeader, IsRefusedByName) {
  const std::string message =
      error_of(with_header(GetParam().header, std::string(static_cast<std::size_t>(GetParam().data_bytes), '\0')));
  EXPECT_THAT(message, AllOf(HasSubstr("x.safetensors"), HasSubstr(GetParam().expected)));
}

INSTANTIATE_TEST_SUITE_P(
    All, SafetensorsHeader,
    testing::Values(
        BadHeader{
            "overlap",
            R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
            6, "tensor 'b' overlaps 'a'"},
        BadHeader{
            "gap",
            R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[2],"data_offsets":[5,7]}})",
            7, "1 bytes before tensor 'b'"},
        BadHeader{"reversed", R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", 4, "not in order"},
        BadHeader{"left_over", R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5, "1 bytes after"},
        BadHeader{"size", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "needs 8 bytes"},
        BadHeader{"huge", R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4,
                  "too many elements"},
        BadHeader{"negative", R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "non-negative"},
        BadHeader{"fraction", R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4, "non-negative integer"},
        BadHeader{"offset_limit",
                  R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[18446744073709551614,18446744073709551615]}})", 1,
                  "too large"},
        BadHeader{"float8", R"({"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}})", 4,
                  "F8_E4M3 is not supported"},
        BadHeader{"dtype", R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", 4, "unknown dtype 'F33'"},
        BadHeader{"no_dtype", R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4, "'dtype' is missing"},
        BadHeader{"extra_key", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"scale":1}})", 1,
                  "unknown key 'scale'"},
        BadHeader{"offsets", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, "[begin, end]"},
        BadHeader{"entry", R"({"a":[1]})", 1, "must be an object"},
        BadHeader{"metadata", R"({"__metadata__":{"format":1}})", 0, "must be a string"},
        BadHeader{"metadata_list", R"({"__metadata__":[]})", 0, "must be an object of strings"},
        BadHeader{"garbage", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}} x)", 1, "header"},
        BadHeader{
            "twice",
            R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
            1, "header"},
        BadHeader{"not_an_object", R"([1,2])", 0, "does not start with '{'"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Safetensors, RefusesSillyHeaderLengths) {  // H7
  EXPECT_THAT(error_of(std::string(16, '\0')), HasSubstr("header length is 0"));
  EXPECT_THAT(error_of(std::string(8, '\xff') + "{}"), HasSubstr("over the limit"));
  EXPECT_THAT(error_of(with_header(std::string(5000, '['), "")), Not(testing::IsEmpty()));
  EXPECT_THAT(error_of(with_header("{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}", "")),
              HasSubstr("header"));
}

TEST(Safetensors, ForeignFormatsAreNamedWithTheWayOut) {  // H8, H11
  EXPECT_THAT(error_of(std::string("PK\x03\x04", 4) + std::string(100, 'z')),
              AllOf(HasSubstr("torch.save archive"), HasSubstr("python3 -c")));
  EXPECT_THAT(error_of("\x80\x02}q" + std::string(100, '.')), AllOf(HasSubstr("pickle"), HasSubstr("python3 -c")));
  EXPECT_THAT(error_of("\x80\x02."), HasSubstr("pickle"));
  EXPECT_THAT(error_of("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"), HasSubstr("Git LFS"));
  EXPECT_THAT(error_of("GGUF" + std::string(100, '\0')), HasSubstr("GGUF"));
}

TEST(Safetensors, HeaderLengthThatLooksLikeAPickleIsStillRead) {
  // A header of 640 bytes starts the file with 0x80 0x02, as a pickle would.
  std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  header.resize(640, ' ');
  EXPECT_EQ(SafetensorsFile::from_bytes(with_header(header, "z"), "x").tensors().size(), 1u);
}

TEST(Safetensors, RefusesFoldersAndMissingFiles) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path() / "x.safetensors");
  EXPECT_THROW(SafetensorsFile(folder.file("x.safetensors")), Error);
  EXPECT_THROW(SafetensorsFile(folder.file("absent.safetensors")), Error);
}

TEST(Safetensors, WriterIsDeterministicAlignedAndRoundTrips) {
  const std::vector<double> f64 = {0.5, -1e300};
  const std::vector<float> f32 = {1.5F, -0.0F, 3e-42F};
  const std::vector<std::uint16_t> f16 = {0x3c00, 0x0001, 0xfbff};
  const std::vector<std::uint8_t> u8 = {1, 2, 3};
  const std::map<std::string, TensorSource> sources = {
      {"b", {Dtype::kF32, {3}, std::as_bytes(std::span(f32))}},
      {"a", {Dtype::kU8, {3, 1}, std::as_bytes(std::span(u8))}},
      {"c", {Dtype::kF64, {1, 2}, std::as_bytes(std::span(f64))}},
      {"d", {Dtype::kF16, {3}, std::as_bytes(std::span(f16))}},
      {"empty", {Dtype::kF32, {0, 4}, {}}},
      {"scalar", {Dtype::kU8, {}, std::as_bytes(std::span(u8)).first(1)}}};
  const TempFolder folder;
  const std::string path = folder.file("模型 å.safetensors");
  write_safetensors(path, sources, {{"format", "pt"}});
  std::ifstream in(path, std::ios::binary);
  const std::string written((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(written, safetensors_bytes(sources, {{"format", "pt"}}));

  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  ASSERT_EQ(file.tensors().size(), sources.size());
  for (const auto& [name, source] : sources) {
    const TensorView& view = file.tensors().at(name);
    EXPECT_EQ(view.dtype, source.dtype);
    EXPECT_EQ(view.shape, source.shape);
    ASSERT_EQ(view.bytes.size(), source.bytes.size());
    EXPECT_TRUE(std::equal(view.bytes.begin(), view.bytes.end(), source.bytes.begin())) << name;
    EXPECT_EQ(
        reinterpret_cast<std::uintptr_t>(view.bytes.data()) % static_cast<std::uintptr_t>(dtype_bytes(view.dtype)), 0u)
        << name;
  }
}

TEST(Dtype, ElementsDecodeToTheirIeeeValues) {
  const auto half = [](std::uint16_t bits) {
    return element_as_double(Dtype::kF16, std::as_bytes(std::span(&bits, 1)), 0);
  };
  EXPECT_EQ(half(0x3c00), 1.0);
  EXPECT_EQ(half(0xc000), -2.0);
  EXPECT_EQ(half(0x7bff), 65504.0);
  EXPECT_EQ(half(0x0001), std::ldexp(1.0, -24));
  EXPECT_EQ(half(0x0400), std::ldexp(1.0, -14));
  EXPECT_TRUE(std::isinf(half(0x7c00)));
  EXPECT_TRUE(std::isnan(half(0x7e00)));
  const std::uint16_t brain = 0x4049;
  EXPECT_EQ(element_as_double(Dtype::kBF16, std::as_bytes(std::span(&brain, 1)), 0), 3.140625);
}

TEST(Dtype, FindsTheFirstNonFiniteElement) {
  std::vector<float> values(10, 1.0F);
  EXPECT_FALSE(first_nonfinite(Dtype::kF32, std::as_bytes(std::span(values))));
  values[7] = -INFINITY;
  values[9] = NAN;
  EXPECT_EQ(first_nonfinite(Dtype::kF32, std::as_bytes(std::span(values))), 7);
  const std::vector<std::uint16_t> halves = {0x7bff, 0xfc00};
  EXPECT_EQ(first_nonfinite(Dtype::kF16, std::as_bytes(std::span(halves))), 1);
  const std::vector<std::uint16_t> brains = {0x7f7f, 0x7f80};
  EXPECT_EQ(first_nonfinite(Dtype::kBF16, std::as_bytes(std::span(brains))), 1);
  const std::vector<std::int64_t> integers = {-1};
  EXPECT_FALSE(first_nonfinite(Dtype::kI64, std::as_bytes(std::span(integers))));
}

}  // namespace
}  // namespace lenbench
