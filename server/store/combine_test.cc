#include "server/store/combine.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "common/base/draw.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kSeed = 4;

// A rank's part that owns its memory.
struct Push {
  std::vector<Key> keys;
  std::vector<float> values;
  uint64_t examples = 0;
};

Combined CombineAll(CombineKind kind, uint32_t width,
                    const std::vector<Push>& pushes) {
  std::vector<Contribution> by_rank;
  for (const Push& push : pushes) {
    by_rank.push_back({push.keys, push.values, push.examples});
  }
  return Combine(kind, width, by_rank);
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() ||
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(CombineTest, SumsOverTheRanksThatPushedTheKey) {
  const Combined sum = CombineAll(CombineKind::kSum, 2,
                                  {{{1, 5}, {1, 2, 3, 4}, 10},
                                   {{}, {}, 10},
                                   {{5, 9}, {10, 20, 30, 40}, 10}});
  EXPECT_THAT(sum.keys.span().ToVector(), ElementsAre(1, 5, 9));
  EXPECT_THAT(sum.values, ElementsAre(1, 2, 13, 24, 30, 40));
}

// Rank 1 has no keys, rank 2 did not push key 1: both count as examples.
TEST(CombineTest, MeansAreOverTheExamplesOfAllRanks) {
  const Combined mean =
      CombineAll(CombineKind::kMean, 1,
                 {{{1, 5}, {8, 16}, 1}, {{}, {}, 4}, {{5}, {8}, 3}});
  EXPECT_THAT(mean.keys.span().ToVector(), ElementsAre(1, 5));
  EXPECT_THAT(mean.values, ElementsAre(8 * 1 / 8.0, (16 * 1 + 8 * 3) / 8.0));
}

TEST(CombineTest, TheHighestRankThatPushedTheKeyWins) {
  const Combined last =
      CombineAll(CombineKind::kLast, 1,
                 {{{1, 5}, {1, 2}, 9}, {{5, 9}, {3, 4}, 9}, {{9}, {5}, 9}});
  EXPECT_THAT(last.keys.span().ToVector(), ElementsAre(1, 5, 9));
  EXPECT_THAT(last.values, ElementsAre(1, 3, 5));
}

TEST(CombineTest, FoldsFromTheFirstValueByRankInFloat32) {
  // From 0, -0 would become +0; in double or in another order, 1e8 + 1 - 1e8
  // would be 1.
  const Combined sum = CombineAll(CombineKind::kSum, 2,
                                  {{{1}, {-0.0f, 1e8f}, 1},
                                   {{1}, {-0.0f, 1}, 1},
                                   {{1}, {-0.0f, -1e8f}, 1}});
  EXPECT_TRUE(std::signbit(sum.values[0]));
  EXPECT_EQ(sum.values[1], 0.0f);
  const Combined other =
      CombineAll(CombineKind::kSum, 2,
                 {{{1}, {0, 1e8f}, 1}, {{1}, {0, -1e8f}, 1}, {{1}, {0, 1}, 1}});
  EXPECT_EQ(other.values[1], 1.0f);
}

// A rank with all keys starts those that no rank below it had.
TEST(CombineTest, FoldsFromTheFirstValueOfEachKey) {
  const Combined sum = CombineAll(
      CombineKind::kSum, 1, {{{1}, {-0.0f}, 1}, {{1, 2}, {-0.0f, -0.0f}, 1}});
  EXPECT_TRUE(std::signbit(sum.values[0]));
  EXPECT_TRUE(std::signbit(sum.values[1]));
}

TEST(CombineTest, AMeanIsDividedOnceNotMultipliedByAnInverse) {
  int different = 0;
  for (uint64_t examples = 1; examples < 100; ++examples) {
    const float n = examples;
    EXPECT_EQ(
        CombineAll(CombineKind::kMean, 1, {{{1}, {0.7f}, examples}}).values[0],
        0.7f * n / n);
    different += 0.7f * n / n != 0.7f * n * (1.0f / n);
  }
  EXPECT_GT(different, 0) << "both ways are the same";
}

TEST(CombineTest, NothingPushedIsNothing) {
  for (CombineKind kind :
       {CombineKind::kSum, CombineKind::kMean, CombineKind::kLast}) {
    EXPECT_THAT(CombineAll(kind, 3, {}).keys.span().ToVector(), IsEmpty());
    EXPECT_THAT(CombineAll(kind, 3, {{}, {}}).values, IsEmpty());
  }
}

TEST(CombineTest, AMeanOverNoExamplesIsZero) {
  EXPECT_THAT(CombineAll(CombineKind::kMean, 1, {{{1}, {5}, 0}}).values,
              ElementsAre(0));
}

TEST(CombineTest, OverflowStaysVisible) {
  constexpr float kMax = std::numeric_limits<float>::max();
  EXPECT_TRUE(std::isinf(
      CombineAll(CombineKind::kSum, 1, {{{1}, {kMax}, 1}, {{1}, {kMax}, 1}})
          .values[0]));
}

std::vector<Push> RandomPushes(uint64_t trial, size_t ranks, uint32_t width,
                               bool aligned) {
  std::vector<Push> pushes(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    pushes[rank].examples = ToBelow(Draw(kSeed, {trial, rank}), 300);
    if (ToBelow(Draw(kSeed, {trial, rank, 1}), 5) == 0) continue;  // No keys.
    for (Key key = 0; key < 300; ++key) {
      const uint64_t place = aligned ? 0 : rank;
      if (ToBelow(Draw(kSeed, {trial, place, key, 2}), 3) == 0) continue;
      pushes[rank].keys.push_back(key * key);
      for (uint64_t j = 0; j < width; ++j) {
        pushes[rank].values.push_back(
            ToNormal(Draw(kSeed, {trial, rank, key, j, 3}),
                     Draw(kSeed, {trial, rank, key, j, 4})));
      }
    }
  }
  return pushes;
}

class CombineRandomTest : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Keys, CombineRandomTest, ::testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "Aligned" : "Ragged";
                         });

