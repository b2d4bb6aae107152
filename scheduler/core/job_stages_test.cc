// What happens in each stage of a job when it is cancelled, or loses a node.
#include <functional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/core/fake_cluster.h"

namespace seraph {
namespace {

using ::testing::IsEmpty;

constexpr absl::Duration kTimeout = absl::Seconds(5);

struct Stage {
  std::string name;
  // Brings a cluster to the stage, with whatever keeps it there held back.
  std::function<void(FakeCluster&)> hold;
  // What happens after the job was submitted.
  std::function<void(FakeCluster&, const std::string&)> act;
  JobPhase phase;
  bool has_ranks = true;   // That a worker's death takes from it.
  bool has_tables = true;  // That a server's death takes from it.
  bool can_cancel = true;
};

void Nothing(FakeCluster&, const std::string&) {}

void ToTheEnd(FakeCluster& cluster, const std::string& job) {
  cluster.TrainEpoch(job, 0);
  cluster.TrainEpoch(job, 1);
  cluster.EndRanks(job);
}

std::vector<Stage> Stages() {
  std::vector<Stage> stages;
  stages.push_back({"Resolving", [](FakeCluster& c) { c.Hold<ResolveFiles>(); },
                    Nothing, JobPhase::kScanning});
  stages.back().has_tables = false;
  stages.push_back({"Scanning", [](FakeCluster& c) { c.Hold<ScanPiece>(); },
                    Nothing, JobPhase::kScanning});
  stages.back().has_tables = false;
  stages.push_back({"Placing",
                    [](FakeCluster& c) { c.Hold<AssignPartitions>(); }, Nothing,
                    JobPhase::kPlacing});
  stages.push_back({"Loading", [](FakeCluster& c) { c.Hold<LoadInitModel>(); },
                    Nothing, JobPhase::kLoading});
  stages.push_back({"StartingRanks", [](FakeCluster& c) { c.Hold<RunRanks>(); },
                    Nothing, JobPhase::kTraining});
  stages.push_back(
      {"Training", [](FakeCluster&) {}, Nothing, JobPhase::kTraining});
  stages.push_back({"MeetingAtAnEpochsEnd", [](FakeCluster&) {},
                    [](FakeCluster& c, const std::string& job) {
                      c.TrainEpoch(job, 0);
                      c.EndEpochInLedger(job, 0, 1, 0.5);
                      ASSERT_TRUE(c.ShareEpoch(job, 0, 1).ok());
                    },
                    JobPhase::kTraining});
  stages.push_back({"MergingScores",
                    [](FakeCluster& c) { c.Hold<MergeScores>(); },
                    [](FakeCluster& c, const std::string& job) {
                      c.TrainEpoch(job, 0);
                      ASSERT_EQ(c.HeldOf<MergeScores>(), 1);
                    },
                    JobPhase::kTraining});
  stages.push_back({"ReadingTheLedger", [](FakeCluster&) {},
                    [](FakeCluster& c, const std::string& job) {
                      c.TrainEpoch(job, 0);
                      c.TrainEpoch(job, 1);
                      c.Hold<ReadLedger>();
                      c.EndRanks(job);
                      ASSERT_GE(c.HeldOf<ReadLedger>(), 1);
                    },
                    JobPhase::kTraining});
  stages.back().has_ranks = false;  // They are done.
  stages.push_back({"Exporting", [](FakeCluster& c) { c.Hold<ExportModel>(); },
                    ToTheEnd, JobPhase::kExporting});
  stages.back().has_ranks = false;
  stages.push_back({"Publishing",
                    [](FakeCluster& c) { c.Hold<PublishModel>(); }, ToTheEnd,
                    JobPhase::kExporting});
  stages.back().has_ranks = false;
  stages.back().has_tables = false;  // All rows are in the file.
  stages.back().can_cancel = false;
  return stages;
}

SchedulerOptions Options() {
  SchedulerOptions options;
  options.keeps_state = true;
  options.job.checkpoint_directory = "/checkpoints";
  return options;
}

class JobStageTest : public ::testing::TestWithParam<Stage> {
 protected:
  JobStageTest() : cluster_(Options()) {
    cluster_.AddServers(2);
    cluster_.AddWorkers(2);
    cluster_.files.validation = cluster_.files.train;
    GetParam().hold(cluster_);
    JobSpec spec = SmallJob();
    spec.ranks = 2;
    spec.init_model = "before/model";
    spec.data.validation = {"validation"};
    job_ = cluster_.Submit(spec);
    GetParam().act(cluster_, job_);
    EXPECT_EQ(cluster_.PhaseOf(job_), GetParam().phase);
    // The orders that are held back have arrived; only their answers are late.
    for (const Order& order : cluster_.held()) {
      if (std::holds_alternative<AssignPartitions>(order.body)) {
        cluster_.tables[order.to->name].insert(job_);
      } else if (std::holds_alternative<RunRanks>(order.body)) {
        cluster_.activity[order.to->name].insert(job_);
      } else if (std::holds_alternative<ExportModel>(order.body)) {
        cluster_.unnamed_models.insert(job_);
      }
    }
  }

