// A scheduler that goes on from what another one has stored.
#include <string>
#include <variant>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/core/fake_cluster.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SchedulerRestartTest : public ::testing::Test {
 protected:
  static SchedulerOptions Options() {
    SchedulerOptions options;
    options.keeps_state = true;
    return options;
  }

  SchedulerRestartTest() : cluster_(Options()) {
    cluster_.AddServers(2);
    cluster_.AddWorkers(2);
    spec_ = SmallJob();
    spec_.ranks = 2;
    spec_.train.epochs = 3;
    spec_.checkpoint = CheckpointSpec{.directory = "ckpt"};
  }

  FakeCluster cluster_;
  JobSpec spec_;
};

TEST_F(SchedulerRestartTest, TrainingGoesOnAndNothingIsDropped) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  const JobView before = cluster_.View(job);
  cluster_.carried_out.clear();
  cluster_.Handle(SchedulerStops{});
  cluster_.RestartScheduler();
  cluster_.Pass(absl::Seconds(20));
  const JobView after = cluster_.View(job);
  EXPECT_EQ(after.phase, JobPhase::kTraining);
  EXPECT_EQ(after.epochs, before.epochs);
  EXPECT_EQ(after.recoveries, 0u);
  EXPECT_EQ(after.submitted, before.submitted);
  EXPECT_EQ(after.checkpoint->path, before.checkpoint->path);
  EXPECT_THAT(cluster_.CarriedOut<StopJob>(), IsEmpty());
  EXPECT_THAT(cluster_.CarriedOut<DropJob>(), IsEmpty());
  EXPECT_THAT(cluster_.CarriedOut<AssignPartitions>(), IsEmpty());
  for (const Order& order : cluster_.CarriedOut<RunRanks>()) {
    for (const RankRef& rank : std::get<RunRanks>(order.body).ranks) {
      EXPECT_EQ(rank.attempt, 1u) << "a repeat of the order, no new attempt";
    }
  }
  cluster_.TrainEpoch(job, 1);
  cluster_.TrainEpoch(job, 2);
  cluster_.EndRanks(job);
  cluster_.Pass(absl::Seconds(1));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kSucceeded);
  EXPECT_THAT(cluster_.View(job).epochs, SizeIs(3));
  EXPECT_TRUE(cluster_.HoldsNothing(job));
}

// Its answer was lost with the scheduler: whoever asks again gets the same.
TEST_F(SchedulerRestartTest, ADecisionIsMadeOnce) {
  cluster_.files.validation = cluster_.files.train;
  spec_.data.validation = {"validation"};
  spec_.train.stop = StopSpec{"log_loss", 1};
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0, true, 0.5, 0.5);
  cluster_.TrainEpoch(job, 1, true, 0.5, 0.6);
  cluster_.RestartScheduler();
  ASSERT_THAT(cluster_.ShareEpoch(job, 0, 0), IsOk());
  EXPECT_FALSE(cluster_.epoch_answers[cluster_.waiters.back()].stop);
  ASSERT_THAT(cluster_.ShareEpoch(job, 0, 1), IsOk());
  EXPECT_TRUE(cluster_.epoch_answers[cluster_.waiters.back()].stop);
}

TEST_F(SchedulerRestartTest, ACutThatWasUnderWayIsVoid) {
  cluster_.Hold<WriteCut>();
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  cluster_.carried_out.clear();
  cluster_.RestartScheduler();
  cluster_.Pass(absl::Seconds(1));
  const auto drops = cluster_.CarriedOut<DropCut>();
  ASSERT_THAT(drops, SizeIs(2));
  EXPECT_EQ(std::get<DropCut>(drops[0].body).cut, 1u);
  cluster_.LetGo<WriteCut>();
  cluster_.TrainEpoch(job, 1);
  ASSERT_THAT(cluster_.checkpoints, SizeIs(1));
  EXPECT_THAT(cluster_.checkpoints.begin()->first, HasSubstr("g1-c2"));
}

TEST_F(SchedulerRestartTest, GoingBackGoesOn) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  cluster_.Hold<DropJob>();
  cluster_.Restart("s1");
  ASSERT_EQ(cluster_.PhaseOf(job), JobPhase::kRecovering);
  cluster_.RestartScheduler();
  cluster_.Pass(absl::Seconds(1));
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kRecovering)
      << "the other server has not confirmed";
  cluster_.LetGo<DropJob>();
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kTraining);
  EXPECT_THAT(cluster_.View(job).epochs, SizeIs(1));
  EXPECT_GT(cluster_.LifeOf(job, 0).rank.attempt, 1u);
}

TEST_F(SchedulerRestartTest, EndedAndPausedJobsAreRemembered) {
  const std::string ended = cluster_.Submit(spec_, "mine");
  cluster_.Cancel(ended);
  const std::string paused = cluster_.Submit(spec_);
  cluster_.TrainEpoch(paused, 0);
  cluster_.Pause(paused);
  spec_.ranks = 1000;
  const std::string pending = cluster_.Submit(spec_);
  cluster_.RestartScheduler();
  cluster_.Pass(absl::Seconds(1));
  EXPECT_EQ(cluster_.StateOf(ended), JobState::kCancelled);
  EXPECT_EQ(cluster_.StateOf(paused), JobState::kPaused);
  EXPECT_EQ(cluster_.StateOf(pending), JobState::kPending);
  ASSERT_THAT(cluster_.core().Jobs(), SizeIs(3));
  EXPECT_EQ(cluster_.core().Jobs()[0].id, pending) << "newest first";
  EXPECT_TRUE(cluster_.core().IsFreed(ended));
  ASSERT_THAT(cluster_.Resume(paused), IsOk());
  EXPECT_EQ(cluster_.PhaseOf(paused), JobPhase::kTraining);
  EXPECT_THAT(cluster_.View(paused).epochs, SizeIs(1));
}

// What nodes still held of a job that had ended is freed all the same.
TEST_F(SchedulerRestartTest, AnEndIsCarriedOutToTheEnd) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.Hold<StopJob>();
  cluster_.Hold<DropJob>();
  cluster_.Cancel(job);
  EXPECT_FALSE(cluster_.HoldsNothing(job));
  cluster_.RestartScheduler();
  cluster_.Pass(absl::Seconds(1));
  cluster_.LetGo<StopJob>();
  cluster_.LetGo<DropJob>();
  EXPECT_TRUE(cluster_.HoldsNothing(job));
}

TEST_F(SchedulerRestartTest, NothingIsStoredWithoutAChange) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  cluster_.Pass(absl::Seconds(1));
  const int before = cluster_.stored_times;
  cluster_.Pass(absl::Seconds(10));
  EXPECT_EQ(cluster_.stored_times, before);
}

}  // namespace
}  // namespace seraph
