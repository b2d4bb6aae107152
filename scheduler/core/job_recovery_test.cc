// What becomes of ranks whose worker is gone, and of jobs that go back.
#include <string>
#include <variant>
#include <vector>

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
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kStale = absl::StatusCode::kFailedPrecondition;
constexpr absl::Duration kDeath = absl::Milliseconds(5300);

JobSpec JobOf(uint32_t ranks, uint32_t epochs = 2) {
  JobSpec spec = SmallJob();
  spec.ranks = ranks;
  spec.train.epochs = epochs;
  return spec;
}

JobSpec WithCheckpoints(JobSpec spec) {
  spec.checkpoint = CheckpointSpec{.directory = "ckpt"};
  return spec;
}

class JobRecoveryTest : public ::testing::Test {
 protected:
  // The attempts of the rank that were started, in order.
  std::vector<uint32_t> AttemptsOf(const std::string& job, uint32_t rank) {
    std::vector<uint32_t> attempts;
    for (const Order& order : cluster_.CarriedOut<RunRanks>()) {
      if (order.job.id != job) continue;
      for (const RankRef& named : std::get<RunRanks>(order.body).ranks) {
        if (named.rank == rank) attempts.push_back(named.attempt);
      }
    }
    return attempts;
  }

  void ExpectSuccess(const std::string& job, uint32_t from_epoch = 0) {
    for (uint32_t epoch = from_epoch; epoch < cluster_.View(job).epochs_total;
         ++epoch) {
      cluster_.TrainEpoch(job, epoch);
    }
    cluster_.EndRanks(job);
    cluster_.Pass(absl::Seconds(3));
    EXPECT_EQ(cluster_.StateOf(job), JobState::kSucceeded)
        << cluster_.View(job).error << cluster_.View(job).waiting_for;
    EXPECT_TRUE(cluster_.HoldsNothing(job));
  }

  FakeCluster cluster_;
};

// Ranks -----------------------------------------------------------------------

// The ledger's partition has another primary, and the order went to the old
// one.
TEST_F(JobRecoveryTest, ALedgerThatHasMovedIsReadAgain) {
  cluster_.AddServers(1);
  cluster_.AddWorkers(1);
  const std::string job = cluster_.Submit(JobOf(1));
  cluster_.FailNext<ReadLedger>(
      absl::NotFoundError("the ledger is not led here"));
  cluster_.Pass(absl::Seconds(1));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning)
      << cluster_.View(job).error;
  cluster_.FailNext<ReadLedger>(
      absl::NotFoundError("the ledger is not led here"));
  ExpectSuccess(job);
}

TEST_F(JobRecoveryTest, OnlyTheRanksOfADeadWorkerAreHandedOutAnew) {
  cluster_.AddServers(1);
  cluster_.AddWorkers(2);
  const std::string job = cluster_.Submit(JobOf(4));
  cluster_.Silence("w2");
  cluster_.Pass(kDeath);
  EXPECT_THAT(AttemptsOf(job, 0), ::testing::ElementsAre(1));
  EXPECT_THAT(AttemptsOf(job, 1), ::testing::ElementsAre(1, 2));
  EXPECT_THAT(AttemptsOf(job, 2), ::testing::ElementsAre(1));
  EXPECT_THAT(AttemptsOf(job, 3), ::testing::ElementsAre(1, 2));
  EXPECT_EQ(cluster_.LifeOf(job, 1).worker.name, "w1");
  EXPECT_EQ(cluster_.View(job).recoveries, 1u);
  EXPECT_THAT(cluster_.CarriedOut<StopJob>(), IsEmpty());
  EXPECT_THAT(cluster_.CarriedOut<DropJob>(), IsEmpty());
  ExpectSuccess(job);
}

TEST_F(JobRecoveryTest, TheRanksOfADrainingWorkerGoWhereThereIsRoom) {
  cluster_.AddServers(1);
  cluster_.AddWorkers(2, /*slots=*/3);
  const std::string job = cluster_.Submit(JobOf(4));
  ASSERT_THAT(cluster_.Handle(NodeDrained{"w2"}).status, IsOk());
  cluster_.Pass(absl::Seconds(1));
  EXPECT_EQ(cluster_.LifeOf(job, 1).worker.name, "w1");
  EXPECT_EQ(cluster_.LifeOf(job, 3).worker.name, "w2") << "w1 is full";
  EXPECT_THAT(AttemptsOf(job, 3), ::testing::ElementsAre(1));
  const uint64_t w2 = cluster_.node("w2").incarnation;
  EXPECT_FALSE(cluster_.core().IsDrained(w2));
  cluster_.Register("w3", NodeRole::kWorker, /*slots=*/3);
  cluster_.Pass(absl::Seconds(1));
  EXPECT_THAT(AttemptsOf(job, 0), ::testing::ElementsAre(1));
  EXPECT_THAT(AttemptsOf(job, 3), ::testing::ElementsAre(1, 2));
  EXPECT_NE(cluster_.LifeOf(job, 3).worker.name, "w2");
  EXPECT_TRUE(cluster_.core().IsDrained(w2));
  ExpectSuccess(job);
}

