#include "client/rpc/job_lookup.h"

#include <string>
#include <vector>

#include "client/rpc/fake_scheduler_client.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::FakeSchedulerClient;
using ::seraph::testing::IsOk;
using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;

JobView Job(const std::string& id, const std::string& name,
            JobState state = JobState::kRunning) {
  JobView job;
  job.id = id;
  job.name = name;
  job.state = state;
  return job;
}

class FindJobTest : public ::testing::Test {
 protected:
  FindJobTest() {
    client_.jobs = {Job("abc1", "lr"), Job("abd2", "lr"), Job("x", "svm"),
                    Job("xyz", "abc1")};
  }
  FakeSchedulerClient client_;
};

TEST_F(FindJobTest, ByIdByItsBeginningAndByName) {
  EXPECT_THAT(FindJobId(&client_, "abc1"), IsOkAndHolds(Eq("abc1")))
      << "an id comes before a name";
  EXPECT_THAT(FindJobId(&client_, "x"), IsOkAndHolds(Eq("x")))
      << "an id comes before the beginning of another";
  EXPECT_THAT(FindJobId(&client_, "abd"), IsOkAndHolds(Eq("abd2")));
  EXPECT_THAT(FindJobId(&client_, "svm"), IsOkAndHolds(Eq("x")));
  const absl::StatusOr<JobView> job = FindJob(&client_, "svm");
  ASSERT_THAT(job, IsOk());
  EXPECT_EQ(job->name, "svm");
}

TEST_F(FindJobTest, NamesTheCandidates) {
  EXPECT_THAT(FindJobId(&client_, "ab"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("2 jobs: abc1 (lr), abd2 (lr)")));
  EXPECT_THAT(FindJobId(&client_, "lr"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(FindJobTest, SaysThatThereIsNone) {
  EXPECT_THAT(FindJobId(&client_, "none"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("'none'"), HasSubstr("fake:7400"))));
  EXPECT_THAT(FindJobId(&client_, ""),
              StatusIs(absl::StatusCode::kInvalidArgument));
  client_.failure = absl::UnavailableError("gone");
  EXPECT_THAT(FindJobId(&client_, "x"),
              StatusIs(absl::StatusCode::kUnavailable));
}

class WatchUntilEndTest : public ::testing::Test {
 protected:
  absl::StatusOr<JobView> Watch(absl::Duration patience) {
    return WatchUntilEnd(
        &client_, "x", patience, interrupt_,
        [&](const JobView& job) { seen_.push_back(job.phase); });
  }

  static JobView At(const std::string& phase,
                    JobState state = JobState::kRunning) {
    JobView job = Job("x", "svm", state);
    job.phase = phase;
    return job;
  }

  FakeSchedulerClient client_;
  Interrupt interrupt_;
  std::vector<std::string> seen_;
};

TEST_F(WatchUntilEndTest, ReturnsTheLastStatus) {
  client_.watches = {
      {{At("scanning"), At("training"), At("", JobState::kFailed)},
       absl::OkStatus()}};
  const absl::StatusOr<JobView> job = Watch(absl::ZeroDuration());
  ASSERT_THAT(job, IsOk());
  EXPECT_EQ(job->state, JobState::kFailed);
  EXPECT_THAT(seen_, ElementsAre("scanning", "training", ""));
}

TEST_F(WatchUntilEndTest, GoesOnAfterABrokenConnection) {
  client_.watches = {{{At("scanning")}, absl::UnavailableError("broken")},
                     {{}, absl::UnavailableError("not yet")},
                     {{At("", JobState::kSucceeded)}, absl::OkStatus()}};
  const absl::StatusOr<JobView> job = Watch(absl::InfiniteDuration());
  ASSERT_THAT(job, IsOk());
  EXPECT_EQ(job->state, JobState::kSucceeded);
}

TEST_F(WatchUntilEndTest, TheEndCountsThoughTheStreamBreaksAfterIt) {
  client_.watches = {
      {{At("", JobState::kSucceeded)}, absl::UnavailableError("broken")}};
  EXPECT_THAT(Watch(absl::ZeroDuration()), IsOk());
}

TEST_F(WatchUntilEndTest, HasNoPatienceForEver) {
  client_.watches = {{{At("scanning")}, absl::UnavailableError("broken")}};
  EXPECT_THAT(Watch(absl::ZeroDuration()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("broken")));
  client_.watches = {{{At("scanning")}, absl::OkStatus()}};
  EXPECT_THAT(Watch(absl::ZeroDuration()),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("says nothing more of job x")));
}

TEST_F(WatchUntilEndTest, OtherErrorsAndTheUserEndIt) {
  client_.watches = {{{}, absl::NotFoundError("none")}};
  EXPECT_THAT(Watch(absl::InfiniteDuration()),
              StatusIs(absl::StatusCode::kNotFound));
  client_.watches = {
      {{}, absl::UnavailableError("broken"), [&] { interrupt_.Trigger(); }}};
  EXPECT_THAT(Watch(absl::InfiniteDuration()),
              StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace seraph
