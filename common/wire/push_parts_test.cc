#include "common/wire/push_parts.h"

#include <limits>

#include "common/testing/status_matchers.h"
#include "common/wire/spelled_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::Spelled;

constexpr uint64_t kMost32 = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMost64 = std::numeric_limits<uint64_t>::max();

TEST(PushPartsTest, EmptyPartsComeBackAsTheyWere) {
  const EmptyPart parts[] = {
      {}, {1, 2, 3}, {kMost32, kMost32, kMost64}, {1, 2, 3}};
  v1::PushRequest sent;
  sent.add_parts();
  for (const EmptyPart& part : parts) AddEmptyPart(part, &sent);
  v1::PushRequest push;
  ASSERT_TRUE(push.ParseFromString(sent.SerializeAsString()));
  EXPECT_THAT(CheckEmptyParts(push), IsOk());
  ASSERT_EQ(EmptyPartsOf(push), 4);
  EXPECT_EQ(PartsOf(push), 5);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(EmptyPartAt(push, i), parts[i]);
  const v1::PushRequest spelled = Spelled(push);
  ASSERT_EQ(spelled.parts_size(), 5);
  EXPECT_EQ(EmptyPartsOf(spelled), 0);
  for (int i = 0; i < 4; ++i) {
    const v1::PushPart& part = spelled.parts(1 + i);
    EXPECT_EQ((EmptyPart{part.table(), part.partition(), part.epoch()}),
              parts[i]);
  }
}

TEST(PushPartsTest, NumbersThatAreNoPartsAreToldFromThem) {
  v1::PushRequest push;
  EXPECT_THAT(CheckEmptyParts(push), IsOk());
  for (int numbers = 1; numbers < 10; ++numbers) {
    push.add_empty_parts(1);
    EXPECT_EQ(CheckEmptyParts(push).ok(), numbers % 2 == 0) << numbers;
  }
}

TEST(PushPartsTest, ResultsAreTheSameInBothForms) {
  v1::PushReply spelled, taken;
  for (uint64_t i = 0; i < 3; ++i) {
    v1::PartResult* result = spelled.add_results();
    result->set_epoch(i);
    result->set_position(kMost64 - i);
    AddTaken(i, kMost64 - i, &taken);
  }
  ASSERT_EQ(ResultsOf(spelled), 3);
  ASSERT_EQ(ResultsOf(taken), 3);
  for (size_t i = 0; i < 3; ++i) {
    v1::PartResult room;
    room.set_code(v1::PART_INVALID);
    EXPECT_EQ(ResultAt(taken, i, &room).SerializeAsString(),
              spelled.results(i).SerializeAsString());
    EXPECT_EQ(&ResultAt(spelled, i, &room), &spelled.results(i));
  }
  EXPECT_EQ(Spelled(taken).SerializeAsString(), spelled.SerializeAsString());
  EXPECT_EQ(ResultsOf(v1::PushReply()), 0);
}

TEST(PushPartsTest, AReplyThatContradictsItselfHasNoResults) {
  v1::PushReply both;
  AddTaken(1, 2, &both);
  both.add_results();
  EXPECT_EQ(ResultsOf(both), 0);
  v1::PushReply odd;
  AddTaken(1, 2, &odd);
  odd.add_taken(3);
  EXPECT_EQ(ResultsOf(odd), 0);
}

}  // namespace
}  // namespace seraph
