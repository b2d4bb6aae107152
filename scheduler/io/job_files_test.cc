#include "scheduler/io/job_files.h"

#include <sys/stat.h>
#include <unistd.h>

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
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

class JobFilesTest : public ::testing::Test {
 protected:
  JobFilesTest() {
    request_.base_directory = folder_.path();
    request_.spec.data.train = {"data"};
  }

  const TempFolder folder_;
  JobRequest request_;
};

TEST_F(JobFilesTest, FindsTheFilesAndSaysWhichCanBeCut) {
  folder_.Write("data/b", "1 1:1\n");
  folder_.Write("data/a.gz", "\x1f\x8b compressed");
  request_.spec.data.validation = {"validation"};
  folder_.Write("validation", "0 1:1\n");
  const auto files = ResolveInputs(request_);
  ASSERT_THAT(files, IsOk());
  ASSERT_THAT(files->train, SizeIs(2));
  EXPECT_EQ(files->train[0].file.data.path, folder_.Path("data/a.gz"));
  EXPECT_FALSE(files->train[0].splittable);
  EXPECT_TRUE(files->train[1].splittable);
  EXPECT_EQ(files->train[1].file.data.size_bytes, 6u);
  EXPECT_THAT(files->validation, SizeIs(1));
  EXPECT_THAT(CheckInputs(request_), IsOk());
}

TEST_F(JobFilesTest, NamesEveryMissingFileWithItsKey) {
  request_.spec.data.validation = {"nowhere"};
  request_.spec.init_model = "before/model";
  const absl::Status status = CheckInputs(request_);
  EXPECT_THAT(status, StatusIs(kInvalid,
                               AllOf(HasSubstr("data.train: "),
                                     HasSubstr(folder_.Path("data")),
                                     HasSubstr("\ndata.validation: "),
                                     HasSubstr("\ninit.model: "),
                                     HasSubstr(folder_.Path("before/model")))));
  EXPECT_THAT(ResolveInputs(request_), StatusIs(kInvalid));
}

TEST_F(JobFilesTest, RefusesWhatItCannotRead) {
  folder_.Write("data", "BZh91AY&SY compressed by bzip2");
  EXPECT_THAT(CheckInputs(request_),
              StatusIs(kInvalid, HasSubstr(folder_.Path("data"))));
}

TEST_F(JobFilesTest, ProvesTheOutputFolderAndLeavesNothingInIt) {
  request_.spec.output_directory = "some/where/out";
  EXPECT_THAT(ProveOutput(request_, "id"), IsOk());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.Path("some/where/out")));
  folder_.Write("some/where/out/model", "of an earlier job");
  EXPECT_THAT(ProveOutput(request_, "id"), IsOk());
  EXPECT_EQ(folder_.Read("some/where/out/model"), "of an earlier job");
}

TEST_F(JobFilesTest, AnOutputFolderThatCannotBeIsNamed) {
  folder_.Write("file", "");
  request_.spec.output_directory = "file/out";
  EXPECT_THAT(ProveOutput(request_, "id"),
              StatusIs(kPrecondition, AllOf(HasSubstr("output.directory"),
                                            HasSubstr("file/out"))));
  request_.spec.output_directory = "/proc/seraph";
  EXPECT_THAT(ProveOutput(request_, "id"), StatusIs(kPrecondition));
}

TEST_F(JobFilesTest, AFolderInTheModelsPlaceIsNamedBeforeAnyTraining) {
  std::filesystem::create_directories(folder_.Path("out/model"));
  EXPECT_THAT(ProveOutput(request_, "id"),
              StatusIs(kPrecondition, HasSubstr("out/model")));
}

TEST_F(JobFilesTest, AFolderWithoutPermissionIsNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::create_directories(folder_.Path("out"));
  ASSERT_EQ(::chmod(folder_.Path("out").c_str(), 0555), 0);
  EXPECT_THAT(ProveOutput(request_, "id"),
              StatusIs(kPrecondition, HasSubstr("ermission denied")));
}

}  // namespace
}  // namespace seraph
