// Files of torch by their content. The zip files here are written by hand: names and directory, as far as they count.
#include "checkpoint/torch_file.h"

#include <gmock/gmock.h>

#include "base/files.h"
#include "tests/base/expect_error.h"
#include "tests/base/temporary_folder.h"

namespace lenbench {
namespace {

std::string zip_with(const std::vector<std::string>& names) {
  std::string bytes("PK\x03\x04", 4);
  bytes += std::string(100, '\0');
  for (const std::string& name : names) bytes += std::string("PK\x01\x02", 4) + std::string(42, '\0') + name;
  return bytes + std::string("PK\x05\x06", 4) + std::string(18, '\0');
}

TorchFile kind_of(const std::string& bytes) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", bytes);
  return torch_file_kind(folder / "file");
}

TEST(TorchFile, IsToldByTheNamesInItsDirectory) {
  EXPECT_EQ(kind_of(zip_with({"m/data.pkl", "m/code/__torch__.py", "m/constants.pkl"})), TorchFile::kScript);
  EXPECT_EQ(kind_of(zip_with({"m/data.pkl", "m/data/0", "m/version"})), TorchFile::kPickle);
  EXPECT_EQ(kind_of(zip_with({"m/archive_format", "m/models/model.json"})), TorchFile::kExported);
  EXPECT_EQ(kind_of(zip_with({"word/document.xml"})), TorchFile::kNone);
  EXPECT_EQ(kind_of("m/constants.pkl m/code/"), TorchFile::kNone);
  EXPECT_EQ(kind_of(""), TorchFile::kNone);
  const std::string script = zip_with({"m/code/__torch__.py", "m/constants.pkl"});
  EXPECT_EQ(kind_of(script.substr(0, script.size() - 22)), TorchFile::kCutOff) << "without the end of the directory";
  EXPECT_EQ(kind_of(script.substr(0, 50)), TorchFile::kCutOff);
}

TEST(TorchFile, FoldersAndMissingFilesAreNone) {
  const TemporaryFolder folder;
  EXPECT_EQ(torch_file_kind(folder.path()), TorchFile::kNone);
  EXPECT_EQ(torch_file_kind(folder / "absent"), TorchFile::kNone);
}

TEST(TorchFile, ExportedProgramsAreRefusedWithAWayOut) {
  EXPECT_THAT(error_of([] { refuse_unreadable(TorchFile::kExported, "m.pt2"); }),
              testing::AllOf(testing::HasSubstr("m.pt2"), testing::HasSubstr("torch.jit.trace")));
  EXPECT_THAT(error_of([] { refuse_unreadable(TorchFile::kCutOff, "m.pt"); }),
              testing::HasSubstr("m.pt: is a zip file"));
  refuse_unreadable(TorchFile::kScript, "m.pt");
}

}  // namespace
}  // namespace lenbench
