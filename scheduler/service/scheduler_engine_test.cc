#include "scheduler/service/scheduler_engine.h"

#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
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

}  // namespace
}  // namespace seraph