// It was only cut off, and wakes: nothing that it reports counts any more.
TEST_F(JobRecoveryTest, ReportsOfAnOlderAttemptAreRefused) {
  cluster_.AddServers(1);
  cluster_.AddWorkers(2);
  const std::string job = cluster_.Submit(JobOf(2));
  const FakeCluster::RankLife old = cluster_.LifeOf(job, 1);
  cluster_.Silence("w2");
  cluster_.Pass(kDeath);
  RankEnded ended{old.job, old.rank, old.worker.incarnation, absl::OkStatus()};
  EXPECT_THAT(cluster_.Handle(ended).status, StatusIs(kStale));
  EpochShared shared;
  shared.job = old.job;
  shared.share.rank = old.rank;
  EXPECT_THAT(cluster_.Handle(shared).status, StatusIs(kStale));
  ended.rank.attempt = 2;
  EXPECT_THAT(cluster_.Handle(ended).status, StatusIs(kStale))
      << "it is not the worker that has it";
  ExpectSuccess(job);
}

TEST_F(JobRecoveryTest, ARankWaitsForAWorkerWithRoomAndTheJobSaysSo) {
  cluster_.AddServers(1);
  cluster_.AddWorkers(2, /*slots=*/1);
  const std::string job = cluster_.Submit(JobOf(2));
  const std::string other = cluster_.Submit(JobOf(1));
  ASSERT_EQ(cluster_.StateOf(other), JobState::kPending);
  cluster_.Silence("w2");
  cluster_.Pass(kDeath);
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kTraining);
  EXPECT_THAT(cluster_.View(job).waiting_for,
              AllOf(HasSubstr("rank 1"), HasSubstr("1 slot")));
  cluster_.Register("w3", NodeRole::kWorker, 1);
  EXPECT_EQ(cluster_.LifeOf(job, 1).worker.name, "w3")
      << "before a job that has not started";
  EXPECT_EQ(cluster_.View(job).waiting_for, "");
  EXPECT_EQ(cluster_.StateOf(other), JobState::kPending);
  ExpectSuccess(job);
}

TEST_F(JobRecoveryTest, ARankWaitsForAWorkerWithMemoryForItsRecords) {
  const absl::Status no_memory =
      WithReason(absl::ResourceExhaustedError("1 ranks would hold 7 bytes"),
                 "NO_MEMORY_FOR_RECORDS");
  cluster_.AddServers(1);
  cluster_.AddWorkers(2);
  const std::string job = cluster_.Submit(JobOf(2));
  cluster_.Pass(absl::Seconds(1));
  ASSERT_EQ(AttemptsOf(job, 0).size() + AttemptsOf(job, 1).size(), 2);

  cluster_.Silence("w2");
  cluster_.FailNext<RunRanks>(no_memory);
  cluster_.Pass(kDeath);
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning)
      << cluster_.View(job).error;
  EXPECT_THAT(
      cluster_.View(job).waiting_for,
      AllOf(HasSubstr("a worker for rank"), HasSubstr("would hold 7 bytes")));

  // It is asked again after a while.
  cluster_.Pass(absl::Seconds(6));
  EXPECT_EQ(AttemptsOf(job, 0).size() + AttemptsOf(job, 1).size(), 3);
  ExpectSuccess(job);
}

TEST_F(JobRecoveryTest, ARankThatDoesNotFitAtTheStartFailsTheJob) {
  cluster_.AddServers(1);
  cluster_.AddWorkers(1);
  cluster_.FailNext<RunRanks>(
      WithReason(absl::ResourceExhaustedError("1 ranks would hold 7 bytes"),
                 "NO_MEMORY_FOR_RECORDS"));
  const std::string job = cluster_.Submit(JobOf(1));
  cluster_.Pass(absl::Seconds(1));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kFailed);
  EXPECT_THAT(cluster_.View(job).error, HasSubstr("would hold 7 bytes"));
}

