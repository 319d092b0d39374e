// Mapped files: what cannot be mapped, and the end of a process whose file another program cuts short (bug H7).
#include "checkpoint/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "base/error.h"
#include "temp_folder.h"

namespace lenbench {
namespace {

std::size_t sum_of(std::span<const std::byte> bytes) {
  volatile std::size_t sum = 0;  // read, whoever uses the sum
  for (const std::byte value : bytes) sum = sum + std::to_integer<std::size_t>(value);
  return sum;
}

TEST(MappedFile, HoldsTheBytesAlsoAfterTheFileIsGone) {
  const TempFolder folder;
  folder.write("x", std::string(100000, '\1'));
  const auto file = MappedFile::open(folder.file("x"));
  std::filesystem::remove(folder.file("x"));
  EXPECT_EQ(sum_of(file->bytes()), 100000U);
  folder.write("empty", "");
  EXPECT_TRUE(MappedFile::open(folder.file("empty"))->bytes().empty());
  EXPECT_THROW(MappedFile::open(folder.file("absent")), Error);
  EXPECT_THROW(MappedFile::open(folder.path().string()), Error);
}

TEST(MappedFileDeathTest, AFileCutShortEndsInOneLineWithExitCodeThree) {
  const TempFolder folder;
  folder.write("before", std::string(5000, 'x'));
  folder.write("weights", std::string(100000, 'x'));
  folder.write("after", std::string(5000, 'x'));
  const auto read_after_cut = [&] {
    const auto before = MappedFile::open(folder.file("before"));
    auto closed = MappedFile::open(folder.file("after"));
    closed.reset();
    const auto weights = MappedFile::open(folder.file("weights"));
    const auto after = MappedFile::open(folder.file("after"));
    std::filesystem::resize_file(folder.file("weights"), 4096);
    sum_of(before->bytes());
    sum_of(after->bytes());
    sum_of(weights->bytes());
  };
  EXPECT_EXIT(read_after_cut(), testing::ExitedWithCode(3),
              "^lenbench: error: .*/weights: was cut short by another program while it was read; [^\n]*\n$");
}

TEST(MappedFileDeathTest, OtherBusErrorsAreNotTakenForIt) {
  const TempFolder folder;
  folder.write("weights", std::string(5000, 'x'));
  const auto raise_elsewhere = [&] {
    const auto weights = MappedFile::open(folder.file("weights"));
    std::raise(SIGBUS);
    std::raise(SIGBUS);
  };
  EXPECT_EXIT(raise_elsewhere(), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace lenbench
