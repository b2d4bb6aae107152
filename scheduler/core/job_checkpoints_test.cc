// When a job takes checkpoints, and what becomes of those that fail.
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/status/errors.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/core/fake_cluster.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class JobCheckpointsTest : public ::testing::Test {
 protected:
  JobCheckpointsTest() {
    cluster_.AddServers(2);
    cluster_.AddWorkers(1);
    spec_ = SmallJob();
    spec_.ranks = 2;
    spec_.train.epochs = 4;
    spec_.checkpoint = CheckpointSpec{.directory = "ckpt"};
  }

  bool RanksWereLetGo() const {
    return cluster_.epoch_answers.contains(cluster_.waiters.back());
  }

  FakeCluster cluster_;
  JobSpec spec_;
};

TEST_F(JobCheckpointsTest, TheCopyIsTakenBeforeRanksGoOnAndWrittenBeside) {
  cluster_.Hold<TakeCut>();
  cluster_.Hold<WriteCut>();
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  EXPECT_FALSE(RanksWereLetGo());
  EXPECT_EQ(cluster_.HeldOf<TakeCut>(), 2);
  for (const Order& order : cluster_.held()) {
    const auto& take = std::get<TakeCut>(order.body);
    EXPECT_EQ(take.cut, 1u);
    EXPECT_THAT(take.clocks, ElementsAre(Clock{1, 0}, Clock{1, 0}));
    EXPECT_THAT(take.partitions, Not(IsEmpty()));
  }
  cluster_.LetGo<TakeCut>();
  EXPECT_TRUE(RanksWereLetGo());
  EXPECT_EQ(cluster_.HeldOf<WriteCut>(), 2);
  EXPECT_THAT(cluster_.checkpoints, IsEmpty());
  cluster_.LetGo<WriteCut>();
  EXPECT_THAT(cluster_.checkpoints, SizeIs(1));
  const JobView view = cluster_.View(job);
  ASSERT_TRUE(view.checkpoint.has_value());
  EXPECT_EQ(view.checkpoint->path,
            absl::StrCat("/jobs/ckpt/", job, "/g1-c1.checkpoint"));
  EXPECT_EQ(view.checkpoint->epoch, 1u);
  EXPECT_GT(view.checkpoint->bytes, 0u);
  EXPECT_THAT(cluster_.CarriedOut<DropCut>(), SizeIs(2)) << "it is complete";
  EXPECT_THAT(cluster_.CarriedOut<PruneCheckpoints>(), SizeIs(1));
}

TEST_F(JobCheckpointsTest, TheManifestHasTheMetricsOfItsEpochs) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  cluster_.TrainEpoch(job, 1);
  const auto manifests = cluster_.CarriedOut<WriteManifest>();
  ASSERT_THAT(manifests, SizeIs(2));
  const auto& manifest = std::get<WriteManifest>(manifests[1].body);
  EXPECT_THAT(manifest.view.epochs, SizeIs(2));
  EXPECT_EQ(manifest.parts.size(), manifest.plan->partitions.size());
  EXPECT_THAT(manifest.clocks, ElementsAre(Clock{2, 0}, Clock{2, 0}));
}

TEST_F(JobCheckpointsTest, EveryOtherEpochAndTheLastIsFinishedBeforeTheEnd) {
  spec_.checkpoint->every_epochs = 2;
  const std::string job = cluster_.Submit(spec_);
  for (uint32_t epoch = 0; epoch < 3; ++epoch) cluster_.TrainEpoch(job, epoch);
  EXPECT_THAT(cluster_.checkpoints, SizeIs(1));
  cluster_.Hold<WriteCut>();
  cluster_.TrainEpoch(job, 3);
  cluster_.EndRanks(job);
  cluster_.Pass(absl::Seconds(1));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);
  cluster_.LetGo<WriteCut>();
  EXPECT_THAT(cluster_.checkpoints, SizeIs(2));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kSucceeded);
  EXPECT_TRUE(cluster_.HoldsNothing(job));
}

