#include "scheduler/service/scheduler_engine.h"

#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/concurrent/notification.h"
#include "common/status/errors.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::SizeIs;

JobSubmitted SubmissionOf(const std::string& id) {
  JobSubmitted event;
  event.id = id;
  event.request.spec.name = id;
  event.request.spec.data.train = {"train"};
  return event;
}

// Comes back with an event from inside of an order.
class ComingBack final : public OrderCarrier {
 public:
  explicit ComingBack(SchedulerEngine* engine) : engine_(*engine) {}

  void Carry(Order order) override {
    ++depth_;
    EXPECT_EQ(depth_, 1) << "one order at a time";
    if (std::holds_alternative<LogLine>(order.body)) {
      carried.push_back(order.job.id);
      if (order.job.id == "a") engine_.Handle(SubmissionOf("b"));
      carried.push_back("end of " + order.job.id);
    }
    --depth_;
  }

  std::vector<std::string> carried;

 private:
  SchedulerEngine& engine_;
  int depth_ = 0;
};

class SchedulerEngineTest : public ::testing::Test {
 protected:
  SchedulerEngine engine_{{}, MonotonicClock::Real(), WallClock::Real()};
};

TEST_F(SchedulerEngineTest, CarriesOrdersOneAtATimeAndInOrder) {
  ComingBack carrier(&engine_);
  engine_.SetCarrier(&carrier);
  const SchedulerEngine::Answer answer = engine_.Handle(SubmissionOf("a"));
  EXPECT_THAT(answer.status, IsOk());
  EXPECT_EQ(answer.job, "a");
  engine_.Stop();
  EXPECT_THAT(carrier.carried, ElementsAre("a", "end of a", "b", "end of b"));
}

class Counting final : public OrderCarrier {
 public:
  void Carry(Order order) override {
    // No lock: the engine lets one thread carry at a time.
    if (std::holds_alternative<LogLine>(order.body)) ++lines;
  }
  int lines = 0;
};