TEST_F(JobRecoveryTest, TheEndOfAnEpochWaitsForTheNextAttempt) {
  cluster_.AddServers(1);
  cluster_.AddWorkers(2);
  const std::string job = cluster_.Submit(JobOf(2));
  cluster_.EndEpochInLedger(job, 0, 0, 0.5);
  ASSERT_THAT(cluster_.ShareEpoch(job, 0, 0), IsOk());
  cluster_.Restart("w2");
  EXPECT_THAT(cluster_.epoch_answers, IsEmpty());
  cluster_.EndEpochInLedger(job, 1, 0, 0.5);
  ASSERT_THAT(cluster_.ShareEpoch(job, 1, 0), IsOk());
  EXPECT_THAT(cluster_.epoch_answers, SizeIs(2));
  cluster_.TrainEpoch(job, 1);
  cluster_.EndRanks(job);
  EXPECT_EQ(cluster_.StateOf(job), JobState::kSucceeded);
}

TEST_F(JobRecoveryTest, ARankThatOutlivesItsWorkerIsNotRunAgainWhenDone) {
  cluster_.AddServers(1);
  cluster_.AddWorkers(2);
  const std::string job = cluster_.Submit(JobOf(2, 1));
  cluster_.TrainEpoch(job, 0);
  ASSERT_THAT(cluster_.EndRank(job, 1), IsOk());
  cluster_.Restart("w2");
  EXPECT_THAT(AttemptsOf(job, 1), ::testing::ElementsAre(1));
  ASSERT_THAT(cluster_.EndRank(job, 0), IsOk());
  EXPECT_EQ(cluster_.StateOf(job), JobState::kSucceeded);
}

TEST_F(JobRecoveryTest, ARankThatStandsStillWhileOthersWaitGoesElsewhere) {
  cluster_.AddServers(1);
  cluster_.AddWorkers(2);
  JobSpec spec = JobOf(2);
  spec.train.stall_timeout = absl::Minutes(1);
  const std::string job = cluster_.Submit(spec);
  cluster_.StandAt(job, 0, {0, 4});
  cluster_.StandAt(job, 1, {0, 3});
  cluster_.Pass(absl::Seconds(50));
  EXPECT_THAT(AttemptsOf(job, 1), SizeIs(1));
  cluster_.Pass(absl::Seconds(15));
  EXPECT_THAT(AttemptsOf(job, 0), SizeIs(1)) << "it is the one that waits";
  EXPECT_THAT(AttemptsOf(job, 1), SizeIs(2));
  EXPECT_EQ(cluster_.LifeOf(job, 1).worker.name, "w1");
  cluster_.StandAt(job, 1, {0, 4});
  cluster_.Pass(absl::Minutes(5));
  EXPECT_THAT(AttemptsOf(job, 1), SizeIs(2)) << "nobody waits for anybody";
}

TEST_F(JobRecoveryTest, LostPiecesOfThePassOverTheDataAreReadByOthers) {
  cluster_.AddServers(1);
  cluster_.AddWorkers(2);
  cluster_.files.train[0].file.data.size_bytes = 8 * (uint64_t{64} << 20);
  cluster_.Hold<ScanPiece>();
  const std::string job = cluster_.Submit(JobOf(2));
  cluster_.Restart("w1");
  cluster_.Silence("w2");
  cluster_.Pass(kDeath);
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kScanning);
  cluster_.LetGo<ScanPiece>();
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kTraining);
  EXPECT_EQ(cluster_.View(job).records_read, 800u) << "each piece once";
  ExpectSuccess(job);
}

// Going back ------------------------------------------------------------------