TEST_F(JobCheckpointsTest, InAspTheEndOfAnEpochHasWorkToDo) {
  spec_.sync.mode = SyncMode::kAsp;
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  EXPECT_TRUE(RanksWereLetGo());
  EXPECT_THAT(cluster_.checkpoints, SizeIs(1));
}

TEST_F(JobCheckpointsTest, AVoidCutHoldsNobodyUpAndIsTriedAgain) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.FailNext<TakeCut>(absl::AbortedError("the hold has ended"));
  cluster_.TrainEpoch(job, 0);
  EXPECT_TRUE(RanksWereLetGo());
  EXPECT_THAT(cluster_.checkpoints, IsEmpty());
  EXPECT_THAT(cluster_.CarriedOut<DropCut>(), Not(IsEmpty()));
  cluster_.Pass(absl::Seconds(4));
  ASSERT_THAT(cluster_.checkpoints, SizeIs(1));
  EXPECT_THAT(cluster_.checkpoints.begin()->first, HasSubstr("g1-c2"))
      << "numbers are never used again";
  EXPECT_THAT(cluster_.View(job).warnings, IsEmpty());
}

TEST_F(JobCheckpointsTest, CopiesOfDifferentClocksAreNoCut) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.Hold<TakeCut>();
  cluster_.TrainEpoch(job, 0);
  ASSERT_EQ(cluster_.HeldOf<TakeCut>(), 2);
  for (int i = 0; i < 2; ++i) {
    Reply reply;
    reply.order = cluster_.held()[i].id;
    reply.body = CutClocks{{Clock{1, 0}, Clock{1, uint32_t(i)}}};
    cluster_.Handle(OrderReplied{reply});
    cluster_.Run();
  }
  EXPECT_TRUE(RanksWereLetGo());
  EXPECT_THAT(cluster_.CarriedOut<WriteCut>(), IsEmpty());
}

TEST_F(JobCheckpointsTest, AFullDiskIsAWarningAndTheJobGoesOn) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.FailNext<WriteCut>(absl::ResourceExhaustedError(
      "cannot write /jobs/ckpt/x: No space left on device"));
  cluster_.TrainEpoch(job, 0);
  EXPECT_TRUE(RanksWereLetGo());
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);
  EXPECT_THAT(cluster_.View(job).warnings,
              ElementsAre(AllOf(HasSubstr("No space left"),
                                HasSubstr("/jobs/ckpt/x"))));
  cluster_.TrainEpoch(job, 1);
  EXPECT_THAT(cluster_.View(job).warnings, IsEmpty()) << "there is one again";
  const auto writes = cluster_.CarriedOut<WriteCut>();
  EXPECT_EQ(std::get<WriteCut>(writes.back().body).base, 0u)
      << "after a failure it is written whole";
}

TEST_F(JobCheckpointsTest, EveryTenthIsWrittenWhole) {
  spec_.train.epochs = 25;
  const std::string job = cluster_.Submit(spec_);
  for (uint32_t epoch = 0; epoch < 24; ++epoch) cluster_.TrainEpoch(job, epoch);
  std::vector<uint64_t> whole;
  for (const Order& order : cluster_.CarriedOut<WriteCut>()) {
    const auto& write = std::get<WriteCut>(order.body);
    if (write.base == 0 && (whole.empty() || whole.back() != write.cut)) {
      whole.push_back(write.cut);
    }
    EXPECT_EQ(write.base, write.cut % 10 == 1 ? 0 : write.cut - 1);
  }
  EXPECT_THAT(whole, ElementsAre(1, 11, 21));
}

TEST_F(JobCheckpointsTest, EverySoManyClocksWhereverTheRanksAre) {
  spec_.checkpoint->every_epochs = 0;
  spec_.checkpoint->every_clocks = 3;
  const std::string job = cluster_.Submit(spec_);
  cluster_.StandAt(job, 0, {0, 3});
  cluster_.StandAt(job, 1, {0, 2});
  cluster_.Pass(absl::Seconds(1));
  EXPECT_THAT(cluster_.checkpoints, IsEmpty());
  cluster_.StandAt(job, 1, {0, 3});
  cluster_.Pass(absl::Seconds(1));
  ASSERT_THAT(cluster_.checkpoints, SizeIs(1));
  const auto takes = cluster_.CarriedOut<TakeCut>();
  EXPECT_THAT(std::get<TakeCut>(takes.back().body).clocks,
              ElementsAre(Clock{0, 3}, Clock{0, 3}));
  cluster_.StandAt(job, 0, {0, 5});
  cluster_.StandAt(job, 1, {0, 5});
  cluster_.Pass(absl::Seconds(1));
  EXPECT_THAT(cluster_.checkpoints, SizeIs(1));
}