TEST_F(SchedulerEngineTest, ManyThreadsLoseNoOrder) {
  Counting carrier;
  engine_.SetCarrier(&carrier);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        EXPECT_THAT(
            engine_.Handle(SubmissionOf(absl::StrCat(t, "-", i))).status,
            IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  engine_.Stop();
  EXPECT_EQ(carrier.lines, 400);
  EXPECT_THAT(engine_.Jobs(), SizeIs(400));
}

TEST_F(SchedulerEngineTest, LooksShowWhatIsNew) {
  Counting carrier;
  engine_.SetCarrier(&carrier);
  EXPECT_FALSE(engine_.LookAt("a", 0).exists);
  engine_.Handle(SubmissionOf("a"));
  SchedulerEngine::Look look = engine_.LookAt("a", 0);
  ASSERT_TRUE(look.changed.has_value());
  const uint64_t version = look.changed->version;
  look = engine_.LookAt("a", version);
  EXPECT_TRUE(look.exists);
  EXPECT_FALSE(look.changed.has_value());
  engine_.Handle(JobCancelled{"a"});
  look = engine_.LookAt("a", version);
  ASSERT_TRUE(look.changed.has_value());
  EXPECT_EQ(look.changed->state, JobState::kCancelled);
  EXPECT_TRUE(engine_.IsAllFreed());
  EXPECT_THAT(engine_.Handle(JobCancelled{"b"}).status,
              StatusIs(absl::StatusCode::kNotFound));
}

// A store that does what the test says, and writes down what it is asked.
class FakeStore final : public StateStore {
 public:
  uint64_t term() const override { return 1; }
  bool durable() const override { return true; }
  absl::StatusOr<StateRecords> Load() override { return StateRecords(); }
  absl::Status Check() const override {
    MutexLock lock(&mu_);
    return check_;
  }
  absl::Status Commit(const StateWrites& writes) override {
    MutexLock lock(&mu_);
    ++commits_;
    changed_.NotifyAll();
    while (held_) changed_.Wait(&mu_);
    if (failures_ > 0) {
      --failures_;
      return failure_;
    }
    if (!failure_.ok() && failures_ < 0) return failure_;
    stored_ += writes.size();
    return absl::OkStatus();
  }

  void Hold(bool held) {
    MutexLock lock(&mu_);
    held_ = held;
    changed_.NotifyAll();
  }
  // For `times` commits; -1: for ever.
  void Fail(absl::Status failure, int times) {
    MutexLock lock(&mu_);
    failure_ = std::move(failure);
    failures_ = times;
  }
  void Depose() {
    MutexLock lock(&mu_);
    check_ = WithReason(absl::FailedPreconditionError("deposed"), "DEPOSED");
  }
  void WaitForCommits(int commits) {
    MutexLock lock(&mu_);
    while (commits_ < commits) changed_.Wait(&mu_);
  }
  int commits() const {
    MutexLock lock(&mu_);
    return commits_;
  }
  size_t stored() const {
    MutexLock lock(&mu_);
    return stored_;
  }

 private:
  mutable Mutex mu_;
  mutable CondVar changed_;
  absl::Status check_ ABSL_GUARDED_BY(mu_);
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  int failures_ ABSL_GUARDED_BY(mu_) = 0;
  bool held_ ABSL_GUARDED_BY(mu_) = false;
  int commits_ ABSL_GUARDED_BY(mu_) = 0;
  size_t stored_ ABSL_GUARDED_BY(mu_) = 0;
};

class StoringEngineTest : public ::testing::Test {
 protected:
  StoringEngineTest() { engine_.SetCarrier(&carrier_); }

  struct Waiting {
    Notification answered;
    SchedulerEngine::Answer answer;
  };
  void Submit(const std::string& id, Waiting* waiting) {
    engine_.Handle(SubmissionOf(id), [waiting](SchedulerEngine::Answer answer) {
      waiting->answer = std::move(answer);
      waiting->answered.Notify();
    });
  }

  FakeStore store_;
  Counting carrier_;
  SchedulerEngine engine_{{.retry_pause = absl::Milliseconds(1)},
                          MonotonicClock::Real(),
                          WallClock::Real(),
                          &store_};
};

TEST_F(StoringEngineTest, NothingLeavesBeforeItIsStoredAndManyAreStoredAsOne) {
  store_.Hold(true);
  Waiting first, second, third;
  Submit("a", &first);
  store_.WaitForCommits(1);
  Submit("b", &second);
  Submit("c", &third);
  EXPECT_FALSE(first.answered.HasBeenNotified());
  EXPECT_EQ(carrier_.lines, 0);
  store_.Hold(false);
  for (Waiting* waiting : {&first, &second, &third}) {
    waiting->answered.Wait();
    EXPECT_THAT(waiting->answer.status, IsOk());
  }
  engine_.Stop();
  EXPECT_EQ(store_.commits(), 2);
  EXPECT_EQ(carrier_.lines, 3);
}

TEST_F(StoringEngineTest, AHeartbeatStoresNothingAndWaitsForNobody) {
  store_.Hold(true);
  Waiting first;
  Submit("a", &first);
  store_.WaitForCommits(1);
  Notification answered;
  engine_.Handle(NodeHeartbeat{.name = "n", .incarnation = 1},
                 [&](SchedulerEngine::Answer) { answered.Notify(); });
  EXPECT_TRUE(answered.HasBeenNotified());
  EXPECT_EQ(store_.commits(), 1);
  store_.Hold(false);
  first.answered.Wait();
}

TEST_F(StoringEngineTest, AFullDiskIsWaitedOut) {
  store_.Fail(absl::ResourceExhaustedError("disk full"), 5);
  EXPECT_THAT(engine_.Handle(SubmissionOf("a")).status, IsOk());
  EXPECT_EQ(store_.commits(), 6);
  EXPECT_THAT(engine_.halted(), IsOk());
}

TEST_F(StoringEngineTest, WhatCannotBeStoredEndsTheScheduler) {
  store_.Fail(absl::InternalError("sync failed"), -1);
  EXPECT_THAT(engine_.Handle(SubmissionOf("a")).status,
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(engine_.halted(),
              StatusIs(absl::StatusCode::kInternal, "sync failed"));
  EXPECT_THAT(engine_.Handle(SubmissionOf("b")).status,
              StatusIs(absl::StatusCode::kUnavailable));
  engine_.Stop();
  EXPECT_EQ(carrier_.lines, 0);
  EXPECT_EQ(store_.stored(), 0);
}

TEST_F(StoringEngineTest, ADeposedSchedulerOrdersNothingMore) {
  store_.Hold(true);
  Waiting first;
  Submit("a", &first);
  store_.WaitForCommits(1);
  store_.Depose();
  store_.Hold(false);
  first.answered.Wait();
  EXPECT_EQ(ReasonOf(first.answer.status), "NOT_LEADER");
  engine_.Stop();
  EXPECT_EQ(carrier_.lines, 0);
  EXPECT_EQ(ReasonOf(engine_.halted()), "DEPOSED");
}

// It was stopped for long, and another one leads: what it knows is old.
TEST_F(StoringEngineTest, ADeposedSchedulerTellsNobodyThatTheyAreNotKnown) {
  const NodeHeartbeat beat{.name = "n", .incarnation = 1};
  EXPECT_THAT(engine_.Handle(beat).status,
              StatusIs(absl::StatusCode::kNotFound));
  store_.Depose();
  const absl::Status answer = engine_.Handle(beat).status;
  EXPECT_THAT(answer, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(ReasonOf(answer), "NOT_LEADER");
  engine_.Stop();
  EXPECT_EQ(ReasonOf(engine_.halted()), "DEPOSED");
}

TEST_F(StoringEngineTest, AnAnswerThatWaitedIsNotGivenByADeposedScheduler) {
  store_.Hold(true);
  Waiting first, behind;
  Submit("a", &first);
  store_.WaitForCommits(1);
  engine_.Handle(JobCancelled{"b"}, [&](SchedulerEngine::Answer answer) {
    behind.answer = std::move(answer);
    behind.answered.Notify();
  });
  EXPECT_FALSE(behind.answered.HasBeenNotified());
  store_.Depose();
  store_.Hold(false);
  behind.answered.Wait();
  EXPECT_EQ(ReasonOf(behind.answer.status), "NOT_LEADER");
}

TEST_F(StoringEngineTest, AReasonFromOutsideHaltsIt) {
  engine_.Halt(absl::FailedPreconditionError("an old copy"));
  engine_.Stop();
  EXPECT_THAT(engine_.halted(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "an old copy"));
}

}  // namespace
}  // namespace seraph