  void LetAllGo() {
    cluster_.LetGo<ResolveFiles>();
    cluster_.LetGo<ScanPiece>();
    cluster_.LetGo<AssignPartitions>();
    cluster_.LetGo<LoadInitModel>();
    cluster_.LetGo<RunRanks>();
    cluster_.LetGo<MergeScores>();
    cluster_.LetGo<ReadLedger>();
    cluster_.LetGo<ExportModel>();
    cluster_.LetGo<PublishModel>();
    cluster_.Pass(absl::Seconds(4));
  }

  // The job has ended so for good, and nothing of it is left anywhere.
  void ExpectEnd(JobState state) {
    const uint64_t version = cluster_.View(job_).version;
    LetAllGo();
    const JobView view = cluster_.View(job_);
    EXPECT_EQ(view.state, state) << view.error;
    EXPECT_EQ(view.version, version) << "an end is final";
    EXPECT_TRUE(cluster_.HoldsNothing(job_));
    EXPECT_THAT(cluster_.models, IsEmpty());
    for (uint64_t waiter : cluster_.waiters) {
      EXPECT_TRUE(cluster_.epoch_answers.contains(waiter))
          << "rank " << waiter << " waits for ever";
    }
  }

  void ExpectGoesOn() {
    EXPECT_FALSE(HasEnded(cluster_.StateOf(job_))) << cluster_.View(job_).error;
    LetAllGo();
    if (cluster_.PhaseOf(job_) == JobPhase::kTraining) {
      ToTheEnd(cluster_, job_);
    }
    cluster_.Pass(absl::Seconds(3));
    EXPECT_EQ(cluster_.StateOf(job_), JobState::kSucceeded)
        << cluster_.View(job_).error;
    EXPECT_TRUE(cluster_.HoldsNothing(job_));
  }

