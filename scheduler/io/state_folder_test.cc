#include "scheduler/io/state_folder.h"

#include <filesystem>
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
using ::testing::HasSubstr;

TEST(StateFolderTest, SpooledFilesDoNotOutliveTheScheduler) {
  const TempFolder folder;
  folder.Write("state/spool/scores-1", "of an earlier start");
  {
    const auto state = StateFolder::Open(folder.Path("state"));
    ASSERT_THAT(state, IsOk());
    EXPECT_TRUE(std::filesystem::is_empty((*state)->spool()));
    folder.Write("state/jobs/a.log", "kept");
    folder.Write("state/spool/scores-2", "of this start");
  }
  EXPECT_EQ(folder.Read("state/jobs/a.log"), "kept");
  EXPECT_FALSE(std::filesystem::exists(folder.Path("state/spool")));
}

TEST(StateFolderTest, WithoutAFolderThereIsATemporaryOne) {
  std::string spool;
  {
    const auto state = StateFolder::Open("");
    ASSERT_THAT(state, IsOk());
    spool = (*state)->spool();
    EXPECT_TRUE(std::filesystem::is_directory(spool));
    EXPECT_EQ((*state)->jobs(), "");
  }
  EXPECT_FALSE(std::filesystem::exists(spool));
  EXPECT_FALSE(
      std::filesystem::exists(std::filesystem::path(spool).parent_path()));
}

TEST(StateFolderTest, ASecondSchedulerIsRefusedAndHarmsNothing) {
  const TempFolder folder;
  auto first = StateFolder::Open(folder.Path("state"));
  ASSERT_THAT(first, IsOk());
  folder.Write("state/spool/scores-1", "of the first");
  EXPECT_THAT(StateFolder::Open(folder.Path("state")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("another scheduler"),
                             HasSubstr(folder.Path("state")))));
  EXPECT_EQ(folder.Read("state/spool/scores-1"), "of the first");
  first->reset();
  EXPECT_THAT(StateFolder::Open(folder.Path("state")), IsOk());
}

TEST(DefaultStateDirectoryTest, IsOfTheUserTheClusterAndThePort) {
  EXPECT_EQ(DefaultStateDirectory("seraph", 7400, "/x", "/home/u"),
            "/x/seraph/seraph-7400");
  EXPECT_EQ(DefaultStateDirectory("a/b c", 1, "", "/home/u"),
            "/home/u/.local/state/seraph/a_b_c-1");
  EXPECT_EQ(DefaultStateDirectory("c", 1, "relative", "/home/u"),
            "/home/u/.local/state/seraph/c-1");
  EXPECT_EQ(DefaultStateDirectory("c", 0, "/x", "/home/u"), "");
  EXPECT_EQ(DefaultStateDirectory("c", 1, "", ""), "");
}

TEST(StateFolderTest, NamesKeyAndFolder) {
  const TempFolder folder;
  folder.Write("file", "");
  EXPECT_THAT(StateFolder::Open(folder.Path("file/state")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("scheduler.state_directory"),
                             HasSubstr(folder.Path("file/state")))));
}

}  // namespace
}  // namespace seraph