// bsp has one clock for all ranks; elsewhere each has its own.
TEST_F(JobCheckpointsTest, AnUnplannedCutIsAtTheHighestAnswers) {
  const std::string bsp = cluster_.Submit(spec_);
  cluster_.StandAt(bsp, 0, {0, 4});
  cluster_.StandAt(bsp, 1, {0, 3});
  const uint64_t first = cluster_.MakeCheckpoint(bsp);
  EXPECT_THAT(cluster_.answers[first], IsOk());
  auto takes = cluster_.CarriedOut<TakeCut>();
  EXPECT_THAT(std::get<TakeCut>(takes.back().body).clocks,
              ElementsAre(Clock{0, 4}, Clock{0, 4}));
  spec_.sync.mode = SyncMode::kAsp;
  const std::string asp = cluster_.Submit(spec_);
  cluster_.StandAt(asp, 0, {0, 4});
  cluster_.StandAt(asp, 1, {0, 3});
  EXPECT_THAT(cluster_.answers[cluster_.MakeCheckpoint(asp)], IsOk());
  takes = cluster_.CarriedOut<TakeCut>();
  EXPECT_THAT(std::get<TakeCut>(takes.back().body).clocks,
              ElementsAre(Clock{0, 4}, Clock{0, 3}));
}

TEST_F(JobCheckpointsTest, AServersDeathVoidsTheCutThatItsCopyBelongsTo) {
  spec_.tables.replicas = 2;
  const std::string job = cluster_.Submit(spec_);
  cluster_.Hold<WriteCut>();
  cluster_.TrainEpoch(job, 0);
  ASSERT_EQ(cluster_.HeldOf<WriteCut>(), 2);
  cluster_.Silence("s2");
  cluster_.Pass(absl::Seconds(6));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);
  cluster_.LetGo<WriteCut>();
  cluster_.Pass(absl::Seconds(6));
  ASSERT_THAT(cluster_.checkpoints, SizeIs(1));
  EXPECT_THAT(cluster_.checkpoints.begin()->first, Not(HasSubstr("g1-c1")));
  EXPECT_EQ(cluster_.GenerationOf(job), 1u);
  // Nor does its end wait for the dead.
  for (uint32_t epoch = 1; epoch < 4; ++epoch) cluster_.TrainEpoch(job, epoch);
  cluster_.EndRanks(job);
  cluster_.Pass(absl::Seconds(3));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kSucceeded);
  EXPECT_TRUE(cluster_.core().IsFreed(job));
}

TEST_F(JobCheckpointsTest, ACopysServerThatHasNothingElseOfTheJobDies) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.Hold<WriteCut>();
  cluster_.TrainEpoch(job, 0);
  ASSERT_EQ(cluster_.HeldOf<WriteCut>(), 2);
  ASSERT_THAT(cluster_.Handle(NodeDrained{"s2"}).status, IsOk());
  cluster_.Pass(absl::Seconds(2));
  ASSERT_TRUE(cluster_.core().IsDrained(cluster_.node("s2").incarnation));
  cluster_.Silence("s2");
  cluster_.Pass(absl::Seconds(6));
  cluster_.LetGo<WriteCut>();
  cluster_.Pass(absl::Seconds(6));
  ASSERT_THAT(cluster_.checkpoints, SizeIs(1)) << "it is made anew";
  EXPECT_THAT(cluster_.checkpoints.begin()->first, Not(HasSubstr("g1-c1")));
  EXPECT_EQ(cluster_.GenerationOf(job), 1u);
}

