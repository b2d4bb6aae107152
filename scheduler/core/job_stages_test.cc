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

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kTimeout = absl::Seconds(5);

// What the loss of a node does to the job.
enum class Loss { kFails, kGoesOn };

struct Stage {
  std::string name;
  // Brings a cluster to the stage, with whatever keeps it there held back.
  std::function<void(FakeCluster&)> hold;
  // What happens after the job was submitted.
  std::function<void(FakeCluster&, const std::string&)> act;
  JobPhase phase;
  Loss worker = Loss::kFails;
  Loss server = Loss::kFails;
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
  stages.back().server = Loss::kGoesOn;  // It holds nothing of the job yet.
  stages.push_back({"Scanning", [](FakeCluster& c) { c.Hold<ScanPiece>(); },
                    Nothing, JobPhase::kScanning});
  stages.back().server = Loss::kGoesOn;
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
  stages.back().worker = Loss::kGoesOn;  // Its ranks are done.
  stages.push_back({"Exporting", [](FakeCluster& c) { c.Hold<ExportModel>(); },
                    ToTheEnd, JobPhase::kExporting});
  stages.back().worker = Loss::kGoesOn;
  stages.push_back({"Publishing",
                    [](FakeCluster& c) { c.Hold<PublishModel>(); }, ToTheEnd,
                    JobPhase::kExporting});
  stages.back().worker = Loss::kGoesOn;
  stages.back().server = Loss::kGoesOn;  // All rows are in the file.
  stages.back().can_cancel = false;
  return stages;
}

class JobStageTest : public ::testing::TestWithParam<Stage> {
 protected:
  JobStageTest() {
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
    cluster_.Pass(absl::Seconds(3));
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
    EXPECT_EQ(cluster_.StateOf(job_), JobState::kRunning)
        << cluster_.View(job_).error;
    LetAllGo();
    if (cluster_.PhaseOf(job_) == JobPhase::kTraining) {
      ToTheEnd(cluster_, job_);
    }
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

TEST_P(JobStageTest, AWorkersDeathIsToldWithinTheTimeout) {
  cluster_.Silence("w2");
  cluster_.Pass(kTimeout + absl::Milliseconds(200));
  if (GetParam().worker == Loss::kGoesOn) return ExpectGoesOn();
  EXPECT_EQ(cluster_.StateOf(job_), JobState::kFailed);
  EXPECT_THAT(cluster_.View(job_).error,
              AllOf(HasSubstr("worker w2"), HasSubstr("no heartbeat for 5s"),
                    HasSubstr("rank 1"), HasSubstr("submit the job again")));
  ExpectEnd(JobState::kFailed);
}

TEST_P(JobStageTest, AServersDeathIsToldWithinTheTimeout) {
  cluster_.Silence("s2");
  cluster_.Pass(kTimeout + absl::Milliseconds(200));
  if (GetParam().server == Loss::kGoesOn) return ExpectGoesOn();
  EXPECT_EQ(cluster_.StateOf(job_), JobState::kFailed);
  EXPECT_THAT(
      cluster_.View(job_).error,
      AllOf(HasSubstr("server s2"), HasSubstr("no heartbeat for 5s"),
            HasSubstr("partitions"), HasSubstr("submit the job again")));
  ExpectEnd(JobState::kFailed);
}

TEST_P(JobStageTest, AWorkersRestartIsItsDeath) {
  cluster_.Restart("w2");
  if (GetParam().worker == Loss::kGoesOn) return ExpectGoesOn();
  EXPECT_EQ(cluster_.StateOf(job_), JobState::kFailed);
  EXPECT_THAT(cluster_.View(job_).error,
              AllOf(HasSubstr("worker w2"), HasSubstr("restarted")));
  ExpectEnd(JobState::kFailed);
}

// It comes back within the timeout, under its name, and empty.
TEST_P(JobStageTest, AServersRestartIsItsDeath) {
  cluster_.Restart("s2");
  if (GetParam().server == Loss::kGoesOn) return ExpectGoesOn();
  EXPECT_EQ(cluster_.StateOf(job_), JobState::kFailed);
  EXPECT_THAT(cluster_.View(job_).error,
              AllOf(HasSubstr("server s2"), HasSubstr("restarted")));
  ExpectEnd(JobState::kFailed);
}

TEST_P(JobStageTest, AnotherJobsNodesAreNobodysConcern) {
  cluster_.Register("w9", NodeRole::kWorker);
  cluster_.Register("s9", NodeRole::kServer);
  cluster_.Silence("w9");
  cluster_.Silence("s9");
  cluster_.Pass(2 * kTimeout);
  ExpectGoesOn();
}

TEST_P(JobStageTest, AFailureIsRecordedWhereTheModelWouldBe) {
  cluster_.Restart("s1");
  cluster_.Restart("s2");
  if (cluster_.StateOf(job_) != JobState::kFailed) {
    GTEST_SKIP() << "nothing fails here";
  }
  if (GetParam().name == "Resolving") {
    EXPECT_THAT(cluster_.records, IsEmpty()) << "the folder is not proven yet";
  } else {
    EXPECT_EQ(cluster_.records[job_].state, JobState::kFailed);
  }
}

INSTANTIATE_TEST_SUITE_P(Stages, JobStageTest, ::testing::ValuesIn(Stages()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace seraph