TEST_F(JobRecoveryTest, TheLossOfTheOnlyCopyGoesBackToTheLastCheckpoint) {
  cluster_.AddServers(2);
  cluster_.AddWorkers(1);
  const std::string job = cluster_.Submit(WithCheckpoints(JobOf(2, 4)));
  cluster_.TrainEpoch(job, 0);
  cluster_.TrainEpoch(job, 1);
  cluster_.Hold<TakeCut>();
  cluster_.TrainEpoch(job, 2);
  ASSERT_THAT(cluster_.checkpoints, SizeIs(2));
  cluster_.Restart("s2");
  cluster_.LetGo<TakeCut>();
  const JobView view = cluster_.View(job);
  EXPECT_EQ(view.phase, JobPhase::kTraining);
  EXPECT_THAT(view.epochs, SizeIs(2)) << "as it was at the cut";
  EXPECT_EQ(view.recoveries, 1u);
  EXPECT_EQ(cluster_.GenerationOf(job), 2u);
  EXPECT_THAT(AttemptsOf(job, 0), ::testing::ElementsAre(1, 2));
  for (const Order& order : cluster_.CarriedOut<AssignPartitions>()) {
    const auto& restore = std::get<AssignPartitions>(order.body).restore;
    ASSERT_EQ(restore.has_value(), order.job.generation == 2);
    if (restore.has_value()) {
      EXPECT_EQ(restore->directory, absl::StrCat("/jobs/ckpt/", job));
      EXPECT_EQ(restore->manifest, "g1-c2.checkpoint");
    }
  }
  ExpectSuccess(job, 2);
  EXPECT_THAT(cluster_.View(job).epochs, SizeIs(4));
}

TEST_F(JobRecoveryTest, WithoutACheckpointItGoesBackToItsStart) {
  cluster_.AddServers(2);
  cluster_.AddWorkers(1);
  JobSpec spec = JobOf(1);
  spec.init_model = "before/model";
  const std::string job = cluster_.Submit(spec);
  cluster_.TrainEpoch(job, 0);
  cluster_.Restart("s1");
  EXPECT_THAT(cluster_.View(job).epochs, IsEmpty());
  EXPECT_THAT(cluster_.CarriedOut<LoadInitModel>(), SizeIs(2));
  EXPECT_THAT(cluster_.CarriedOut<ScanPiece>(), SizeIs(1))
      << "what the data are like is known";
  ExpectSuccess(job);
}

// Nothing may be restored while somebody may still serve the older generation.
TEST_F(JobRecoveryTest, AllConfirmThatTheyServeNothingOlderFirst) {
  cluster_.AddServers(2);
  cluster_.AddWorkers(2);
  const std::string job = cluster_.Submit(JobOf(2));
  cluster_.Hold<DropJob>();
  cluster_.Hold<StopJob>();
  cluster_.Restart("s2");
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kRecovering);
  EXPECT_EQ(cluster_.HeldOf<DropJob>(), 1);
  EXPECT_EQ(cluster_.HeldOf<StopJob>(), 2);
  for (const Order& order : cluster_.held()) {
    EXPECT_EQ(order.job.generation, 1u);
  }
  cluster_.LetGo<DropJob>();
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kRecovering);
  EXPECT_THAT(cluster_.View(job).waiting_for, HasSubstr("w1, w2"));
  // One that dies needs not confirm any more.
  cluster_.Silence("w2");
  cluster_.Pass(kDeath);
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kRecovering);
  cluster_.LetGo<StopJob>();
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kTraining);
  ExpectSuccess(job);
}

TEST_F(JobRecoveryTest, MessagesOfTheOlderGenerationAreRefused) {
  cluster_.AddServers(2);
  cluster_.AddWorkers(1);
  const std::string job = cluster_.Submit(JobOf(1));
  const FakeCluster::RankLife old = cluster_.LifeOf(job, 0);
  ASSERT_THAT(cluster_.ShareEpoch(job, 0, 0), IsOk());
  cluster_.Restart("s2");
  ASSERT_EQ(cluster_.GenerationOf(job), 2u);
  RankEnded ended{old.job, old.rank, old.worker.incarnation, absl::OkStatus()};
  EXPECT_THAT(cluster_.Handle(ended).status, StatusIs(kStale));
  ended.job.generation = 2;
  EXPECT_THAT(cluster_.Handle(ended).status, StatusIs(kStale)) << "attempt 1";
  EpochShared shared;
  shared.job = old.job;
  shared.share.rank = old.rank;
  EXPECT_THAT(cluster_.Handle(shared).status, StatusIs(kStale));
  for (OrderId id = 1; id < 100; ++id) {
    Reply late;
    late.order = id;
    late.body = LedgerReading{.generation = 1, .failure = "must not count"};
    cluster_.Handle(OrderReplied{late});
  }
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);
  ExpectSuccess(job);
}

// It was called dead with an order under way, which reaches it after it has
// said that it holds nothing.
class ALateOrder : public JobRecoveryTest {
 protected:
  ALateOrder() {
    cluster_.AddServers(2);
    cluster_.AddWorkers(1);
    cluster_.Hold<AssignPartitions>();
    job_ = cluster_.Submit(JobOf(1));
    cluster_.Silence("s2");
    cluster_.Pass(kDeath);
    cluster_.LetGo<AssignPartitions>();
    cluster_.Pass(absl::Seconds(1));
    EXPECT_EQ(cluster_.GenerationOf(job_), 2u);
  }

