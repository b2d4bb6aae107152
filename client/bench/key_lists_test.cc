#include "client/bench/key_lists.h"

#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool StrictlyIncreasing(absl::Span<const Key> keys) {
  for (size_t i = 1; i < keys.size(); ++i) {
    if (keys[i - 1] >= keys[i]) return false;
  }
  return true;
}

// Of a list: how often each index of a dense space was chosen.
std::vector<double> Counts(const KeyLists& lists, uint64_t size) {
  std::vector<double> counts(size);
  for (size_t list = 0; list < lists.size(); ++list) {
    for (Key key : lists[list]) ++counts[key];
  }
  return counts;
}

// Pearson's statistic over the cells, whose expectation is about their number
// and whose deviation sqrt(2 n). Seeds are fixed, so a pass stays a pass.
double ChiSquared(const std::vector<double>& counts,
                  const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  }
  return sum;
}

TEST(KeySpaceTest, KeysAscendAndLieEverywhere) {
  for (const uint64_t size : {uint64_t{1}, uint64_t{3}, uint64_t{100'000}}) {
    const KeySpace space(TableKind::kSparse, size, 7);
    std::vector<Key> keys;
    for (uint64_t i = 0; i < size; ++i) keys.push_back(space.KeyOf(i));
    EXPECT_TRUE(StrictlyIncreasing(keys)) << size;
  }
  // Each eighth of uint64 has its eighth of the keys.
  const KeySpace space(TableKind::kSparse, 8000, 7);
  std::map<int, int> eighths;
  for (uint64_t i = 0; i < 8000; ++i) ++eighths[space.KeyOf(i) >> 61];
  for (int eighth = 0; eighth < 8; ++eighth) {
    EXPECT_NEAR(eighths[eighth], 1000, 1) << eighth;
  }
  EXPECT_EQ(KeySpace(TableKind::kDense, 10, 7).KeyOf(9), 9u);
}

TEST(KeyListsTest, UniformChoosesEveryKeyAlike) {
  const uint64_t size = 50;
  const KeySpace space(TableKind::kDense, size, 1);
  // The second one goes by the complement.
  for (const uint64_t keys : {uint64_t{7}, uint64_t{40}, size}) {
    const KeyLists lists = KeyLists::Make(
        space, {.keys_per_list = keys, .lists = 20'000, .seed = 3});
    ASSERT_EQ(lists.size(), 20'000u);
    for (size_t list = 0; list < lists.size(); ++list) {
      ASSERT_EQ(lists[list].size(), keys);
      ASSERT_TRUE(StrictlyIncreasing(lists[list]));
    }
    const std::vector<double> expected(size, 20'000.0 * keys / size);
    EXPECT_LT(ChiSquared(Counts(lists, size), expected), 50 + 4 * 10) << keys;
  }
}

// Lists of one key have the distribution's own probabilities.
TEST(KeyListsTest, ZipfHasItsProbabilities) {
  const uint64_t size = 40;
  const double draws = 200'000;
  const KeySpace space(TableKind::kDense, size, 1);
  const KeyLists lists =
      KeyLists::Make(space, {.distribution = KeyDistribution::kZipf,
                             .keys_per_list = 1,
                             .lists = uint64_t(draws),
                             .seed = 5});
  double norm = 0;
  for (uint64_t i = 1; i <= size; ++i) norm += std::pow(i, -1.05);
  std::vector<double> expected(size);
  for (uint64_t i = 1; i <= size; ++i) {
    expected[PlaceOfPopularity(i - 1, size)] =
        draws * std::pow(i, -1.05) / norm;
  }
  EXPECT_LT(ChiSquared(Counts(lists, size), expected), 40 + 4 * 9);
  EXPECT_EQ(lists.filled_up(), 0u);
}

// Few keys of many take another way.
TEST(KeyListsTest, FewOfManyAreChosenAlikeToo) {
  const uint64_t size = 6400;
  const KeySpace space(TableKind::kDense, size, 1);
  const KeyLists lists =
      KeyLists::Make(space, {.keys_per_list = 5, .lists = 100'000, .seed = 9});
  std::vector<double> counts(64);
  for (size_t list = 0; list < lists.size(); ++list) {
    ASSERT_EQ(lists[list].size(), 5u);
    ASSERT_TRUE(StrictlyIncreasing(lists[list]));
    for (Key key : lists[list]) ++counts[key / 100];
  }
  EXPECT_LT(ChiSquared(counts, std::vector<double>(64, 500'000.0 / 64)),
            64 + 4 * 11);
}

TEST(KeyListsTest, ZipfListsOfAllKeysAreFilledUp) {
  const KeySpace space(TableKind::kDense, 3000, 1);
  const KeyLists lists =
      KeyLists::Make(space, {.distribution = KeyDistribution::kZipf,
                             .keys_per_list = 3000,
                             .lists = 1});
  EXPECT_EQ(lists[0].size(), 3000u);
  EXPECT_TRUE(StrictlyIncreasing(lists[0]));
}

TEST(KeyListsTest, PopularityIsAPermutation) {
  for (const uint64_t size : {1, 2, 3, 10, 97, 1000}) {
    std::vector<int> hits(size);
    for (uint64_t rank = 0; rank < size; ++rank) {
      ++hits[PlaceOfPopularity(rank, size)];
    }
    EXPECT_EQ(hits, std::vector<int>(size, 1)) << size;
  }
}

TEST(KeyListsTest, SequentialGoesAroundTheTable) {
  const KeySpace space(TableKind::kDense, 7, 1);
  const KeyLists lists =
      KeyLists::Make(space, {.distribution = KeyDistribution::kSequential,
                             .keys_per_list = 3,
                             .lists = 3,
                             .begin = 1});
  EXPECT_THAT(lists[0], ElementsAre(1, 2, 3));
  EXPECT_THAT(lists[1], ElementsAre(4, 5, 6));
  EXPECT_THAT(lists[2], ElementsAre(0, 1, 2));
}

TEST(KeyListsTest, ClientsOfOtherSeedsHaveOtherKeys) {
  const KeySpace space(TableKind::kSparse, 100'000, 1);
  const auto make = [&](uint64_t seed) {
    return KeyLists::Make(space, {.keys_per_list = 100, .seed = seed});
  };
  EXPECT_EQ(make(1).AllKeys(), make(1).AllKeys());
  EXPECT_NE(make(1).AllKeys(), make(2).AllKeys());
}

TEST(KeyListsTest, AFileGivesTheKeysOfItsRecords) {
  const testing::TempFolder folder;
  const std::string path = folder.path() + "/data";
  std::ofstream(path) << "1 5:1 3:2 # 77:1\n"
                         "0 3:1 9:0.5 qid:4\n"
                         "\n"
                         "-1 18446744073709551615:1\n";
  const auto lists = KeyLists::Read(path, 3);
  ASSERT_THAT(lists, IsOk());
  ASSERT_EQ(lists->size(), 2u);
  EXPECT_THAT((*lists)[0], ElementsAre(3, 5, 9));
  EXPECT_THAT((*lists)[1], ElementsAre(kMaxKey));
  EXPECT_THAT(lists->AllKeys(), ElementsAre(3, 5, 9, kMaxKey));
}

TEST(KeyListsTest, AFileThatIsNoneIsRefusedByLine) {
  const testing::TempFolder folder;
  const std::string path = folder.path() + "/data";
  std::ofstream(path) << "1 5:1\n1 five:1\n";
  const auto lists = KeyLists::Read(path, 3);
  EXPECT_THAT(lists, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(std::string(lists.status().message()),
              HasSubstr("data:2: 'five"));
  EXPECT_THAT(KeyLists::Read(path + "x", 3),
              StatusIs(absl::StatusCode::kNotFound));
  std::ofstream(path, std::ios::trunc) << "1\n0\n";
  EXPECT_THAT(KeyLists::Read(path, 3),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace seraph
