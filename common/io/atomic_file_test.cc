#include "common/io/atomic_file.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::unique_ptr<AtomicFile> MustCreate(const std::string& path) {
  absl::StatusOr<std::unique_ptr<AtomicFile>> file = AtomicFile::Create(path);
  EXPECT_THAT(file, IsOk());
  return *std::move(file);
}

TEST(AtomicFileTest, HasItsNameOnlyWhenAllIsThere) {
  const TempFolder dir;
  auto file = MustCreate(dir.Path("model"));
  ASSERT_THAT(file->Append("one "), IsOk());
  ASSERT_THAT(file->Append("two"), IsOk());
  EXPECT_EQ(file->size(), 7);
  EXPECT_THAT(dir.Names(), ElementsAre(StartsWith("model.tmp-")));

  ASSERT_THAT(file->Commit(), IsOk());
  EXPECT_THAT(dir.Names(), ElementsAre("model"));
  EXPECT_EQ(dir.Read("model"), "one two");
}

TEST(AtomicFileTest, KeepsWhatIsLongerThanItsBuffer) {
  const TempFolder dir;
  std::string all;
  auto file = MustCreate(dir.Path("model"));
  for (int i = 0; i < 1000; ++i) {
    const std::string part(i, static_cast<char>('a' + i % 26));
    ASSERT_THAT(file->Append(part), IsOk());
    all += part;
  }
  ASSERT_THAT(file->Commit(), IsOk());
  EXPECT_EQ(dir.Read("model"), all);
}

TEST(AtomicFileTest, LeavesTheOldFileAndNothingElseWithoutACommit) {
  const TempFolder dir;
  dir.Write("model", "old");
  {
    auto file = MustCreate(dir.Path("model"));
    ASSERT_THAT(file->Append("new"), IsOk());
  }
  EXPECT_THAT(dir.Names(), ElementsAre("model"));
  EXPECT_EQ(dir.Read("model"), "old");
}

TEST(AtomicFileTest, ReplacesTheOldFile) {
  const TempFolder dir;
  dir.Write("model", "old and longer");
  auto file = MustCreate(dir.Path("model"));
  ASSERT_THAT(file->Append("new"), IsOk());
  ASSERT_THAT(file->Commit(), IsOk());
  EXPECT_EQ(dir.Read("model"), "new");
}

TEST(AtomicFileTest, ReplacesWhatALinkPointsToAndKeepsTheLink) {
  const TempFolder dir;
  dir.Write("real", "old");
  std::filesystem::create_symlink("real", dir.Path("link"));
  auto file = MustCreate(dir.Path("link"));
  ASSERT_THAT(file->Append("new"), IsOk());
  ASSERT_THAT(file->Commit(), IsOk());
  EXPECT_TRUE(std::filesystem::is_symlink(dir.Path("link")));
  EXPECT_EQ(dir.Read("real"), "new");
}

TEST(AtomicFileTest, TwoWritersOfOneTargetDoNotMeet) {
  const TempFolder dir;
  auto one = MustCreate(dir.Path("model"));
  auto two = MustCreate(dir.Path("model"));
  EXPECT_THAT(dir.Names(), SizeIs(2));
  ASSERT_THAT(one->Append("one"), IsOk());
  ASSERT_THAT(two->Append("two"), IsOk());
  ASSERT_THAT(one->Commit(), IsOk());
  ASSERT_THAT(two->Commit(), IsOk());
  EXPECT_THAT(dir.Names(), ElementsAre("model"));
  EXPECT_EQ(dir.Read("model"), "two");
}

TEST(AtomicFileTest, CreatesTheFoldersAbove) {
  const TempFolder dir;
  auto file = MustCreate(dir.Path("a/b/model"));
  ASSERT_THAT(file->Append("x"), IsOk());
  ASSERT_THAT(file->Commit(), IsOk());
  EXPECT_EQ(dir.Read("a/b/model"), "x");
}

TEST(AtomicFileTest, IsReadableLikeAnyOtherNewFile) {
  const TempFolder dir;
  const mode_t mask = umask(022);
  auto file = MustCreate(dir.Path("model"));
  ASSERT_THAT(file->Commit(), IsOk());
  umask(mask);
  struct stat info;
  ASSERT_EQ(stat(dir.Path("model").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644);
}

TEST(AtomicFileTest, RefusesAFolderASpecialFileAndNoName) {
  const TempFolder dir;
  EXPECT_THAT(AtomicFile::Create(dir.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(dir.path()), HasSubstr("folder"))));
  EXPECT_THAT(AtomicFile::Create("/dev/null"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("no regular file")));
  EXPECT_THAT(AtomicFile::Create(""),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(AtomicFileTest, NamesTheFolderThatCannotBeMade) {
  const TempFolder dir;
  dir.Write("file", "");
  const absl::Status status =
      AtomicFile::Create(dir.Path("file/model")).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(dir.Path("file")));
}

// A limit on the size of files stands for the full disk: both fail in write().
TEST(AtomicFileTest, AWriteThatFailsLeavesNothingAndIsRemembered) {
  const TempFolder dir;
  struct rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  struct rlimit limit = old_limit;
  limit.rlim_cur = 1 << 20;
  signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);

  auto file = MustCreate(dir.Path("model"));
  absl::Status status;
  const std::string part(100000, 'x');
  for (int i = 0; i < 100 && status.ok(); ++i) status = file->Append(part);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);

  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(dir.Path("model")), HasSubstr("too large")));
  EXPECT_THAT(dir.Names(), IsEmpty());
  EXPECT_EQ(file->Append("y"), status);
  EXPECT_EQ(file->Commit(), status);
  EXPECT_THAT(dir.Names(), IsEmpty());
}

TEST(AtomicFileTest, TheTargetBecomesAFolderMeanwhile) {
  const TempFolder dir;
  auto file = MustCreate(dir.Path("model"));
  std::filesystem::create_directory(dir.Path("model"));
  EXPECT_FALSE(file->Commit().ok());
  EXPECT_THAT(dir.Names(), ElementsAre("model")) << "no temporary file stays";
}

TEST(AtomicFileTest, TakesNothingAfterTheCommit) {
  const TempFolder dir;
  auto file = MustCreate(dir.Path("model"));
  ASSERT_THAT(file->Commit(), IsOk());
  EXPECT_THAT(file->Append("x"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(dir.Read("model"), "");
}

}  // namespace
}  // namespace seraph
