// Tests of base/hash.h against the examples of FIPS 180-2.
#include "base/hash.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/base/expect_error.h"
#include "tests/base/temporary_folder.h"

namespace lenbench {
namespace {

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const TemporaryFolder folder;
  // Longer than one piece, and not a multiple of it.
  std::string bytes(3'000'001, 'x');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  write_file_atomically(folder / "f", bytes);
  EXPECT_EQ(sha256_file(folder / "f"), sha256_hex(bytes));
}

TEST(Sha256, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  EXPECT_NE(error_of([&] { sha256_file(folder / "missing"); }).find("missing"), std::string::npos);
  error_of([&] { sha256_file(folder.path()); });
}

}  // namespace
}  // namespace lenbench
