// Many jobs and nodes: who starts, who waits, what is remembered.
#include "scheduler/core/scheduler_core.h"

#include <string>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/core/fake_cluster.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

JobSpec JobOf(uint32_t ranks) {
  JobSpec spec = SmallJob();
  spec.ranks = ranks;
  return spec;
}

TEST(SchedulerCoreTest, AJobWaitsForNodesAndSaysForWhat) {
  FakeCluster cluster;
  const std::string job = cluster.Submit(JobOf(2));
  EXPECT_EQ(cluster.StateOf(job), JobState::kPending);
  EXPECT_EQ(cluster.PhaseOf(job), JobPhase::kWaiting);
  EXPECT_THAT(cluster.View(job).waiting_for, HasSubstr("no server"));
  cluster.AddServers(1);
  EXPECT_THAT(cluster.View(job).waiting_for, HasSubstr("no worker"));
  cluster.AddWorkers(1, /*slots=*/1);
  EXPECT_THAT(cluster.View(job).waiting_for, HasSubstr("all 2 ranks"));
  cluster.Register("w2", NodeRole::kWorker, 1);
  EXPECT_EQ(cluster.StateOf(job), JobState::kRunning);
  EXPECT_EQ(cluster.View(job).waiting_for, "");
}

// Two jobs that each hold half of the slots would wait for ever.
TEST(SchedulerCoreTest, SlotsAreTakenAllAtOnceAndFreedAtTheEnd) {
  FakeCluster cluster;
  cluster.AddServers(1);
  cluster.AddWorkers(2, /*slots=*/2);
  const std::string a = cluster.Submit(JobOf(3));
  const std::string b = cluster.Submit(JobOf(3));
  const std::string c = cluster.Submit(JobOf(1));
  EXPECT_EQ(cluster.StateOf(a), JobState::kRunning);
  EXPECT_EQ(cluster.StateOf(b), JobState::kPending);
  EXPECT_EQ(cluster.StateOf(c), JobState::kRunning) << "nobody holds it up";

  cluster.Hold<StopJob>();
  cluster.Cancel(a);
  EXPECT_EQ(cluster.StateOf(b), JobState::kPending)
      << "the ranks of the first may still run";
  cluster.LetGo<StopJob>();
  EXPECT_EQ(cluster.StateOf(b), JobState::kRunning);
}

TEST(SchedulerCoreTest, WhatBecomesFreeIsGivenAwayOnce) {
  FakeCluster cluster;
  cluster.AddServers(1);
  const std::string a = cluster.Submit(JobOf(3));
  const std::string b = cluster.Submit(JobOf(3));
  cluster.AddWorkers(1, /*slots=*/4);
  EXPECT_EQ(cluster.StateOf(a), JobState::kRunning);
  EXPECT_EQ(cluster.StateOf(b), JobState::kPending);
}

TEST(SchedulerCoreTest, ABspJobRunsOnNodesThatComputeTheSameBits) {
  FakeCluster cluster;
  cluster.Register("s1", NodeRole::kServer, 0, "x");
  cluster.Register("w1", NodeRole::kWorker, 0, "y");
  const std::string bsp = cluster.Submit(JobOf(1));
  EXPECT_EQ(cluster.StateOf(bsp), JobState::kPending);
  JobSpec asp = JobOf(1);
  asp.sync.mode = SyncMode::kAsp;
  EXPECT_EQ(cluster.StateOf(cluster.Submit(asp)), JobState::kRunning);
  cluster.Register("s2", NodeRole::kServer, 0, "y");
  EXPECT_EQ(cluster.StateOf(bsp), JobState::kRunning);
  EXPECT_FALSE(cluster.tables["s1"].contains(bsp));
}

TEST(SchedulerCoreTest, APendingJobCanBeCancelled) {
  FakeCluster cluster;
  const std::string job = cluster.Submit(JobOf(1));
  cluster.Cancel(job);
  EXPECT_EQ(cluster.StateOf(job), JobState::kCancelled);
  EXPECT_TRUE(cluster.HoldsNothing(job));
  cluster.AddServers(1);
  cluster.AddWorkers(1);
  EXPECT_EQ(cluster.StateOf(job), JobState::kCancelled) << "an end is final";
  EXPECT_THAT(cluster.records, IsEmpty());
}

TEST(SchedulerCoreTest, ASubmissionIsRepeatedWithoutASecondJob) {
  FakeCluster cluster;
  const std::string job = cluster.Submit(JobOf(1), "mine");
  EXPECT_EQ(cluster.Submit(JobOf(1), "mine"), job);
  EXPECT_THAT(cluster.Submit(JobOf(2), "mine"), HasSubstr("ALREADY_EXISTS"));
  EXPECT_NE(cluster.Submit(JobOf(1), "other"), job);
  EXPECT_NE(cluster.Submit(JobOf(1)), cluster.Submit(JobOf(1)))
      << "without an id each is a job of its own";
  EXPECT_THAT(cluster.core().Jobs(), SizeIs(4));
}

