#include "client/job/job_file.h"

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
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
using ::testing::MatchesRegex;

constexpr char kJob[] =
    "name: small\n"
    "model: {kind: logistic_regression}\n"
    "data:\n"
    "  format: libsvm\n"
    "  train:\n"
    "  - a.svm\n"
    "  - b.svm\n"
    "output: {directory: out}\n";

class JobFileTest : public ::testing::Test {
 protected:
  // Loads the job with `sets`, in a folder that has a.svm and b.svm.
  JobFile Load(const std::vector<std::string>& sets = {}) {
    folder_.Write("jobs/a.svm", "1 1:1\n");
    folder_.Write("jobs/b.svm", "0 1:1\n");
    absl::StatusOr<JobFile> job =
        LoadJobFile(folder_.Write("jobs/job.yaml", kJob), sets);
    EXPECT_THAT(job, IsOk());
    return *std::move(job);
  }

  const TempFolder folder_;
};

TEST_F(JobFileTest, KnowsItsFolderAndItsOverrides) {
  const JobFile job = Load({"train.epochs=3"});
  EXPECT_EQ(job.base_directory, folder_.Path("jobs"));
  EXPECT_EQ(job.parsed.spec.train.epochs, 3);
  EXPECT_THAT(CheckFilesOf(job), IsOk());

  const JobSubmission submission = SubmissionOf(job, "s1");
  EXPECT_EQ(submission.base_directory, job.base_directory);
  EXPECT_EQ(submission.file_name, job.path);
  EXPECT_EQ(submission.submission_id, "s1");
  const absl::StatusOr<JobSpec> read = ParseJobSpec(submission.yaml, "x", {});
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, job.parsed.spec);
}

TEST_F(JobFileTest, ARelativePathHasAnAbsoluteFolder) {
  Load();
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  const absl::StatusOr<JobFile> job = LoadJobFile("jobs/../jobs/job.yaml", {});
  std::filesystem::current_path(before);
  ASSERT_THAT(job, IsOk());
  EXPECT_EQ(job->base_directory, folder_.Path("jobs"));
}

TEST_F(JobFileTest, NamesEachMissingFileWithItsPlace) {
  const JobFile job = Load({"data.validation=[none.svm]"});
  std::filesystem::remove(folder_.Path("jobs/b.svm"));
  const absl::Status status = CheckFilesOf(job);
  EXPECT_THAT(
      status,
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(HasSubstr(absl::StrCat(job.path, ":7:5: data.train[1]: ")),
                HasSubstr(folder_.Path("jobs/b.svm")),
                HasSubstr("--set data.validation"),
                HasSubstr("data.validation[0]: "), HasSubstr("none.svm"))));
  EXPECT_THAT(std::string(status.message()), MatchesRegex("[^\n]+\n[^\n]+"))
      << "one line each";
}

TEST_F(JobFileTest, AnOutputFolderThatCannotBeIsFoundBeforeTheTraining) {
  folder_.Write("jobs/file", "");
  EXPECT_THAT(
      CheckFilesOf(Load({"output.directory=file/out"})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is no folder")));
  EXPECT_THAT(CheckFilesOf(Load({"output.directory=new/deep/out"})), IsOk());
}

TEST_F(JobFileTest, AModelToStartFromMustBeOne) {
  folder_.Write("jobs/model", "no model");
  EXPECT_THAT(CheckFilesOf(Load({"init.model=model"})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--set init.model: init.model: ")));
}

TEST_F(JobFileTest, ACheckpointToStartFromMustBeOne) {
  folder_.Write("jobs/ckpt/g1-c4.checkpoint", "not one");
  for (const std::string path : {"ckpt", "ckpt/g1-c4.checkpoint"}) {
    EXPECT_THAT(CheckFilesOf(Load({absl::StrCat("init.model=", path)})),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("--set init.model: init.model: "),
                               HasSubstr("g1-c4.checkpoint"))))
        << path;
  }
}

TEST_F(JobFileTest, AJobFileThatIsNotThere) {
  EXPECT_THAT(LoadJobFile(folder_.Path("none.yaml"), {}),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr(folder_.Path("none.yaml"))));
}

}  // namespace
}  // namespace seraph
