#include "common/wire/list_name.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "xxhash.h"

namespace seraph {
namespace {

TEST(ListNameTest, IsTheHashOfAllThatItIsOf) {
  std::vector<Key> keys;
  for (Key key = 3; keys.size() < 1000; key = key * 3 + 1) keys.push_back(key);
  const XXH128_hash_t of_keys = XXH3_128bits(keys.data(), keys.size() * 8);
  // The bytes, written down by hand: what another client has to do.
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(of_keys.low64 >> (8 * i) & 255);
  for (int i = 0; i < 8; ++i) bytes.push_back(of_keys.high64 >> (8 * i) & 255);
  bytes.append("\x05\0\0\0\0\0\0\0\x02\0\0\0job", 15);
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  EXPECT_EQ(NameOfList("job", 5, 2, keys), (ListName{hash.low64, hash.high64}));
}

TEST(ListNameTest, WhateverDiffersHasAnotherName) {
  const std::vector<Key> keys = {7, 8, 1000};
  const ListName name = NameOfList("job", 5, 2, keys);
  EXPECT_EQ(name, NameOfList("job", 5, 2, keys));
  EXPECT_NE(name, NameOfList("jo", 5, 2, keys));
  EXPECT_NE(name, NameOfList("job", 6, 2, keys));
  EXPECT_NE(name, NameOfList("job", 5, 3, keys));
  EXPECT_NE(name, NameOfList("job", 5, 2, {7, 8}));
  // Of the same length, differences and offsets.
  EXPECT_NE(name, NameOfList("job", 5, 2, {8, 9, 1001}));
  EXPECT_NE(name, NameOfList("job", 5, 2, {7, 9, 1000}));
}

}  // namespace
}  // namespace seraph
