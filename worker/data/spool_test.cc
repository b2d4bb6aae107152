#include "worker/data/spool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/testing/compress.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::Gzip;
using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::seraph::testing::Zstd;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SpoolTest : public ::testing::Test {
 protected:
  FileStamp File(absl::string_view name, absl::string_view content) {
    return *StampFile(folder_.Write(name, content));
  }

  std::unique_ptr<Spool> NewSpool(uint64_t kept_bytes = 0) {
    auto spool = Spool::Create(folder_.Path("spool"), kept_bytes);
    EXPECT_THAT(spool, IsOk());
    return *std::move(spool);
  }

  // What lies in the spool, beside the file of locks.
  int Copies() {
    int copies = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder_.Path("spool"))) {
      copies += entry.is_regular_file() && entry.path().filename() != "locks";
    }
    return copies;
  }

  TempFolder folder_;
};

std::string Content(const SpooledFile& spooled) {
  const auto file = spooled.Open();
  EXPECT_THAT(file, IsOk());
  if (!file.ok()) return "";
  std::string content((*file)->size(), '\0');
  const auto size = (*file)->Read(0, content.size(), content.data());
  EXPECT_THAT(size, IsOk());
  return content;
}

TEST_F(SpoolTest, PlainFilesAreReadWhereTheyLie) {
  const auto spool = NewSpool();
  const auto file = spool->Get(File("f", "abc"));
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(Content(**file), "abc");
  EXPECT_EQ(Copies(), 0);
}

TEST_F(SpoolTest, CompressedFilesHaveOneCopyWhileTheyAreUsed) {
  const auto spool = NewSpool();
  const FileStamp gzip = File("f", Gzip("abc")), zstd = File("g", Zstd("de"));
  auto first = spool->Get(gzip);
  auto second = spool->Get(gzip);
  auto other = spool->Get(zstd);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(Content(**first), "abc");
  EXPECT_EQ(Content(**other), "de");
  EXPECT_EQ(Copies(), 2);
  first->reset();
  EXPECT_EQ(Copies(), 2);
  second->reset();
  EXPECT_EQ(Copies(), 1);
  EXPECT_EQ(Content(**spool->Get(gzip)), "abc") << "and again";
}

TEST_F(SpoolTest, MessagesNameTheFileAndNotTheCopy) {
  const auto spool = NewSpool();
  const auto file = spool->Get(File("f", Gzip("abc")));
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ((*(*file)->Open())->path(), folder_.Path("f"));
}

TEST_F(SpoolTest, ATruncatedFileIsNamedWithItsOffsetAndLeavesNoCopy) {
  const auto spool = NewSpool();
  const std::string bytes = Gzip("abcdefghijklmnopqrstuvwxyz");
  EXPECT_THAT(spool->Get(File("f", bytes.substr(0, 20))),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(folder_.Path("f")),
                             HasSubstr("ends early at byte 20"))));
  EXPECT_EQ(Copies(), 0);
  EXPECT_THAT(spool->Get(File("f", bytes)), IsOk()) << "it was repaired";
}

TEST_F(SpoolTest, AChangedFileIsRefusedWithAnOldStampAndReadWithANewOne) {
  const auto spool = NewSpool();
  const FileStamp old_stamp = File("f", Gzip("abc"));
  const auto held = spool->Get(old_stamp);
  ASSERT_THAT(held, IsOk());
  const FileStamp new_stamp = File("f", Gzip("something else"));
  EXPECT_THAT((*held)->Open(), StatusIs(absl::StatusCode::kFailedPrecondition));
  const auto fresh = spool->Get(new_stamp);
  ASSERT_THAT(fresh, IsOk());
  EXPECT_EQ(Content(**fresh), "something else");
  EXPECT_THAT(spool->Get(old_stamp),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(SpoolTest, ManyThreadsDecompressAFileOnce) {
  const auto spool = NewSpool();
  const FileStamp stamp = File("f", Gzip(std::string(1000000, 'x')));
  std::vector<std::shared_ptr<const SpooledFile>> files(8);
  std::vector<std::thread> threads;
  for (auto& file : files) {
    threads.emplace_back([&] { file = *spool->Get(stamp); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& file : files) EXPECT_EQ(file, files[0]);
  EXPECT_EQ(Copies(), 1);
}

TEST_F(SpoolTest, ProcessesShareACopyAndTheLastOneRemovesIt) {
  const FileStamp stamp = File("f", Gzip("abc"));
  const auto one = NewSpool(), other = NewSpool();
  auto first = one->Get(stamp), second = other->Get(stamp);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(Copies(), 1);
  first->reset();
  EXPECT_EQ(Copies(), 1);
  EXPECT_EQ(Content(**second), "abc");
  second->reset();
  EXPECT_EQ(Copies(), 0);
}

TEST_F(SpoolTest, CopiesUsedLastAreKeptWithinALimit) {
  const FileStamp a = File("a", Gzip(std::string(60, 'a')));
  const FileStamp b = File("b", Gzip(std::string(60, 'b')));
  auto spool = NewSpool(/*kept_bytes=*/100);
  ASSERT_THAT(spool->Get(a), IsOk());
  EXPECT_EQ(Copies(), 1) << "nobody uses it now";
  ASSERT_THAT(spool->Get(b), IsOk());
  EXPECT_EQ(Copies(), 1) << "in place of the other one";
  spool.reset();
  EXPECT_EQ(Copies(), 0);
}

// Only a copy that a running process made may be used: what another one left
// was perhaps never finished.
TEST_F(SpoolTest, LeftoversAreRemovedAndWhatIsInUseIsNot) {
  const FileStamp stamp = File("f", Gzip("abc"));
  const auto living = NewSpool();
  const auto file = living->Get(stamp);
  ASSERT_THAT(file, IsOk());
  const std::string own = absl::StrCat("spool/seraph-spool-", ::geteuid());
  folder_.Write(own + "/0123456789abcdef-4-5", "a killed one's copy");
  folder_.Write(own + "/0123456789abcdee-4-5.part", "half of a copy");
  ASSERT_EQ(Copies(), 3);
  const auto second = NewSpool();
  EXPECT_EQ(Copies(), 1);
  EXPECT_EQ(Content(**file), "abc");
}

TEST_F(SpoolTest, AKilledProcessHoldsNothing) {
  const FileStamp stamp = File("f", Gzip("abc"));
  const pid_t child = ::fork();
  if (child == 0) {
    auto spool = Spool::Create(folder_.Path("spool"));
    const auto file = (*spool)->Get(stamp);
    ::_exit(file.ok() ? 0 : 1);  // Without any destructor.
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(Copies(), 1);
  NewSpool();
  EXPECT_EQ(Copies(), 0);
}

TEST_F(SpoolTest, AFolderOfSomebodyElseIsNotUsed) {
  std::filesystem::create_directory(folder_.Path("spool"));
  std::filesystem::create_directory(folder_.Path("elsewhere"));
  std::filesystem::create_directory_symlink(
      folder_.Path("elsewhere"),
      folder_.Path(absl::StrCat("spool/seraph-spool-", ::geteuid())));
  EXPECT_THAT(Spool::Create(folder_.Path("spool")),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST_F(SpoolTest, AFolderThatCannotBeMadeIsNamed) {
  folder_.Write("file", "x");
  EXPECT_FALSE(Spool::Create(folder_.Path("file/below")).ok());
}

}  // namespace
}  // namespace seraph
