// The end of an epoch: shares, repeats, decisions, early stop.
#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/core/fake_cluster.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kStale = absl::StatusCode::kFailedPrecondition;

class JobEpochsTest : public ::testing::Test {
 protected:
  JobEpochsTest() {
    cluster_.AddServers(1);
    cluster_.AddWorkers(2);
    cluster_.files.validation = cluster_.files.train;
    spec_ = SmallJob();
    spec_.ranks = 2;
    spec_.train.epochs = 20;
    spec_.data.validation = {"validation"};
  }

  const AnswerEpoch* AnswerTo(size_t waiter) {
    const auto it = cluster_.epoch_answers.find(waiter);
    return it == cluster_.epoch_answers.end() ? nullptr : &it->second;
  }

  FakeCluster cluster_;
  JobSpec spec_;
};

// The rank's stream broke before the answer: it sends its share again.
TEST_F(JobEpochsTest, ARepeatedShareIsTakenOnce) {
  const std::string job = cluster_.Submit(spec_);
  ASSERT_THAT(cluster_.ShareEpoch(job, 0, 0, 0.2), IsOk());
  ASSERT_THAT(cluster_.ShareEpoch(job, 0, 0, 0.2), IsOk());
  ASSERT_NE(AnswerTo(1), nullptr) << "nobody waits on the broken stream";
  EXPECT_FALSE(AnswerTo(1)->status.ok());
  EXPECT_EQ(AnswerTo(2), nullptr) << "rank 1 is missing";
  EXPECT_THAT(cluster_.spool_files, SizeIs(1));

  cluster_.TrainEpoch(job, 0, /*meet=*/false);
  ASSERT_THAT(cluster_.ShareEpoch(job, 1, 0, 0.4), IsOk());
  ASSERT_NE(AnswerTo(2), nullptr);
  EXPECT_THAT(AnswerTo(2)->status, IsOk());
  ASSERT_THAT(cluster_.View(job).epochs, SizeIs(1));
  EXPECT_EQ(cluster_.View(job).epochs[0].validation[0].second,
            (8 * 0.2 + 8 * 0.4) / 16);
}

TEST_F(JobEpochsTest, WhoeverAsksAgainGetsTheSameDecision) {
  spec_.train.epochs = 2;
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  cluster_.TrainEpoch(job, 1);
  ASSERT_THAT(cluster_.ShareEpoch(job, 0, 1), IsOk());
  ASSERT_NE(AnswerTo(5), nullptr) << "at once";
  EXPECT_TRUE(AnswerTo(5)->stop);
  ASSERT_THAT(cluster_.ShareEpoch(job, 0, 0), IsOk());
  ASSERT_NE(AnswerTo(6), nullptr);
  EXPECT_FALSE(AnswerTo(6)->stop);
  EXPECT_THAT(cluster_.spool_files, IsEmpty());
}

TEST_F(JobEpochsTest, ARepeatWhileTheScoresAreMergedWaitsForTheSameMerge) {
  cluster_.Hold<MergeScores>();
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  ASSERT_EQ(cluster_.HeldOf<MergeScores>(), 1);
  ASSERT_THAT(cluster_.ShareEpoch(job, 1, 0), IsOk());
  EXPECT_EQ(cluster_.HeldOf<MergeScores>(), 1);
  cluster_.LetGo<MergeScores>();
  ASSERT_NE(AnswerTo(1), nullptr);
  EXPECT_THAT(AnswerTo(1)->status, IsOk());
  ASSERT_NE(AnswerTo(3), nullptr);
  EXPECT_THAT(AnswerTo(3)->status, IsOk());
}