  void Return() {
    cluster_.Handle(NodeRegistered{cluster_.node("s2")});
    cluster_.Wake("s2");
    int late = 0;
    for (const Order& order : cluster_.CarriedOut<AssignPartitions>()) {
      late += order.to->name == "s2" && order.job.generation == 1;
    }
    ASSERT_EQ(late, 1);
    int drops = 0;  // Of that generation and all before.
    for (const Order& order : cluster_.CarriedOut<DropJob>()) {
      drops += order.to->name == "s2" && order.job.generation >= 1;
    }
    EXPECT_EQ(drops, 1);
  }

  std::string job_;
};

TEST_F(ALateOrder, IsTakenBackFromTheServerThatReturns) {
  Return();
  ExpectSuccess(job_);
}

TEST_F(ALateOrder, IsTakenBackAfterTheJobsEnd) {
  ExpectSuccess(job_);
  Return();
  cluster_.Pass(absl::Seconds(1));
  EXPECT_TRUE(cluster_.HoldsNothing(job_));
}

TEST_F(JobRecoveryTest, TheEarlyStopsCountersGoBackToo) {
  cluster_.AddServers(2);
  cluster_.AddWorkers(1);
  cluster_.files.validation = cluster_.files.train;
  JobSpec spec = WithCheckpoints(JobOf(1, 10));
  spec.data.validation = {"validation"};
  spec.train.stop = StopSpec{"log_loss", 3};
  spec.checkpoint->every_epochs = 2;
  const std::string job = cluster_.Submit(spec);
  cluster_.TrainEpoch(job, 0, true, 0.5, 0.50);
  cluster_.TrainEpoch(job, 1, true, 0.5, 0.60);  // One without; the cut.
  cluster_.TrainEpoch(job, 2, true, 0.5, 0.61);  // Two.
  cluster_.Restart("s1");
  ASSERT_THAT(cluster_.View(job).epochs, SizeIs(2));
  cluster_.TrainEpoch(job, 2, true, 0.5, 0.61);
  EXPECT_FALSE(cluster_.epoch_answers[cluster_.waiters.back()].stop)
      << "two, not three";
  cluster_.TrainEpoch(job, 3, true, 0.5, 0.62);
  EXPECT_TRUE(cluster_.epoch_answers[cluster_.waiters.back()].stop);
  cluster_.EndRanks(job);
  cluster_.Pass(absl::Seconds(3));
  EXPECT_EQ(cluster_.StateOf(job), JobState::kSucceeded);
  EXPECT_THAT(cluster_.View(job).epochs, SizeIs(4));
}

TEST_F(JobRecoveryTest, ItWaitsForServersAndSaysSo) {
  cluster_.AddServers(1);
  cluster_.AddWorkers(1);
  const std::string job = cluster_.Submit(WithCheckpoints(JobOf(1)));
  cluster_.TrainEpoch(job, 0);
  cluster_.Leave("s1");
  EXPECT_EQ(cluster_.StateOf(job), JobState::kRunning);
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kRecovering);
  EXPECT_THAT(cluster_.View(job).waiting_for, HasSubstr("no server"));
  cluster_.Register("s9", NodeRole::kServer);
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kTraining);
  ExpectSuccess(job, 1);
}

TEST_F(JobRecoveryTest, ADamagedCheckpointGivesWayToTheOneBefore) {
  cluster_.AddServers(2);
  cluster_.AddWorkers(1);
  const std::string job = cluster_.Submit(WithCheckpoints(JobOf(1, 4)));
  cluster_.TrainEpoch(job, 0);
  cluster_.TrainEpoch(job, 1);
  cluster_.FailNext<AssignPartitions>(
      absl::DataLossError("/jobs/ckpt/c2-0-0: the checksum is wrong"));
  cluster_.Restart("s1");
  EXPECT_EQ(cluster_.PhaseOf(job), JobPhase::kTraining);
  EXPECT_EQ(cluster_.GenerationOf(job), 3u);
  EXPECT_THAT(cluster_.View(job).epochs, SizeIs(1));
  EXPECT_THAT(cluster_.View(job).warnings,
              Contains(AllOf(HasSubstr("c2-0-0"), HasSubstr("checksum"))));
  ExpectSuccess(job, 1);
}