TEST_F(JobCheckpointsTest, APrimaryThatDoesNotKnowThatItLeadsIsWaitedFor) {
  spec_.tables.replicas = 2;
  const std::string job = cluster_.Submit(spec_);
  cluster_.Hold<ConfigureReplicas>();
  cluster_.Silence("s2");
  cluster_.Pass(absl::Seconds(6));
  cluster_.StandAt(job, 0, {0, 3});
  cluster_.StandAt(job, 1, {0, 3});
  const uint64_t waiter = cluster_.MakeCheckpoint(job);
  cluster_.Pass(absl::Milliseconds(300));
  EXPECT_THAT(cluster_.CarriedOut<BeginCut>(), IsEmpty());
  cluster_.LetGo<ConfigureReplicas>();
  cluster_.Pass(absl::Seconds(3));
  EXPECT_THAT(cluster_.CarriedOut<BeginCut>(), Not(IsEmpty()));
  EXPECT_THAT(cluster_.answers[waiter], IsOk());
}

// The cut would be void as soon as the partition is led elsewhere.
TEST_F(JobCheckpointsTest, AHandOverIsWaitedFor) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.StandAt(job, 0, {0, 3});
  cluster_.StandAt(job, 1, {0, 3});
  cluster_.Hold<HandOver>();
  ASSERT_THAT(cluster_.Handle(NodeDrained{"s2"}).status, IsOk());
  cluster_.Pass(absl::Seconds(1));
  ASSERT_GT(cluster_.HeldOf<HandOver>(), 0);
  const uint64_t waiter = cluster_.MakeCheckpoint(job);
  cluster_.Pass(absl::Milliseconds(300));
  EXPECT_THAT(cluster_.CarriedOut<BeginCut>(), IsEmpty());
  cluster_.LetGo<HandOver>();
  cluster_.Pass(absl::Seconds(3));
  EXPECT_THAT(cluster_.CarriedOut<BeginCut>(), Not(IsEmpty()));
  EXPECT_THAT(cluster_.answers[waiter], IsOk());
}

TEST_F(JobCheckpointsTest, OnRequestOnlyWhereThereIsSomethingToKeep) {
  spec_.checkpoint.reset();
  const std::string job = cluster_.Submit(spec_);
  EXPECT_THAT(cluster_.answers[cluster_.MakeCheckpoint(job)],
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("scheduler.checkpoint_directory")));
  cluster_.Cancel(job);
  EXPECT_THAT(cluster_.answers[cluster_.MakeCheckpoint(job)],
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(cluster_.answers[cluster_.MakeCheckpoint("x")],
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(JobCheckpointsTest, AFolderThatAServerDoesNotSeeFailsTheJob) {
  cluster_.FailNext<AssignPartitions>(
      WithReason(absl::FailedPreconditionError("/jobs/ckpt: no such token"),
                 "FOLDER_NOT_SHARED"));
  const std::string job = cluster_.Submit(spec_);
  EXPECT_EQ(cluster_.StateOf(job), JobState::kFailed);
  EXPECT_THAT(cluster_.View(job).error,
              AllOf(HasSubstr("server s"), HasSubstr("no such token"),
                    HasSubstr("checkpoint.directory")));
  for (const Order& order : cluster_.CarriedOut<AssignPartitions>()) {
    EXPECT_TRUE(std::get<AssignPartitions>(order.body).proof.has_value());
  }
}

TEST_F(JobCheckpointsTest, AFolderThatTakesNothingIsNotCalledUnseen) {
  cluster_.FailNext<AssignPartitions>(WithReason(
      absl::FailedPreconditionError("cannot write /jobs/ckpt/x: No space left "
                                    "on device"),
      "FOLDER_NOT_WRITABLE"));
  const std::string job = cluster_.Submit(spec_);
  EXPECT_EQ(cluster_.StateOf(job), JobState::kFailed);
  EXPECT_THAT(cluster_.View(job).error,
              AllOf(HasSubstr("No space left on device"),
                    HasSubstr("free some space"), Not(HasSubstr("not see"))));
}

// Pausing -------------------------------------------------------------------

TEST_F(JobCheckpointsTest, APausedJobFreesAllAndGoesOnFromItsCheckpoint) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  cluster_.StandAt(job, 0, {1, 2});
  cluster_.StandAt(job, 1, {1, 2});
  cluster_.Hold<DropJob>();
  const uint64_t waiter = cluster_.Pause(job);
  EXPECT_EQ(cluster_.StateOf(job), JobState::kPaused);
  EXPECT_FALSE(cluster_.answers.contains(waiter)) << "tables are still there";
  cluster_.LetGo<DropJob>();
  EXPECT_THAT(cluster_.answers[waiter], IsOk());
  EXPECT_EQ(cluster_.View(job).checkpoint->step, 2u);
  cluster_.Restart("s1");
  cluster_.Restart("w1");
  ASSERT_THAT(cluster_.Resume(job), IsOk());
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kTraining);
  EXPECT_EQ(cluster_.LifeOf(job, 0).rank.attempt, 2u);
  EXPECT_EQ(cluster_.View(job).recoveries, 0u);
  EXPECT_THAT(cluster_.View(job).epochs, SizeIs(1));
  EXPECT_THAT(cluster_.Resume(job), IsOk()) << "it runs already";
}

