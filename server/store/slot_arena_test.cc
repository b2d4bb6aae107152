#include "server/store/slot_arena.h"

#include <sys/mman.h>

#include <cstring>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

// The pages of a slot that are in memory.
size_t Resident(char* begin, size_t bytes) {
  std::vector<unsigned char> pages(bytes / SlotArena::PageBytes());
  EXPECT_EQ(mincore(begin, bytes, pages.data()), 0);
  size_t resident = 0;
  for (const unsigned char page : pages) resident += page & 1;
  return resident;
}

TEST(SlotArenaTest, SlotsAreApartAndZero) {
  const size_t bytes = 4 * SlotArena::PageBytes();
  SlotArena arena(bytes);
  std::set<char*> slots;
  for (int i = 0; i < 100; ++i) {
    char* slot = arena.Add();
    EXPECT_EQ(slot[0], 0);
    EXPECT_EQ(slot[bytes - 1], 0);
    std::memset(slot, 1, bytes);
    slots.insert(slot);
  }
  ASSERT_EQ(slots.size(), 100);
  char* before = nullptr;
  for (char* slot : slots) {
    EXPECT_TRUE(before == nullptr || slot - before >= bytes);
    before = slot;
  }
}

TEST(SlotArenaTest, OnlyWhatIsWrittenIsInMemoryUntilItIsReleased) {
  const size_t page = SlotArena::PageBytes();
  SlotArena arena(16 * page);
  for (int i = 0; i < 10; ++i) arena.Add();
  char* slot = arena.Add();
  EXPECT_EQ(Resident(slot, 16 * page), 0);
  std::memset(slot, 1, 5 * page);
  EXPECT_EQ(Resident(slot, 16 * page), 5);
  SlotArena::Release(slot + 3 * page, 2 * page);
  EXPECT_EQ(Resident(slot, 16 * page), 3);
  EXPECT_EQ(slot[3 * page - 1], 1);
  EXPECT_EQ(slot[3 * page], 0);
}

}  // namespace
}  // namespace seraph
