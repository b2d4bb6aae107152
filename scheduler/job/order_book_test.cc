#include "scheduler/job/order_book.h"

#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Node MakeNode(const std::string& name) {
  Node node;
  node.name = name;
  node.incarnation = std::hash<std::string>()(name);
  return node;
}

class OrderBookTest : public ::testing::Test {
 protected:
  RetryOptions options_{.pause = absl::Milliseconds(100),
                        .pause_max = absl::Milliseconds(500),
                        .give_up = absl::Seconds(10)};
  Moment now_{absl::Seconds(1), absl::UnixEpoch()};
  OrderId last_id_ = 41;
  OrderBook book_{{"job", 3}, options_, &last_id_};
  Orders out_;
};

TEST_F(OrderBookTest, NumbersOrdersAndClosesEachOnce) {
  const OrderId id = book_.Send(MakeNode("s"), DropJob{}, now_, &out_);
  EXPECT_EQ(id, 42u);
  ASSERT_THAT(out_, SizeIs(1));
  EXPECT_EQ(out_[0].id, id);
  EXPECT_EQ(out_[0].job, (JobRef{"job", 3}));
  EXPECT_TRUE(book_.IsOpen(id));
  const std::optional<ClosedOrder> closed = book_.Close(id);
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->order.to->name, "s");
  EXPECT_TRUE(std::holds_alternative<DropJob>(closed->order.body));
  EXPECT_FALSE(book_.Close(id).has_value()) << "a repeated answer";
  EXPECT_FALSE(book_.Close(7).has_value()) << "somebody else's";
  EXPECT_TRUE(book_.empty());
}

TEST_F(OrderBookTest, RepeatsWithLongerAndLongerPausesUnderNewNumbers) {
  OrderId id = book_.Send(MakeNode("s"), DropJob{}, now_, &out_);
  std::vector<absl::Duration> pauses;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(book_.Retry(*book_.Close(id), now_));
    const absl::Duration failed = now_.steady;
    out_.clear();
    while (out_.empty()) {
      now_.steady += absl::Milliseconds(10);
      book_.Tick(now_, &out_);
    }
    ASSERT_THAT(out_, SizeIs(1));
    EXPECT_GT(out_[0].id, id);
    EXPECT_TRUE(std::holds_alternative<DropJob>(out_[0].body));
    id = out_[0].id;
    pauses.push_back(now_.steady - failed);
  }
  EXPECT_THAT(pauses,
              ElementsAre(absl::Milliseconds(100), absl::Milliseconds(200),
                          absl::Milliseconds(400), absl::Milliseconds(500),
                          absl::Milliseconds(500)));
}

TEST_F(OrderBookTest, GivesUpWhatWasTriedForTooLong) {
  const OrderId first = book_.Send(MakeNode("s"), DropJob{}, now_, &out_);
  now_.steady += options_.give_up - absl::Milliseconds(1);
  ASSERT_TRUE(book_.Retry(*book_.Close(first), now_));
  now_.steady += absl::Seconds(1);
  out_.clear();
  book_.Tick(now_, &out_);
  ASSERT_THAT(out_, SizeIs(1));
  EXPECT_FALSE(book_.Retry(*book_.Close(out_[0].id), now_));
  EXPECT_TRUE(book_.empty());
}

TEST_F(OrderBookTest, ReleaseReturnsWhatIsUnansweredAndSendsNothingAgain) {
  const OrderId failed = book_.Send(MakeNode("s"), DropJob{}, now_, &out_);
  const OrderId open = book_.Send(MakeNode("s"), DropJob{}, now_, &out_);
  ASSERT_TRUE(book_.Retry(*book_.Close(failed), now_));
  const std::vector<Order> released = book_.Release();
  ASSERT_THAT(released, SizeIs(1));
  EXPECT_EQ(released[0].id, open);
  out_.clear();
  now_.steady += absl::Minutes(1);
  book_.Tick(now_, &out_);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_TRUE(book_.empty());
}

TEST_F(OrderBookTest, ForgetsANodesOrdersAndNoOthers) {
  const OrderId open = book_.Send(MakeNode("s"), DropJob{}, now_, &out_);
  const OrderId failed = book_.Send(MakeNode("s"), DropJob{}, now_, &out_);
  const OrderId other = book_.Send(MakeNode("t"), DropJob{}, now_, &out_);
  const OrderId local = book_.Send(std::nullopt, ExportModel{}, now_, &out_);
  ASSERT_TRUE(book_.Retry(*book_.Close(failed), now_));
  book_.ForgetNode(MakeNode("s"));
  out_.clear();
  now_.steady += absl::Minutes(1);
  book_.Tick(now_, &out_);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_FALSE(book_.IsOpen(open));
  EXPECT_TRUE(book_.IsOpen(other));
  EXPECT_TRUE(book_.IsOpen(local));
}

}  // namespace
}  // namespace seraph