TEST_F(JobCheckpointsTest, APauseThatCannotBeWrittenIsOff) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.FailNext<WriteCut>(absl::ResourceExhaustedError("disk full"));
  const uint64_t waiter = cluster_.Pause(job);
  EXPECT_THAT(cluster_.answers[waiter],
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);
  cluster_.TrainEpoch(job, 0);
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);
}

// Rank 1 waits for a worker from here on.
class ARankWaits : public JobCheckpointsTest {
 protected:
  void Begin(SyncMode mode = SyncMode::kBsp) {
    cluster_.Leave("w1");
    cluster_.Register("w2", NodeRole::kWorker, 1);
    cluster_.Register("w3", NodeRole::kWorker, 1);
    spec_.sync.mode = mode;
    job_ = cluster_.Submit(spec_);
    cluster_.TrainEpoch(job_, 0);
    ASSERT_THAT(cluster_.checkpoints, SizeIs(1));
    cluster_.StandAt(job_, 0, {1, 3});
    cluster_.StandAt(job_, 1, {1, 2});
    cluster_.Leave(cluster_.LifeOf(job_, 1).worker.name);
    ASSERT_THAT(cluster_.View(job_).waiting_for, HasSubstr("rank 1"));
  }

  std::string job_;
};

TEST_F(ARankWaits, APauseIsAtTheSlowestRanksClock) {
  Begin();
  const uint64_t waiter = cluster_.Pause(job_);
  EXPECT_EQ(cluster_.StateOf(job_), JobState::kPaused);
  EXPECT_THAT(cluster_.answers[waiter], IsOk());
  const Order taken = cluster_.CarriedOut<TakeCut>().back();
  EXPECT_TRUE(std::get<TakeCut>(taken.body).at_rest);
  EXPECT_THAT(std::get<TakeCut>(taken.body).clocks,
              ElementsAre(Clock{1, 2}, Clock{1, 2}));
  EXPECT_EQ(cluster_.View(job_).checkpoint->step, 2u);
}

TEST_F(ARankWaits, InAspEachRankHasItsOwnClock) {
  Begin(SyncMode::kAsp);
  EXPECT_THAT(cluster_.answers[cluster_.Pause(job_)], IsOk());
  const Order taken = cluster_.CarriedOut<TakeCut>().back();
  EXPECT_FALSE(std::get<TakeCut>(taken.body).at_rest);
  EXPECT_THAT(std::get<TakeCut>(taken.body).clocks,
              ElementsAre(Clock{1, 3}, Clock{1, 2}));
}