  FakeCluster cluster_;
  std::string job_;
};

TEST_P(JobStageTest, GoesOnWhenNothingHappens) { ExpectGoesOn(); }

TEST_P(JobStageTest, CancellingFreesEverything) {
  cluster_.Cancel(job_);
  if (!GetParam().can_cancel) return ExpectGoesOn();
  EXPECT_EQ(cluster_.StateOf(job_), JobState::kCancelled);
  EXPECT_THAT(cluster_.held(), IsEmpty()) << "what is under way is given up";
  ExpectEnd(JobState::kCancelled);
  cluster_.Cancel(job_);  // A repeat changes nothing.
  ExpectEnd(JobState::kCancelled);
}

TEST_P(JobStageTest, TheRanksOfADeadWorkerGoToAnother) {
  cluster_.Silence("w2");
  cluster_.Pass(kTimeout + absl::Milliseconds(200));
  EXPECT_EQ(cluster_.View(job_).recoveries, GetParam().has_ranks ? 1u : 0u);
  ExpectGoesOn();
  EXPECT_LE(cluster_.LifeOf(job_, 0).job.generation, 1u);
}

TEST_P(JobStageTest, AWorkersRestartIsItsDeath) {
  cluster_.Restart("w2");
  EXPECT_EQ(cluster_.View(job_).recoveries, GetParam().has_ranks ? 1u : 0u);
  ExpectGoesOn();
}

TEST_P(JobStageTest, AWorkerThatLeavesGivesItsRanksAway) {
  cluster_.Leave("w2");
  EXPECT_EQ(cluster_.View(job_).recoveries, GetParam().has_ranks ? 1u : 0u);
  ExpectGoesOn();
}

TEST_P(JobStageTest, TheOnlyCopysDeathTakesTheJobBack) {
  cluster_.Silence("s2");
  cluster_.Pass(kTimeout + absl::Milliseconds(200));
  EXPECT_EQ(cluster_.View(job_).recoveries, GetParam().has_tables ? 1u : 0u);
  ExpectGoesOn();
  EXPECT_EQ(cluster_.GenerationOf(job_), GetParam().has_tables ? 2u : 1u);
}

// It comes back within the timeout, under its name, and empty.
TEST_P(JobStageTest, AServersRestartIsItsDeath) {
  cluster_.Restart("s2");
  EXPECT_EQ(cluster_.View(job_).recoveries, GetParam().has_tables ? 1u : 0u);
  ExpectGoesOn();
  EXPECT_EQ(cluster_.GenerationOf(job_), GetParam().has_tables ? 2u : 1u);
}

TEST_P(JobStageTest, AWorkerAndAServerMayDieAtOnce) {
  cluster_.Silence("s1");
  cluster_.Silence("w1");
  cluster_.Pass(kTimeout + absl::Milliseconds(200));
  ExpectGoesOn();
}

TEST_P(JobStageTest, ASchedulerThatStartsAnewGoesOn) {
  cluster_.RestartScheduler();
  ASSERT_EQ(cluster_.StateOf(job_), JobState::kRunning);
  cluster_.Pass(absl::Seconds(1));
  ExpectGoesOn();
}

// Nothing of it is left but what was stored, and the nodes that die meanwhile
// are missed after a lease.
TEST_P(JobStageTest, ASchedulerThatStartsAnewMissesTheDead) {
  cluster_.Silence("s2");
  cluster_.Silence("w2");
  cluster_.RestartScheduler();
  cluster_.Pass(kTimeout / 2);
  EXPECT_EQ(cluster_.StateOf(job_), JobState::kRunning);
  EXPECT_THAT(cluster_.lost_nodes, IsEmpty()) << "it waits for a lease";
  cluster_.Pass(2 * kTimeout);
  ExpectGoesOn();
}

TEST_P(JobStageTest, APauseFreesEverythingAndAResumeGoesOn) {
  const uint64_t waiter = cluster_.Pause(job_);
  if (GetParam().name == "MeetingAtAnEpochsEnd") {
    // There is no cut before the other rank has come that far.
    EXPECT_FALSE(cluster_.answers.contains(waiter));
    cluster_.EndEpochInLedger(job_, 1, 1, 0.5);
  }
  LetAllGo();
  ASSERT_TRUE(cluster_.answers.contains(waiter));
  if (GetParam().phase == JobPhase::kExporting) {
    EXPECT_FALSE(cluster_.answers[waiter].ok());
    EXPECT_EQ(cluster_.StateOf(job_), JobState::kSucceeded);
    return;
  }
  EXPECT_TRUE(cluster_.answers[waiter].ok()) << cluster_.answers[waiter];
  EXPECT_EQ(cluster_.StateOf(job_), JobState::kPaused);
  for (const auto* place : {&cluster_.tables, &cluster_.activity}) {
    for (const auto& [node, jobs] : *place) {
      EXPECT_FALSE(jobs.contains(job_)) << node;
    }
  }
  for (uint64_t rank : cluster_.waiters) {
    EXPECT_TRUE(cluster_.epoch_answers.contains(rank));
  }
  EXPECT_TRUE(cluster_.Resume(job_).ok());
  ExpectGoesOn();
}

TEST_P(JobStageTest, AnotherJobsNodesAreNobodysConcern) {
  cluster_.Register("w9", NodeRole::kWorker);
  cluster_.Register("s9", NodeRole::kServer);
  cluster_.Silence("w9");
  cluster_.Silence("s9");
  cluster_.Pass(2 * kTimeout);
  ExpectGoesOn();
}

TEST_P(JobStageTest, AnEndIsRecordedWhereTheModelWouldBe) {
  cluster_.Cancel(job_);
  if (!GetParam().can_cancel) GTEST_SKIP() << "it cannot be undone";
  if (GetParam().name == "Resolving") {
    EXPECT_THAT(cluster_.records, IsEmpty()) << "the folder is not proven yet";
  } else {
    EXPECT_EQ(cluster_.records[job_].state, JobState::kCancelled);
  }
}

INSTANTIATE_TEST_SUITE_P(Stages, JobStageTest, ::testing::ValuesIn(Stages()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace seraph
