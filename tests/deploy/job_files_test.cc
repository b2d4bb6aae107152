#include <filesystem>
#include <string>

#include "common/config/config_file.h"
#include "common/job/job_spec.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(JobFilesTest, EachIsGoodAndSurvivesBeingWrittenAnew) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("deploy/jobs")) {
    const std::string path = entry.path().string();
    const auto text = ReadConfigFile(path);
    ASSERT_THAT(text, testing::IsOk());
    const auto job = ParseJobSpec(*text, path, {});
    ASSERT_THAT(job, testing::IsOk());
    EXPECT_EQ(job->name, entry.path().stem()) << path;
    const auto back = ParseJobSpec(ToYaml(*job), "canonical", {});
    ASSERT_THAT(back, testing::IsOk());
    EXPECT_TRUE(*back == *job) << path;
    ++files;
  }
  EXPECT_GE(files, 5);
}

}  // namespace
}  // namespace seraph