TEST(SchedulerCoreTest, JobsComeNewestFirst) {
  FakeCluster cluster;
  const std::string a = cluster.Submit(JobOf(1));
  const std::string b = cluster.Submit(JobOf(1));
  std::vector<std::string> ids;
  for (const JobView& view : cluster.core().Jobs()) ids.push_back(view.id);
  EXPECT_THAT(ids, ElementsAre(b, a));
}

TEST(SchedulerCoreTest, UnknownJobsAreNotFound) {
  FakeCluster cluster;
  constexpr auto kNotFound = absl::StatusCode::kNotFound;
  EXPECT_THAT(cluster.Handle(JobCancelled{"x"}).status, StatusIs(kNotFound));
  EXPECT_THAT(cluster.Handle(EpochShared{{"x", 1}, {}, 1}).status,
              StatusIs(kNotFound));
  EXPECT_EQ(cluster.core().Find("x"), nullptr);
}

TEST(SchedulerCoreTest, OldJobsAreForgottenButNoneThatHoldsSomething) {
  SchedulerOptions options;
  options.max_jobs = 2;
  FakeCluster cluster(options);
  cluster.AddServers(1);
  cluster.AddWorkers(1);
  const std::string running = cluster.Submit(JobOf(1));
  const std::string ended = cluster.Submit(JobOf(1), "mine");
  cluster.Cancel(ended);
  const std::string next = cluster.Submit(JobOf(1));
  EXPECT_EQ(cluster.core().Find(ended), nullptr);
  EXPECT_FALSE(cluster.logs.contains(ended));
  EXPECT_NE(cluster.core().Find(running), nullptr);
  EXPECT_NE(cluster.core().Find(next), nullptr);
  EXPECT_NE(cluster.Submit(JobOf(3), "mine"), "") << "its id is free again";
  EXPECT_THAT(cluster.core().Jobs(), SizeIs(3)) << "all of them run";
}

TEST(SchedulerCoreTest, TooManyWaitingJobsAreRefused) {
  SchedulerOptions options;
  options.max_pending_jobs = 2;
  FakeCluster cluster(options);
  cluster.Submit(JobOf(1));
  const std::string second = cluster.Submit(JobOf(1));
  EXPECT_THAT(cluster.Submit(JobOf(1)), HasSubstr("RESOURCE_EXHAUSTED"));
  cluster.Cancel(second);
  EXPECT_EQ(cluster.StateOf(cluster.Submit(JobOf(1))), JobState::kPending);
}

TEST(SchedulerCoreTest, ANodeThatLeavesIsLostAtOnce) {
  FakeCluster cluster;
  cluster.AddServers(1);
  cluster.AddWorkers(1);
  const std::string job = cluster.Submit(JobOf(1));
  const Node server = cluster.node("s1");
  EXPECT_THAT(cluster.Handle(NodeLeft{"s1", server.incarnation}).status,
              IsOk());
  EXPECT_EQ(cluster.PhaseOf(job), JobPhase::kRecovering);
  cluster.Run();
  EXPECT_THAT(cluster.lost_nodes, ElementsAre("s1"));
  EXPECT_THAT(cluster.logs[job], Contains(HasSubstr("was stopped")));
  EXPECT_THAT(cluster.Handle(NodeLeft{"s1", server.incarnation}).status, IsOk())
      << "a repeat";
}

TEST(SchedulerCoreTest, ASchedulerThatStopsFreesEverything) {
  FakeCluster cluster;
  cluster.AddServers(1);
  cluster.AddWorkers(1, /*slots=*/1);
  const std::string running = cluster.Submit(JobOf(1));
  const std::string pending = cluster.Submit(JobOf(1));
  EXPECT_FALSE(cluster.core().IsAllFreed());
  cluster.Handle(SchedulerStops{});
  cluster.Run();
  for (const std::string& job : {running, pending}) {
    EXPECT_EQ(cluster.StateOf(job), JobState::kFailed);
    EXPECT_THAT(cluster.View(job).error, HasSubstr("scheduler was stopped"));
    EXPECT_TRUE(cluster.HoldsNothing(job));
  }
  EXPECT_TRUE(cluster.core().IsAllFreed());
}

TEST(SchedulerCoreTest, HeartbeatsOfTheUnknownAreRefused) {
  FakeCluster cluster;
  EXPECT_THAT(cluster.Handle(NodeHeartbeat{"s1", 1, {}}).status,
              StatusIs(absl::StatusCode::kNotFound));
}

// After its own start a scheduler has heard of nobody yet.
TEST(SchedulerCoreTest, NobodyIsDeadRightAfterTheStart) {
  FakeCluster cluster;
  cluster.AddServers(1);
  cluster.AddWorkers(1);
  const std::string job = cluster.Submit(JobOf(1));
  cluster.Silence("s1");
  cluster.Pass(absl::Seconds(5));
  EXPECT_EQ(cluster.PhaseOf(job), JobPhase::kTraining);
  cluster.Pass(absl::Milliseconds(100));
  EXPECT_EQ(cluster.PhaseOf(job), JobPhase::kRecovering);
}

}  // namespace
}  // namespace seraph
