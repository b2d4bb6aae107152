#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "common/base/draw.h"
#include "common/shm/shared_receiver.h"
#include "common/shm/shared_sender.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::_;

constexpr uint64_t kBytes = 1 << 20;
constexpr size_t kLeast = SharedSender::kLeastBytes;

class SharedMessagesTest : public ::testing::Test {
 protected:
  SharedMessagesTest() { sender_ = *SharedSender::Make(kBytes, 1, 2); }

  void Open() { receiver_ = *SharedReceiver::Open(sender_->name()); }

  std::optional<SlotRef> Write(const std::string& message) {
    const absl::string_view whole = message;
    const absl::string_view pieces[] = {
        whole.substr(0, 3), absl::string_view(),
        whole.substr(std::min<size_t>(3, whole.size()))};
    return sender_->Write(pieces, message.size());
  }

  std::unique_ptr<SharedSender> sender_;
  std::unique_ptr<SharedReceiver> receiver_;
};

TEST_F(SharedMessagesTest, NothingIsWrittenBeforeThePeerHasOpenedIt) {
  const std::string message(kLeast, 'x');
  EXPECT_EQ(Write(message), std::nullopt);
  Open();
  const auto slot = Write(message);
  ASSERT_TRUE(slot.has_value());
  const auto read = receiver_->Read(*slot);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->bytes, message);
}

TEST_F(SharedMessagesTest, SmallMessagesAndThoseWithoutRoomGoThroughTheStream) {
  Open();
  EXPECT_EQ(Write(std::string(kLeast - 1, 'x')), std::nullopt);
  EXPECT_EQ(Write(std::string(kBytes, 'x')), std::nullopt);
  const std::string half(kBytes / 2 - 1024, 'x');
  const auto first = Write(half);
  const auto second = Write(half);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(Write(half), std::nullopt);
  // Done with, in another order than they came: both come back.
  {
    auto one = *receiver_->Read(*first);
    auto two = *receiver_->Read(*second);
    two.lease.reset();
    EXPECT_EQ(Write(half), std::nullopt) << "the first is still read";
    EXPECT_EQ(one.bytes, half);
  }
  EXPECT_TRUE(Write(half).has_value());
  EXPECT_TRUE(Write(half).has_value());
}

TEST_F(SharedMessagesTest, ALeaseKeepsTheBytesLongerThanBothEnds) {
  Open();
  const std::string message(kLeast, 'm');
  auto read = *receiver_->Read(*Write(message));
  receiver_.reset();
  sender_.reset();
  EXPECT_EQ(read.bytes, message);
}

TEST_F(SharedMessagesTest, TheReceiverMayMakeTheSegment) {
  receiver_ = *SharedReceiver::Make(kBytes, 1, 2);
  sender_ = *SharedSender::Open(receiver_->name());
  const std::string message(kLeast, 'm');
  for (int i = 0; i < 100; ++i) {
    const auto slot = Write(message);
    ASSERT_TRUE(slot.has_value());
    EXPECT_EQ((*receiver_->Read(*slot)).bytes, message);
  }
}

TEST_F(SharedMessagesTest, OnlyTheNextMessageIsRead) {
  Open();
  const std::string message(kLeast, 'm');
  const SlotRef first = *Write(message);
  const SlotRef second = *Write(message);
  const auto invalid = StatusIs(absl::StatusCode::kInvalidArgument, _);
  EXPECT_THAT(receiver_->Read(second), invalid);
  SlotRef wrong = first;
  wrong.offset = kBytes;
  EXPECT_THAT(receiver_->Read(wrong), invalid);
  wrong = first;
  wrong.offset = second.offset;
  EXPECT_THAT(receiver_->Read(wrong),
              StatusIs(absl::StatusCode::kUnavailable, _));
  ASSERT_THAT(receiver_->Read(first), IsOk());
  EXPECT_THAT(receiver_->Read(first), invalid) << "it was read already";
  EXPECT_THAT(receiver_->Read(second), IsOk());
}

// Messages of all sizes, some of which are kept for long: each arrives as it
// was sent, whatever came before and after it.
TEST_F(SharedMessagesTest, ManyMessages) {
  constexpr uint64_t kSeed = 251;
  Open();
  std::deque<std::pair<SharedReceiver::Message, std::string>> kept;
  int written = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    std::string message(kLeast + ToBelow(Draw(kSeed, {0, i}), 100000),
                        static_cast<char>(i));
    message.back() = 'e';
    if (const auto slot = Write(message); slot.has_value()) {
      ++written;
      auto read = receiver_->Read(*slot);
      ASSERT_THAT(read, IsOk());
      kept.emplace_back(*std::move(read), std::move(message));
    } else {
      ASSERT_FALSE(kept.empty());
    }
    while (kept.size() > ToBelow(Draw(kSeed, {1, i}), 8)) {
      const size_t which = ToBelow(Draw(kSeed, {2, i}), kept.size());
      ASSERT_EQ(kept[which].first.bytes, kept[which].second);
      kept.erase(kept.begin() + which);
    }
  }
  EXPECT_GT(written, 4000);
}

// A peer that lies about what it has done gets others' bytes, and breaks
// nothing.
TEST_F(SharedMessagesTest, APeerThatSaysItIsDoneWithAllIsBelievedOnce) {
  Open();
  const std::string message(kLeast, 'm');
  ASSERT_TRUE(Write(message).has_value());
  const auto segment = SharedSegment::Open(sender_->name());
  ASSERT_THAT(segment, IsOk());
  (*segment)->done()->store(~uint64_t{0});
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(Write(message).has_value());
  (*segment)->done()->store(0);
  while (Write(message).has_value()) {
  }
}

}  // namespace
}  // namespace seraph