TEST_F(JobRecoveryTest, AJobThatGetsNowhereFailsInTheEnd) {
  cluster_.AddServers(2);
  cluster_.AddWorkers(1);
  const std::string job = cluster_.Submit(JobOf(1));
  for (int i = 0; i < 60; ++i) cluster_.Restart("s1");
  // A clock further: counted anew.
  cluster_.StandAt(job, 0, {0, 1});
  cluster_.Pass(absl::Seconds(1));
  for (int i = 0; i < 100; ++i) {
    cluster_.Restart("s1");
    ASSERT_EQ(cluster_.StateOf(job), JobState::kRunning) << i;
  }
  cluster_.Restart("s1");
  EXPECT_EQ(cluster_.StateOf(job), JobState::kFailed);
  EXPECT_THAT(cluster_.View(job).error,
              AllOf(HasSubstr("100 times"), HasSubstr("server s1")));
  cluster_.Pass(absl::Seconds(1));
  EXPECT_TRUE(cluster_.HoldsNothing(job));
}

// Replicas --------------------------------------------------------------------

TEST_F(JobRecoveryTest, WithTwoCopiesTheLossOfAServerTakesNothingBack) {
  cluster_.AddServers(3);
  cluster_.AddWorkers(1);
  JobSpec spec = JobOf(1);
  spec.tables.replicas = 2;
  const std::string job = cluster_.Submit(spec);
  EXPECT_EQ(cluster_.View(job).replicas, 2u);
  EXPECT_EQ(cluster_.View(job).least_in_sync, 2u);
  cluster_.TrainEpoch(job, 0);
  const uint64_t before = cluster_.LifeOf(job, 0).rank.attempt;
  cluster_.Silence("s2");
  cluster_.Pass(kDeath);
  EXPECT_EQ(cluster_.GenerationOf(job), 1u);
  EXPECT_EQ(cluster_.LifeOf(job, 0).rank.attempt, before);
  EXPECT_THAT(cluster_.View(job).epochs, SizeIs(1));
  EXPECT_THAT(cluster_.CarriedOut<UpdatePlacements>(),
              ::testing::Not(IsEmpty()));
  cluster_.Pass(absl::Seconds(5));
  EXPECT_EQ(cluster_.View(job).least_in_sync, 2u) << "recruits are in";
  ExpectSuccess(job, 1);
}

TEST_F(JobRecoveryTest, AServerThatHearsNoOrderIsSoonDoneWithout) {
  cluster_.AddServers(3);
  cluster_.AddWorkers(1);
  JobSpec spec = JobOf(1);
  spec.tables.replicas = 3;
  const std::string job = cluster_.Submit(spec);
  cluster_.FailAlways<ConfigureReplicas>(absl::UnavailableError("no way"));
  cluster_.Silence("s3");
  cluster_.Pass(kDeath);
  EXPECT_EQ(cluster_.View(job).least_in_sync, 2u);
  cluster_.Pass(2 * kDeath + absl::Seconds(5));
  EXPECT_EQ(cluster_.View(job).least_in_sync, 1u)
      << "it sends heartbeats, and is left out all the same";
  cluster_.FailAlways<ConfigureReplicas>(absl::OkStatus());
  cluster_.Pass(absl::Seconds(5));
  EXPECT_EQ(cluster_.GenerationOf(job), 1u) << "never the last copy";
  ExpectSuccess(job, 1);
}

TEST_F(JobRecoveryTest, MoreCopiesThanServersAreRefusedAtOnce) {
  cluster_.AddServers(1);
  cluster_.AddWorkers(1);
  JobSpec spec = JobOf(1);
  spec.tables.replicas = 2;
  EXPECT_THAT(cluster_.Submit(spec),
              AllOf(HasSubstr("tables.replicas"), HasSubstr("there is 1")));
}

TEST_F(JobRecoveryTest, LaterLossesDegradeAndSaySo) {
  cluster_.AddServers(2);
  cluster_.AddWorkers(1);
  JobSpec spec = JobOf(1);
  spec.tables.replicas = 2;
  const std::string job = cluster_.Submit(spec);
  cluster_.Silence("s2");
  cluster_.Pass(2 * kDeath);
  EXPECT_EQ(cluster_.View(job).least_in_sync, 1u);
  EXPECT_GT(cluster_.core().CountDegraded(), 0u);
  ExpectSuccess(job);
}

}  // namespace
}  // namespace seraph