TEST_F(ARankWaits, WhereNoCutIsPossibleAPauseTakesTheCheckpointBefore) {
  Begin();
  cluster_.FailAlways<TakeCut>(absl::AbortedError("the hold has ended"));
  const uint64_t waiter = cluster_.Pause(job_);
  cluster_.Pass(absl::Seconds(5));
  EXPECT_EQ(cluster_.StateOf(job_), JobState::kPaused);
  EXPECT_THAT(cluster_.answers[waiter], IsOk());
  EXPECT_THAT(cluster_.View(job_).warnings,
              Contains(AllOf(HasSubstr("rank 1"), HasSubstr("done again"))));
  EXPECT_EQ(cluster_.View(job_).checkpoint->step, 0u);
  cluster_.FailAlways<TakeCut>(absl::OkStatus());
  cluster_.Register("w7", NodeRole::kWorker, 64);
  ASSERT_THAT(cluster_.Resume(job_), IsOk());
  EXPECT_EQ(cluster_.PhaseOf(job_), JobPhase::kTraining);
  EXPECT_THAT(cluster_.View(job_).epochs, SizeIs(1));
}

TEST_F(ARankWaits, WithoutACheckpointBeforeAPauseWaitsForTheRank) {
  spec_.checkpoint->every_epochs = 0;
  cluster_.Leave("w1");
  cluster_.Register("w2", NodeRole::kWorker, 1);
  cluster_.Register("w3", NodeRole::kWorker, 1);
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  ASSERT_THAT(cluster_.checkpoints, IsEmpty());
  cluster_.Leave(cluster_.LifeOf(job, 1).worker.name);
  cluster_.FailAlways<TakeCut>(absl::AbortedError("the hold has ended"));
  const uint64_t waiter = cluster_.Pause(job);
  cluster_.Pass(absl::Seconds(60));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);
  EXPECT_FALSE(cluster_.answers.contains(waiter)) << "nothing is thrown away";
  cluster_.FailAlways<TakeCut>(absl::OkStatus());
  cluster_.Register("w7", NodeRole::kWorker, 64);
  cluster_.Pass(absl::Seconds(5));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kPaused);
  EXPECT_THAT(cluster_.answers[waiter], IsOk());
}

TEST_F(JobCheckpointsTest, APausedJobCanBeCancelledAndPausedAgain) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.Pause(job);
  EXPECT_THAT(cluster_.answers[cluster_.Pause(job)], IsOk());
  cluster_.Cancel(job);
  EXPECT_EQ(cluster_.StateOf(job), JobState::kCancelled);
  EXPECT_TRUE(cluster_.HoldsNothing(job));
  EXPECT_THAT(cluster_.Resume(job),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(JobCheckpointsTest, APendingJobIsPausedAtOnce) {
  spec_.ranks = 1000;
  const std::string job = cluster_.Submit(spec_);
  EXPECT_THAT(cluster_.answers[cluster_.Pause(job)], IsOk());
  EXPECT_EQ(cluster_.StateOf(job), JobState::kPaused);
  EXPECT_THAT(cluster_.Resume(job), IsOk());
  EXPECT_EQ(cluster_.StateOf(job), JobState::kPending);
}

// The end of all servers ----------------------------------------------------

class AllServersStop : public JobCheckpointsTest {
 protected:
  Outcome Stop(const std::string& node) {
    const Outcome outcome = cluster_.Handle(
        NodeDrained{node, cluster_.node(node).incarnation, /*leaving=*/true});
    cluster_.Run();
    return outcome;
  }
  bool IsDrained(const std::string& node) const {
    return cluster_.core().IsDrained(cluster_.node(node).incarnation);
  }
};

TEST_F(AllServersStop, JobsAreSavedAndGoOnWhenServersCome) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  cluster_.StandAt(job, 0, {1, 2});
  cluster_.StandAt(job, 1, {1, 2});
  EXPECT_THAT(Stop("s1").status, IsOk());
  EXPECT_FALSE(cluster_.core().AllServersStop());
  cluster_.Hold<WriteCut>();
  EXPECT_THAT(Stop("s2").status, IsOk()) << "although nobody can take over";
  EXPECT_TRUE(cluster_.core().AllServersStop());
  cluster_.Pass(absl::Seconds(1));
  EXPECT_FALSE(IsDrained("s2")) << "not before it is saved";
  cluster_.LetGo<WriteCut>();
  EXPECT_TRUE(IsDrained("s1"));
  EXPECT_TRUE(IsDrained("s2"));
  EXPECT_THAT(cluster_.logs[job], Contains(HasSubstr("about to stop")));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kRecovering);
  EXPECT_THAT(cluster_.View(job).waiting_for, HasSubstr("servers"));
  EXPECT_EQ(cluster_.View(job).checkpoint->step, 2u);
  EXPECT_EQ(cluster_.View(job).recoveries, 0u);
  for (const char* node : {"s1", "s2", "w1"}) cluster_.Leave(node);
  cluster_.RestartScheduler();
  cluster_.Register("s7", NodeRole::kServer);
  cluster_.Register("w7", NodeRole::kWorker, 64);
  cluster_.Pass(absl::Seconds(1));
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kTraining);
  EXPECT_THAT(cluster_.View(job).epochs, SizeIs(1));
}