TEST_F(JobEpochsTest, RefusesSharesThatCannotBe) {
  const std::string job = cluster_.Submit(spec_);
  EXPECT_THAT(cluster_.ShareEpoch(job, 0, 1), StatusIs(kStale))
      << "epoch 0 has not ended";
  EpochShared event;
  event.job = {job, 2};
  event.share.rank = {0, 1};
  EXPECT_THAT(cluster_.Handle(event).status, StatusIs(kStale));
  event.job = {job, 1};
  event.share.rank = {0, 2};
  EXPECT_THAT(cluster_.Handle(event).status, StatusIs(kStale));
  event.share.rank = {2, 1};
  EXPECT_THAT(cluster_.Handle(event).status, StatusIs(kStale));
  event.share.rank = {0, 1};
  EXPECT_THAT(cluster_.Handle(event).status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no validation sums")));
  event.share.sums = {std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THAT(cluster_.Handle(event).status,
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);

  cluster_.Cancel(job);
  EXPECT_THAT(cluster_.ShareEpoch(job, 0, 0), StatusIs(kStale))
      << "nobody would answer it";
  EXPECT_THAT(cluster_.spool_files, IsEmpty());
}

// r0 is at the end of its epoch while r1 has not come that far: nothing may be
// decided, whatever else happens.
TEST_F(JobEpochsTest, TheDecisionWaitsForEveryRank) {
  const std::string job = cluster_.Submit(spec_);
  ASSERT_THAT(cluster_.ShareEpoch(job, 0, 0), IsOk());
  cluster_.Pass(absl::Seconds(30));
  EXPECT_EQ(AnswerTo(1), nullptr);
  EXPECT_THAT(cluster_.View(job).epochs, IsEmpty());
}

TEST_F(JobEpochsTest, StopsWhenTheValidationGetsNoBetter) {
  spec_.train.stop = StopSpec{"log_loss", 2};
  const std::string job = cluster_.Submit(spec_);
  const std::vector<double> losses = {0.5, 0.4, 0.4, 0.39, 0.41, 0.39};
  for (uint32_t epoch = 0; epoch < losses.size(); ++epoch) {
    cluster_.TrainEpoch(job, epoch, true, 0.5, losses[epoch]);
    const AnswerEpoch* answer = AnswerTo(2 * epoch + 2);
    ASSERT_NE(answer, nullptr);
    EXPECT_EQ(answer->stop, epoch == 5) << "epoch " << epoch;
  }
  EXPECT_THAT(cluster_.ShareEpoch(job, 0, 6), StatusIs(kStale));
  cluster_.EndRanks(job);
  EXPECT_EQ(cluster_.StateOf(job), JobState::kSucceeded);
  EXPECT_THAT(cluster_.View(job).epochs, SizeIs(6));
  EXPECT_THAT(cluster_.logs[job], Contains(HasSubstr("stopped after epoch 6")));
}

TEST_F(JobEpochsTest, KnowsWhichMetricsAreBetterWhenLarger) {
  spec_.train.stop = StopSpec{"auc", 1};
  const std::string job = cluster_.Submit(spec_);
  cluster_.auc = 0.7;
  cluster_.TrainEpoch(job, 0);
  cluster_.auc = 0.8;
  cluster_.TrainEpoch(job, 1);
  EXPECT_FALSE(AnswerTo(4)->stop);
  cluster_.auc = 0.79;
  cluster_.TrainEpoch(job, 2);
  EXPECT_TRUE(AnswerTo(6)->stop);
}

TEST_F(JobEpochsTest, AStopMetricWithoutAValueFailsTheJob) {
  spec_.train.stop = StopSpec{"auc", 1};
  cluster_.auc.reset();
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  EXPECT_EQ(cluster_.StateOf(job), JobState::kFailed);
  EXPECT_THAT(cluster_.View(job).error, HasSubstr("train.stop.metric auc"));
}

// Ranks that end without having waited for the decision do not start a second
// export when it comes.
TEST_F(JobEpochsTest, ADecisionAfterTheRanksHaveEndedChangesNothing) {
  cluster_.Hold<MergeScores>();
  cluster_.Hold<ExportModel>();
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  cluster_.EndRanks(job);
  ASSERT_EQ(cluster_.PhaseOf(job), JobPhase::kExporting);
  cluster_.LetGo<MergeScores>();
  EXPECT_EQ(cluster_.HeldOf<ExportModel>(), 1);
  cluster_.LetGo<ExportModel>();
  EXPECT_EQ(cluster_.StateOf(job), JobState::kSucceeded);
  EXPECT_TRUE(cluster_.HoldsNothing(job));
}

TEST_F(JobEpochsTest, TheLedgerIsAskedForWhatIsNew) {
  const std::string job = cluster_.Submit(spec_);
  for (uint32_t epoch = 0; epoch < 3; ++epoch) cluster_.TrainEpoch(job, epoch);
  cluster_.Pass(absl::Seconds(1));
  for (auto order = cluster_.carried_out.rbegin();; ++order) {
    ASSERT_NE(order, cluster_.carried_out.rend());
    if (const auto* read = std::get_if<ReadLedger>(&order->body)) {
      EXPECT_EQ(read->from_epoch, 3u);
      break;
    }
  }
}

TEST_F(JobEpochsTest, TheEpochsTimeIsThatOfTheSlowestRank) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0, /*meet=*/false);
  for (uint32_t rank : {0, 1}) {
    EpochShared event;
    event.job = {job, 1};
    event.share.rank = {rank, 1};
    event.share.sums = {1};
    event.share.train_seconds = rank == 0 ? 3.5 : 1.25;
    event.waiter = rank + 1;
    ASSERT_THAT(cluster_.Handle(event).status, IsOk());
  }
  cluster_.Run();
  ASSERT_THAT(cluster_.View(job).epochs, SizeIs(1));
  EXPECT_EQ(cluster_.View(job).epochs[0].seconds, absl::Seconds(3.5));
}

}  // namespace
}  // namespace seraph
