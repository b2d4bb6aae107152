#include "server/service/key_list_cache.h"

#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace seraph {
namespace {

constexpr size_t kKeys = 1000;
// Of a list with what holds it, about.
constexpr size_t kListBytes = kKeys * 12 + 500;

KeyListCache::Id IdOf(uint64_t list) {
  return {.replica = 1, .rank = 2, .attempt = 3, .name = {list, list}};
}

std::shared_ptr<KeyList> ListOf(Key first) {
  std::vector<Key> keys(kKeys);
  for (size_t i = 0; i < kKeys; ++i) keys[i] = first + 2 * i;
  return std::make_shared<KeyList>(std::move(keys));
}

TEST(KeyListCacheTest, FindsWhatWasKeptForTheSameOneAlone) {
  KeyListCache cache(10 * kListBytes);
  EXPECT_EQ(cache.Find(IdOf(1)), nullptr);
  const auto list = ListOf(7);
  EXPECT_EQ(cache.Keep(IdOf(1), list), list);
  EXPECT_EQ(cache.Find(IdOf(1)), list);
  EXPECT_EQ(cache.Keep(IdOf(1), ListOf(7)), list) << "what is there stays";
  for (auto differ : {+[](KeyListCache::Id* id) { ++id->replica; },
                      +[](KeyListCache::Id* id) { ++id->rank; },
                      +[](KeyListCache::Id* id) { ++id->attempt; },
                      +[](KeyListCache::Id* id) { ++id->session; },
                      +[](KeyListCache::Id* id) { ++id->name.low; },
                      +[](KeyListCache::Id* id) { ++id->name.high; }}) {
    KeyListCache::Id other = IdOf(1);
    differ(&other);
    EXPECT_EQ(cache.Find(other), nullptr);
  }
  EXPECT_EQ(cache.hits(), 1u);
  EXPECT_EQ(cache.misses(), 7u);
}

TEST(KeyListCacheTest, WhatWasNotUsedForLongestGoes) {
  KeyListCache cache(3 * kListBytes);
  for (uint64_t list : {1, 2, 3}) cache.Keep(IdOf(list), ListOf(list));
  EXPECT_NE(cache.Find(IdOf(1)), nullptr);
  cache.Keep(IdOf(4), ListOf(4));
  EXPECT_EQ(cache.Find(IdOf(2)), nullptr);
  for (uint64_t list : {1, 3, 4}) EXPECT_NE(cache.Find(IdOf(list)), nullptr);
  EXPECT_LE(cache.bytes(), 3 * kListBytes);
}

TEST(KeyListCacheTest, WhatDoesNotFitIsUsedOnceAndNotKept) {
  KeyListCache cache(kListBytes / 2);
  const auto list = ListOf(1);
  EXPECT_EQ(cache.Keep(IdOf(1), list), list);
  EXPECT_EQ(cache.Find(IdOf(1)), nullptr);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(KeyListCacheTest, ManyThreadsMayUseIt) {
  KeyListCache cache(3 * kListBytes);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (uint64_t i = 0; i < 300; ++i) {
        const uint64_t list = (i * (t + 1)) % 5;
        auto found = cache.Find(IdOf(list));
        if (found == nullptr) found = cache.Keep(IdOf(list), ListOf(list));
        EXPECT_EQ(found->keys().front(), list);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.bytes(), 3 * kListBytes);
  EXPECT_EQ(cache.hits() + cache.misses(), 1200u);
}

}  // namespace
}  // namespace seraph