TEST_P(CombineRandomTest, AgreesWithAnOracleInDouble) {
  for (uint64_t trial = 0; trial < 20; ++trial) {
    const uint32_t width = 1 + trial % 3;
    const auto pushes = RandomPushes(trial, 1 + trial % 9, width, GetParam());
    double examples = 0;
    for (const Push& push : pushes) examples += push.examples;
    for (CombineKind kind :
         {CombineKind::kSum, CombineKind::kMean, CombineKind::kLast}) {
      std::map<Key, std::vector<double>> want, magnitude;
      for (const Push& push : pushes) {
        for (size_t i = 0; i < push.keys.size(); ++i) {
          auto& row = want[push.keys[i]];
          auto& sizes = magnitude[push.keys[i]];
          row.resize(width);
          sizes.resize(width);
          for (uint32_t j = 0; j < width; ++j) {
            const double v = push.values[i * width + j];
            const double part =
                kind == CombineKind::kMean ? v * push.examples / examples : v;
            row[j] = kind == CombineKind::kLast ? v : row[j] + part;
            sizes[j] += std::abs(part);
          }
        }
      }
      const Combined got = CombineAll(kind, width, pushes);
      ASSERT_EQ(got.keys.size(), want.size()) << "trial " << trial;
      size_t i = 0;
      for (const auto& [key, row] : want) {
        ASSERT_EQ(got.keys[i], key);
        for (uint32_t j = 0; j < width; ++j) {
          // At most 9 terms, three roundings each.
          ASSERT_NEAR(got.values[i * width + j], row[j],
                      30 * 6e-8 * magnitude[key][j])
              << "trial " << trial << ", key " << key;
        }
        ++i;
      }
    }
  }
}

// Cut at any key, the parts combine to the same bits: a value depends on its
// key's values alone, and both ways of merging agree.
TEST_P(CombineRandomTest, BitsDoNotDependOnTheRange) {
  for (uint64_t trial = 0; trial < 10; ++trial) {
    const uint32_t width = 1 + trial % 3;
    const auto pushes = RandomPushes(trial, 1 + trial % 9, width, GetParam());
    for (CombineKind kind :
         {CombineKind::kSum, CombineKind::kMean, CombineKind::kLast}) {
      const Combined whole = CombineAll(kind, width, pushes);
      for (Key size : {700, 5000, 40000}) {
        Combined parts;
        for (Key begin = 0; begin < 90000; begin += size) {
          std::vector<Push> inside;
          for (const Push& push : pushes) {
            Push part{{}, {}, push.examples};
            for (size_t i = 0; i < push.keys.size(); ++i) {
              if (push.keys[i] < begin || push.keys[i] >= begin + size)
                continue;
              part.keys.push_back(push.keys[i]);
              part.values.insert(part.values.end(),
                                 push.values.begin() + i * width,
                                 push.values.begin() + (i + 1) * width);
            }
            inside.push_back(part);
          }
          const Combined combined = CombineAll(kind, width, inside);
          parts.keys.Append(combined.keys);
          parts.values.insert(parts.values.end(), combined.values.begin(),
                              combined.values.end());
        }
        ASSERT_EQ(parts.keys, whole.keys);
        ASSERT_TRUE(SameBits(parts.values, whole.values))
            << "trial " << trial << ", pieces of " << size;
      }
    }
  }
}

}  // namespace
}  // namespace seraph
