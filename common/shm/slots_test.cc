#include "common/shm/slots.h"

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::_;

constexpr uint64_t kBytes = 1 << 20;
const auto kUnavailable = StatusIs(absl::StatusCode::kUnavailable, _);
const auto kInvalid = StatusIs(absl::StatusCode::kInvalidArgument, _);

TEST(SlotTableTest, SlotsNeverOverlapAndNothingIsLost) {
  constexpr uint64_t kSeed = 25;
  SlotTable table(kBytes);
  std::map<uint64_t, uint64_t> taken;  // Offset -> end.
  uint64_t refused = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    if (ToBelow(Draw(kSeed, {0, i}), 2) == 0 && !taken.empty()) {
      auto it = taken.begin();
      std::advance(it, ToBelow(Draw(kSeed, {1, i}), taken.size()));
      table.Give(it->first);
      taken.erase(it);
      continue;
    }
    const uint64_t length = ToBelow(Draw(kSeed, {2, i}), 100000);
    const auto offset = table.Take(length);
    if (!offset.has_value()) {
      ++refused;
      continue;
    }
    EXPECT_GE(*offset, SharedSegment::kHeadBytes);
    EXPECT_EQ(*offset % 64, 0);
    const uint64_t end = *offset + 64 + length;
    EXPECT_LE(end, kBytes);
    const auto after = taken.upper_bound(*offset);
    if (after != taken.end()) {
      EXPECT_LE(end, after->first);
    }
    if (after != taken.begin()) {
      EXPECT_LE(std::prev(after)->second, *offset);
    }
    taken[*offset] = end;
  }
  EXPECT_GT(refused, 0);
  for (const auto& [offset, end] : taken) table.Give(offset);
  EXPECT_TRUE(table.empty());
  // All of it is one piece again.
  EXPECT_TRUE(table.Take(kBytes - SharedSegment::kHeadBytes - 64).has_value());
  EXPECT_FALSE(table.Take(0).has_value());
}

TEST(SlotTableTest, MoreThanThereIsIsRefused) {
  SlotTable table(kBytes);
  EXPECT_EQ(table.Take(kBytes), std::nullopt);
  EXPECT_EQ(table.Take(~uint64_t{0}), std::nullopt);
  EXPECT_EQ(SlotTable(10).Take(0), std::nullopt);
}

class SlotsTest : public ::testing::Test {
 protected:
  SlotsTest() {
    mine_ = *SharedSegment::Make(kBytes, 1, 2);
    theirs_ = *SharedSegment::Open(mine_->name());
  }

  void Write(const SlotRef& slot, const std::string& bytes) {
    bytes.copy(BeginWriting(*mine_, slot), bytes.size());
    EndWriting(*mine_, slot);
  }

  // Copies a slot; an error too if it was given away meanwhile.
  absl::Status Read(const SlotRef& slot, std::string* to) {
    auto bytes = BytesOfSlot(*theirs_, slot);
    if (!bytes.ok()) return bytes.status();
    to->assign(*bytes, slot.length);
    std::atomic_thread_fence(std::memory_order_acquire);
    return BytesOfSlot(*theirs_, slot).status();
  }

  std::unique_ptr<SharedSegment> mine_;
  std::unique_ptr<SharedSegment> theirs_;
};

TEST_F(SlotsTest, TheBytesOfARequest) {
  const SlotRef slot{.offset = 256, .length = 5, .request = 7};
  Write(slot, "bytes");
  std::string read(5, ' ');
  EXPECT_THAT(Read(slot, &read), IsOk());
  EXPECT_EQ(read, "bytes");
}

// The stream broke, the push was sent again and acknowledged, its slot was
// given to another: the old message, still queued, names it.
TEST_F(SlotsTest, ASlotThatBelongsToALaterRequestIsNotRead) {
  const SlotRef old{.offset = 256, .length = 5, .request = 7};
  Write(old, "bytes");
  const SlotRef later{.offset = 256, .length = 5, .request = 8};
  BeginWriting(*mine_, later);
  std::string read(5, ' ');
  EXPECT_THAT(Read(old, &read), kUnavailable);
  EXPECT_THAT(Read(later, &read), kUnavailable) << "it is not there yet";
  EXPECT_THAT(BytesOfSlot(*theirs_, old), kUnavailable);
  EndWriting(*mine_, later);
  EXPECT_THAT(Read(old, &read), kUnavailable);
  EXPECT_THAT(Read(later, &read), IsOk());
}

TEST_F(SlotsTest, OtherLengthsAndPlacesAreRefused) {
  const SlotRef slot{.offset = 256, .length = 5, .request = 7};
  Write(slot, "bytes");
  std::string read(5, ' ');
  for (const SlotRef& wrong : {SlotRef{256, 6, 7}, SlotRef{256, 5, 9},
                               SlotRef{320, 5, 7}, SlotRef{256, 5, 0}}) {
    EXPECT_THAT(Read(wrong, &read), kUnavailable) << wrong.offset;
  }
  for (const SlotRef& wrong :
       {SlotRef{0, 5, 7}, SlotRef{257, 5, 7}, SlotRef{kBytes, 0, 7},
        SlotRef{kBytes - 64, 1, 7}, SlotRef{~uint64_t{63}, 5, 7},
        SlotRef{256, ~uint64_t{0}, 7}}) {
    EXPECT_THAT(Read(wrong, &read), kInvalid) << wrong.offset;
    EXPECT_THAT(BytesOfSlot(*theirs_, wrong), kInvalid) << wrong.offset;
  }
}

// A slot is given from request to request while the other end reads: whatever
// it says it has read is one request's bytes.
TEST_F(SlotsTest, NoMixtureIsEverRead) {
  constexpr uint64_t kLength = 4096;
  std::atomic<uint64_t> current = 0;
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (uint64_t request = 1; !stop; ++request) {
      const SlotRef slot{.offset = 256, .length = kLength, .request = request};
      char* const to = BeginWriting(*mine_, slot);
      std::fill_n(to, kLength, static_cast<char>(request));
      EndWriting(*mine_, slot);
      current = request;
    }
  });
  std::string read(kLength, ' ');
  int whole = 0;
  int refused = 0;
  while (whole < 300 || refused < 300) {
    const SlotRef slot{.offset = 256, .length = kLength, .request = current};
    if (!Read(slot, &read).ok()) {
      ++refused;
      std::this_thread::yield();
      continue;
    }
    ++whole;
    ASSERT_EQ(read.find_first_not_of(static_cast<char>(slot.request)),
              std::string::npos);
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace seraph
