#include "worker/client/key_orders.h"

#include <algorithm>
#include <random>
#include <vector>

#include "common/base/scramble.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

const TableSpec kScrambled = {
    .name = "t", .kind = TableKind::kSparse, .scramble = true};

std::vector<Key> Draw(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Key> keys(n);
  for (Key& key : keys) key = random() % (64 * n);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

TEST(KeyOrdersTest, MixedKeysAscendAndKnowWhereTheyCameFrom) {
  KeyOrders orders;
  for (size_t n : {0, 1, 2, 3000}) {
    const std::vector<Key> keys = Draw(n, n);
    const auto order = orders.Of(0, kScrambled, keys);
    EXPECT_EQ(order->given, keys);
    ASSERT_EQ(order->mixed.size(), keys.size());
    EXPECT_TRUE(std::is_sorted(order->mixed.begin(), order->mixed.end()));
    std::vector<bool> seen(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(order->mixed[i], Scramble(keys[order->origin[i]]));
      seen[order->origin[i]] = true;
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0);
  }
  EXPECT_EQ(orders.found(), 0);
}

TEST(KeyOrdersTest, SortsTheKeysOfAPullOnlyOnce) {
  KeyOrders orders;
  std::vector<std::vector<Key>> batches;
  for (uint64_t i = 0; i < 3; ++i) batches.push_back(Draw(500, i));
  const auto first = orders.Of(0, kScrambled, batches[0]);
  orders.Of(0, kScrambled, batches[1]);
  orders.Of(0, kScrambled, batches[2]);
  EXPECT_EQ(orders.found(), 0);
  // Another vector of the same keys.
  const std::vector<Key> copy = batches[0];
  EXPECT_EQ(orders.Of(0, kScrambled, copy), first);
  EXPECT_EQ(orders.found(), 1);
}

TEST(KeyOrdersTest, OtherKeysAreNeverTakenForThem) {
  KeyOrders orders;
  const std::vector<Key> keys = Draw(500, 1);
  const auto first = orders.Of(0, kScrambled, keys);
  std::vector<Key> other = keys;
  ++other.back();
  const auto second = orders.Of(0, kScrambled, other);
  EXPECT_NE(second, first);
  EXPECT_EQ(second->given, other);
  other.pop_back();
  EXPECT_EQ(orders.Of(0, kScrambled, other)->given, other);
  EXPECT_NE(orders.Of(1, kScrambled, keys), first) << "of another table";
  EXPECT_EQ(orders.found(), 0);
}

TEST(KeyOrdersTest, TheOldestGoFirstByNumberAndByBytes) {
  KeyOrders orders;
  std::vector<std::vector<Key>> batches;
  for (uint64_t i = 0; i <= KeyOrders::kMost; ++i) {
    batches.push_back(Draw(50, i));
    orders.Of(0, kScrambled, batches.back());
  }
  orders.Of(0, kScrambled, batches[0]);
  EXPECT_EQ(orders.found(), 0) << "it was gone";
  orders.Of(0, kScrambled, batches[2]);
  EXPECT_EQ(orders.found(), 1);

  const size_t large = KeyOrders::kMostBytes / 20;
  std::vector<Key> keys(large + 1);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = 3 * i;
  const auto order = orders.Of(0, kScrambled, keys);
  EXPECT_EQ(orders.bytes(), keys.size() * 20)
      << "alone, though it is too large";
  EXPECT_EQ(orders.Of(0, kScrambled, keys), order);
}

}  // namespace
}  // namespace seraph
