#include "scheduler/io/job_log.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::TempFolder;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kTime = absl::FromUnixMicros(1714567890123456);

TEST(JobLogTest, LinesAreReadOnceAndInOrder) {
  JobLog log("");
  log.Append("a", {kTime, "one"});
  log.Append("b", {kTime, "other"});
  log.Append("a", {kTime, "two"});
  JobLog::Lines lines = log.Read("a", 0, 1);
  ASSERT_THAT(lines.events, SizeIs(1));
  EXPECT_EQ(lines.events[0].text, "one");
  lines = log.Read("a", lines.next, 10);
  ASSERT_THAT(lines.events, SizeIs(1));
  EXPECT_EQ(lines.events[0].text, "two");
  EXPECT_EQ(lines.events[0].time, kTime);
  lines = log.Read("a", lines.next, 10);
  EXPECT_THAT(lines.events, IsEmpty());
  log.Append("a", {kTime, "three"});
  EXPECT_THAT(log.Read("a", lines.next, 10).events, SizeIs(1));
}

TEST(JobLogTest, MemoryIsBoundedAndNumbersGoOn) {
  JobLog log("");
  for (size_t i = 0; i < JobLog::kMaxLines + 10; ++i) {
    log.Append("a", {kTime, absl::StrCat(i)});
  }
  const JobLog::Lines lines = log.Read("a", 3, 1000000);
  ASSERT_THAT(lines.events, SizeIs(JobLog::kMaxLines));
  EXPECT_EQ(lines.events[0].text, "10");
  EXPECT_EQ(lines.next, JobLog::kMaxLines + 10);
  EXPECT_EQ(log.Read("a", lines.next - 1, 5).events[0].text,
            absl::StrCat(JobLog::kMaxLines + 9));
}

TEST(JobLogTest, FilesKeepEverything) {
  const TempFolder folder;
  JobLog log(folder.path());
  log.Append("a", {kTime, "one"});
  log.Append("a", {kTime, "two"});
  log.Forget("a");
  EXPECT_THAT(log.Read("a", 0, 10).events, IsEmpty());
  EXPECT_EQ(folder.Read("a.log"),
            "2024-05-01T12:51:30.123456Z one\n"
            "2024-05-01T12:51:30.123456Z two\n");
}

TEST(JobLogTest, ASchedulerThatStartsAgainGoesOnWithTheLastLines) {
  const TempFolder folder;
  {
    JobLog log(folder.path());
    for (size_t i = 0; i < JobLog::kMaxLines + 10; ++i) {
      log.Append("a", {kTime, absl::StrCat("line ", i)});
    }
  }
  JobLog log(folder.path());
  log.Restore("a");
  log.Restore("unknown");
  log.Append("a", {kTime, "new"});
  const JobLog::Lines lines = log.Read("a", 0, 1000000);
  ASSERT_THAT(lines.events, SizeIs(JobLog::kMaxLines));
  EXPECT_EQ(lines.events[0].text, "line 11");
  EXPECT_EQ(lines.events[0].time, kTime);
  EXPECT_EQ(lines.events.back().text, "new");
  EXPECT_EQ(lines.next, JobLog::kMaxLines + 11);
}

TEST(JobLogTest, AFolderThatIsGoneCostsTheFilesAlone) {
  JobLog log("/proc/none");
  log.Append("a", {kTime, "one"});
  EXPECT_THAT(log.Read("a", 0, 10).events, SizeIs(1));
  EXPECT_THAT(log.Read("unknown", 0, 10).events, IsEmpty());
}

}  // namespace
}  // namespace seraph
