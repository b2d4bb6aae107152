#include "scheduler/job/teardown.h"

#include <string>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Node MakeNode(const std::string& name, NodeRole role) {
  Node node;
  node.name = name;
  node.role = role;
  node.incarnation = role == NodeRole::kServer ? 5 : 7;
  return node;
}

class TeardownTest : public ::testing::Test {
 protected:
  Reply Answer(OrderId id, absl::Status status = absl::OkStatus()) {
    return {id, std::move(status), {}};
  }

  const Node server_ = MakeNode("s", NodeRole::kServer);
  const Node worker_ = MakeNode("w", NodeRole::kWorker);
  Moment now_{absl::Seconds(1), absl::UnixEpoch()};
  OrderId last_id_ = 10;
  Teardown teardown_{{"job", 1}, {}, &last_id_};
  Orders out_;
};

TEST_F(TeardownTest, TellsWorkersToStopAndServersToDrop) {
  teardown_.Add(server_);
  teardown_.Add(worker_);
  EXPECT_THAT(out_, IsEmpty());
  teardown_.Start({}, now_, &out_);
  ASSERT_THAT(out_, SizeIs(2));
  EXPECT_TRUE(std::holds_alternative<DropJob>(out_[0].body));
  EXPECT_EQ(*out_[0].to, server_);
  EXPECT_TRUE(std::holds_alternative<StopJob>(out_[1].body));
  EXPECT_EQ(*out_[1].to, worker_);

  EXPECT_TRUE(teardown_.Take(Answer(out_[0].id), now_, &out_));
  EXPECT_FALSE(teardown_.done());
  EXPECT_FALSE(teardown_.Holds(server_));
  EXPECT_TRUE(teardown_.Holds(worker_));
  EXPECT_TRUE(teardown_.Take(Answer(out_[1].id), now_, &out_));
  EXPECT_TRUE(teardown_.done());
  EXPECT_FALSE(teardown_.Take(Answer(out_[1].id), now_, &out_)) << "a repeat";
}

// "Run ranks" is under way when the job ends. "Stop" must not overtake it: the
// ranks would begin after the stop, and nobody would ever stop them.
TEST_F(TeardownTest, StopDoesNotOvertakeTheOrderToBegin) {
  teardown_.Add(server_);
  teardown_.Add(worker_);
  teardown_.Start({{5, {"job", 1}, worker_, RunRanks{}},
                   {6, {"job", 1}, server_, AssignPartitions{}}},
                  now_, &out_);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_FALSE(teardown_.done());
  // However it was answered: it may have been carried out.
  EXPECT_TRUE(teardown_.Take(Answer(5, absl::CancelledError("")), now_, &out_));
  ASSERT_THAT(out_, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<StopJob>(out_[0].body));
  EXPECT_TRUE(teardown_.Take(Answer(6), now_, &out_));
  ASSERT_THAT(out_, SizeIs(2));
  EXPECT_TRUE(std::holds_alternative<DropJob>(out_[1].body));
}

TEST_F(TeardownTest, OrdersThatLeaveNothingBehindAreNotAwaited) {
  teardown_.Add(worker_);
  teardown_.Start({{5, {"job", 1}, worker_, ScanPiece{}},
                   {6, {"job", 1}, std::nullopt, ResolveFiles{}}},
                  now_, &out_);
  EXPECT_THAT(out_, SizeIs(1));
}

TEST_F(TeardownTest, ANodeThatIsGoneIsFreeAndIsToldNothing) {
  teardown_.Add(server_);
  teardown_.Add(worker_);
  teardown_.ForgetNode(worker_);
  teardown_.Start({{5, {"job", 1}, worker_, RunRanks{}}}, now_, &out_);
  ASSERT_THAT(out_, SizeIs(1));
  EXPECT_FALSE(teardown_.Take(Answer(5), now_, &out_));
  EXPECT_THAT(out_, SizeIs(1));
  teardown_.ForgetNode(server_);
  EXPECT_TRUE(teardown_.done());
}

TEST_F(TeardownTest, ANodeThatDiesWhileItIsAwaitedIsToldNothing) {
  teardown_.Add(worker_);
  teardown_.Start({{5, {"job", 1}, worker_, RunRanks{}}}, now_, &out_);
  teardown_.ForgetNode(worker_);
  EXPECT_TRUE(teardown_.done());
  EXPECT_FALSE(teardown_.Take(Answer(5), now_, &out_));
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(TeardownTest, AnotherIncarnationsDeathFreesNobody) {
  teardown_.Add(worker_);
  Node old = worker_;
  old.incarnation = 6;
  teardown_.ForgetNode(old);
  EXPECT_TRUE(teardown_.Holds(worker_));
}

TEST_F(TeardownTest, RepeatsUntilTheNodeAnswers) {
  teardown_.Add(worker_);
  teardown_.Start({}, now_, &out_);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(teardown_.Take(
        Answer(out_.back().id, absl::UnavailableError("")), now_, &out_));
    const size_t sent = out_.size();
    now_.steady += absl::Seconds(3);
    teardown_.Tick(now_, &out_);
    ASSERT_THAT(out_, SizeIs(sent + 1)) << "there is no giving up";
  }
  EXPECT_FALSE(teardown_.done());
  // The answer of another incarnation: this one is dead.
  teardown_.Take(Answer(out_.back().id, absl::FailedPreconditionError("")),
                 now_, &out_);
  EXPECT_TRUE(teardown_.done());
}

}  // namespace
}  // namespace seraph
