#include "common/checkpoint/folder_proof.h"

#include <filesystem>
#include <string>

#include "common/status/errors.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::testing::HasSubstr;

TEST(FolderProofTest, WhoSeesTheTokenSeesTheFolder) {
  testing::TempFolder folder;
  const std::string path = folder.Path("a/b");
  ASSERT_THAT(LeaveToken(path, "token"), IsOk());
  EXPECT_THAT(SeeToken(path, "token", "s1"), IsOk());
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    EXPECT_EQ(entry.path().filename(), "token");
    ++files;
  }
  EXPECT_EQ(files, 1) << "it leaves nothing of its own";
}

TEST(FolderProofTest, AnotherFolderAtTheSamePlaceIsTold) {
  testing::TempFolder folder;
  const absl::Status seen = SeeToken(folder.Path("none"), "token", "s1");
  EXPECT_EQ(ReasonOf(seen), "FOLDER_NOT_SHARED");
  EXPECT_THAT(std::string(seen.message()), HasSubstr(folder.Path("none")));
}

TEST(FolderProofTest, AFolderThatIsSeenButTakesNothingIsToldApart) {
  testing::TempFolder folder;
  const std::string path = folder.Path("a");
  ASSERT_THAT(LeaveToken(path, "token"), IsOk());
  // As on a full disk, the token is there and nothing can be written beside it.
  ASSERT_TRUE(std::filesystem::create_directories(path + "/token.s1/x"));
  const absl::Status seen = SeeToken(path, "token", "s1");
  EXPECT_EQ(ReasonOf(seen), "FOLDER_NOT_WRITABLE");
  EXPECT_THAT(std::string(seen.message()), HasSubstr("Is a directory"));
  EXPECT_THAT(SeeToken(path, "token", ""), IsOk()) << "only looks";
}

TEST(FolderProofTest, TheSystemsReasonIsTold) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  testing::TempFolder folder;
  const std::string path = folder.Path("a");
  ASSERT_THAT(LeaveToken(path, "token"), IsOk());
  std::filesystem::create_symlink("/dev/full", path + "/token.s1");
  const absl::Status seen = SeeToken(path, "token", "s1");
  EXPECT_EQ(ReasonOf(seen), "FOLDER_NOT_WRITABLE");
  EXPECT_THAT(std::string(seen.message()), HasSubstr("No space left"));
}

TEST(FolderProofTest, AFileInTheFoldersPlaceIsNamed) {
  testing::TempFolder folder;
  folder.Write("file", "x");
  const absl::Status left = LeaveToken(folder.Path("file"), "token");
  EXPECT_FALSE(left.ok());
  EXPECT_THAT(std::string(left.message()), HasSubstr(folder.Path("file")));
}

}  // namespace
}  // namespace seraph