TEST_F(AllServersStop, RanksWhoseWorkersStopTooArePartOfIt) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  EXPECT_THAT(Stop("w1").status, IsOk());
  EXPECT_FALSE(IsDrained("w1")) << "nobody else has room, so they go on";
  Stop("s1");
  Stop("s2");
  EXPECT_TRUE(IsDrained("w1"));
  EXPECT_EQ(cluster_.View(job).checkpoint->step, 0u);
  EXPECT_THAT(cluster_.checkpoints, SizeIs(2));
}

TEST_F(AllServersStop, WhatCannotBeSavedHoldsNobodyUpForLong) {
  for (const absl::Status& why : {absl::ResourceExhaustedError("disk full"),
                                  absl::AbortedError("the hold has ended")}) {
    FakeCluster cluster;
    cluster.AddServers(1);
    cluster.AddWorkers(1);
    const std::string job = cluster.Submit(spec_);
    cluster.TrainEpoch(job, 0);
    cluster.FailAlways<WriteCut>(why);
    const uint64_t server = cluster.node("s1").incarnation;
    cluster.Handle(NodeDrained{"s1", server, true});
    cluster.Pass(absl::Seconds(16));
    EXPECT_TRUE(cluster.core().IsDrained(server)) << why;
    EXPECT_EQ(cluster.PhaseOf(job), JobPhase::kRecovering);
    EXPECT_THAT(cluster.View(job).epochs, SizeIs(1));
  }
}

// The first tries find partitions that are still about to move.
TEST_F(AllServersStop, AFewVoidCutsDoNotMakeItGiveUp) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.TrainEpoch(job, 0);
  cluster_.StandAt(job, 0, {1, 2});
  cluster_.StandAt(job, 1, {1, 2});
  for (int i = 0; i < 6; ++i) {
    cluster_.FailNext<TakeCut>(absl::AbortedError("it has moved"));
  }
  Stop("s1");
  Stop("s2");
  cluster_.Pass(absl::Seconds(2));
  EXPECT_TRUE(IsDrained("s1"));
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kRecovering);
  EXPECT_EQ(cluster_.View(job).checkpoint->step, 2u);
}

TEST_F(AllServersStop, AServerThatComesMeanwhileIsATaker) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.Hold<BeginCut>();
  Stop("s1");
  Stop("s2");
  EXPECT_TRUE(cluster_.core().AllServersStop());
  cluster_.Register("s9", NodeRole::kServer);
  cluster_.Pass(absl::Seconds(10));
  EXPECT_FALSE(cluster_.core().AllServersStop());
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kTraining);
}

TEST_F(AllServersStop, ADrainThatSomebodyWishesForDoesNotDoIt) {
  const std::string job = cluster_.Submit(spec_);
  cluster_.Handle(NodeDrained{"s1", 0, false});
  EXPECT_THAT(cluster_.Handle(NodeDrained{"s2", 0, false}).status,
              StatusIs(absl::StatusCode::kFailedPrecondition));
  cluster_.Leave("s2");
  cluster_.Pass(absl::Seconds(1));
  EXPECT_FALSE(cluster_.core().AllServersStop());
}

TEST_F(AllServersStop, JobsInOtherPhasesStandByAtOnce) {
  cluster_.Hold<ScanPiece>();
  const std::string job = cluster_.Submit(spec_);
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kScanning);
  Stop("s1");
  Stop("s2");
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kRecovering);
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);
}

}  // namespace
}  // namespace seraph
