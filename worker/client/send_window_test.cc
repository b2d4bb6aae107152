#include "worker/client/send_window.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = SendWindow::Kind;

class SendWindowTest : public ::testing::Test {
 protected:
  // The requests that leave, by id.
  std::vector<uint64_t> Add(uint64_t id, Kind kind, uint64_t bytes,
                            uint64_t entry = 0) {
    std::vector<uint64_t> leaving;
    window_.Add({.id = id, .kind = kind, .bytes = bytes, .entry = entry},
                &leaving);
    return leaving;
  }
  std::vector<uint64_t> Remove(uint64_t id) {
    std::vector<uint64_t> leaving;
    window_.Remove(id, &leaving);
    return leaving;
  }

  SendWindow window_{100};
};

TEST_F(SendWindowTest, PushesLeaveInOrderAsThereIsRoom) {
  EXPECT_THAT(Add(1, Kind::kPush, 60), ElementsAre(1));
  EXPECT_THAT(Add(2, Kind::kPush, 60), IsEmpty());
  EXPECT_THAT(Add(3, Kind::kPush, 10), IsEmpty()) << "not before 2";
  EXPECT_THAT(Remove(1), ElementsAre(2, 3));
  EXPECT_EQ(window_.bytes_out(), 70);
  EXPECT_THAT(Remove(2), IsEmpty());
  EXPECT_THAT(Remove(3), IsEmpty());
  EXPECT_EQ(window_.bytes_out(), 0);
  EXPECT_THAT(Remove(3), IsEmpty()) << "an answer that comes twice";
}

// Eight ranks of one worker: the pulls of four of them wait at the server for
// the pushes of the others, which must leave all the same.
TEST_F(SendWindowTest, ParkedPullsHoldNoPlaceAndBlockNothing) {
  for (uint64_t rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(Add(rank, Kind::kPushPull, 90), ElementsAre(rank));
  }
  EXPECT_THAT(Add(4, Kind::kPush, 90), ElementsAre(4));
  EXPECT_THAT(Add(5, Kind::kPush, 90), IsEmpty());
  EXPECT_THAT(Add(6, Kind::kPull, 90), ElementsAre(6))
      << "a pull does not wait for room either";
}

TEST_F(SendWindowTest, WhatIsLargerThanTheWindowGoesAlone) {
  EXPECT_THAT(Add(1, Kind::kPush, 500), ElementsAre(1));
  EXPECT_THAT(Add(2, Kind::kPush, 1), IsEmpty());
  EXPECT_THAT(Remove(1), ElementsAre(2));
}

// The server acknowledges the pieces of an entry when all of them are there.
TEST_F(SendWindowTest, FurtherPiecesOfAnEntryNeverWait) {
  EXPECT_THAT(Add(1, Kind::kPush, 90, /*entry=*/7), ElementsAre(1));
  EXPECT_THAT(Add(2, Kind::kPush, 90), IsEmpty());
  EXPECT_THAT(Add(3, Kind::kPush, 90, /*entry=*/8), IsEmpty());
  EXPECT_THAT(Add(4, Kind::kPush, 90, /*entry=*/7), ElementsAre(4));
  EXPECT_THAT(Remove(1), IsEmpty());
  EXPECT_THAT(Remove(4), ElementsAre(2));
  EXPECT_THAT(Remove(2), ElementsAre(3));
  EXPECT_THAT(Add(5, Kind::kPush, 90, /*entry=*/8), ElementsAre(5));
}

TEST_F(SendWindowTest, PiecesThatWaitFollowTheFirstOfTheirEntry) {
  Add(1, Kind::kPush, 90);
  Add(2, Kind::kPush, 90, /*entry=*/7);
  Add(3, Kind::kPush, 90);
  Add(4, Kind::kPush, 90, /*entry=*/7);
  EXPECT_THAT(Remove(1), ElementsAre(2, 4));
}

}  // namespace
}  // namespace seraph
