// Ranges of a dense table go another way than lists of keys, with the same
// results.

#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/base/draw.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/make_row_store.h"
#include "server/store/row_store.h"
#include "server/update/optimizer_variants.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kSeed = 311;
constexpr KeyRange kRange = {100, 39'999};
// In the last block, which the ranges below do not reach.
constexpr Key kFar = kRange.last;

TableSpec Table(const OptimizerSpec& optimizer, uint32_t width) {
  return {.name = "t",
          .kind = TableKind::kDense,
          .keys = 40'000,
          .width = width,
          .seed = kSeed,
          .initializer = {.kind = InitializerKind::kNormal, .scale = 0.1},
          .optimizer = optimizer};
}

std::vector<Key> RunOf(Key first, size_t n) {
  std::vector<Key> keys(n);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() ||
          std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// All cells below the far key.
std::vector<float> Cells(const RowStore& store) {
  std::vector<float> cells;
  for (size_t block = 0; block < store.blocks(); ++block) {
    std::vector<Key> keys;
    std::vector<float> some;
    store.CopyBlock(block, &keys, &some);
    if (keys.back() >= kFar) break;
    cells.insert(cells.end(), some.begin(), some.end());
  }
  return cells;
}

// The versions of the blocks but for the far key's.
std::vector<uint64_t> Versions(const RowStore& store) {
  std::vector<uint64_t> versions;
  for (size_t block = 0; block + 1 < store.blocks(); ++block) {
    versions.push_back(store.BlockVersion(block));
  }
  return versions;
}

class DenseRunsTest : public ::testing::TestWithParam<OptimizerVariant> {};

INSTANTIATE_TEST_SUITE_P(All, DenseRunsTest,
                         ::testing::ValuesIn(OptimizerVariants()),
                         [](const auto& info) { return info.param.name; });

// One store gets ranges. The other gets a key far away with each of them, which
// makes it a list.
TEST_P(DenseRunsTest, ARangeDoesWhatAListDoes) {
  for (const uint32_t width : {1, 2, 3, 4, 8}) {
    SCOPED_TRACE(width);
    const TableSpec table = Table(GetParam().spec, width);
    const auto runs = *MakeRowStore(table, kRange);
    const auto lists = *MakeRowStore(table, kRange);
    const auto ranges = *MakeRowStore(table, kRange);
    LazySums sums;
    for (uint64_t t = 0; t < 6; ++t) {
      const Key first = 100 + ToBelow(Draw(kSeed, {t, 1}), 20'000);
      const size_t n = t == 0 ? 1 : 1 + ToBelow(Draw(kSeed, {t, 2}), 700);
      std::vector<Key> keys = RunOf(first, n);
      std::vector<float> gradients;
      for (uint64_t i = 0; i < n * width; ++i) {
        gradients.push_back(
            ToBelow(Draw(kSeed, {t, i, 3}), 50) == 0
                ? std::numeric_limits<float>::infinity()
                : ToNormal(Draw(kSeed, {t, i, 4}), Draw(kSeed, {t, i, 5})));
      }
      const StepContext step = runs->rule().NextStep(sums, 0.01);
      sums = step.after;
      runs->NextVersion();
      lists->NextVersion();
      ranges->NextVersion();
      Overwritten from_run, from_list;
      const ApplyResult run =
          runs->Apply(keys, gradients, step, t % 2 == 0 ? &from_run : nullptr);
      std::vector<float> read(n * width);
      runs->Read(keys, sums, absl::MakeSpan(read));
      // The third one gets them without a key written out.
      Overwritten from_range;
      const KeySpan range_keys = KeySpan::Range(first, n);
      const ApplyResult range = ranges->Apply(
          range_keys, gradients, step, t % 2 == 0 ? &from_range : nullptr);
      std::vector<float> read_range(n * width);
      ranges->Read(range_keys, sums, absl::MakeSpan(read_range));
      EXPECT_EQ(range.not_finite, run.not_finite);
      EXPECT_EQ(range.first_not_finite, run.first_not_finite);
      EXPECT_TRUE(SameBits(read_range, read));
      EXPECT_TRUE(from_range.keys == from_run.keys);
      EXPECT_EQ(from_range.existed, from_run.existed);
      EXPECT_TRUE(SameBits(from_range.values, from_run.values));

      keys.push_back(kFar);
      gradients.resize(keys.size() * width, 0.5f);
      const ApplyResult list = lists->Apply(keys, gradients, step,
                                            t % 2 == 0 ? &from_list : nullptr);
      std::vector<float> read_list(keys.size() * width);
      lists->Read(keys, sums, absl::MakeSpan(read_list));

      EXPECT_EQ(run.created, list.created);
      EXPECT_EQ(run.not_finite, list.not_finite);
      EXPECT_EQ(run.first_not_finite, list.first_not_finite);
      read_list.resize(read.size());
      EXPECT_TRUE(SameBits(read, read_list));
      if (t % 2 == 0) {
        from_list.existed.pop_back();
        from_list.values.resize(from_run.values.size());
        EXPECT_TRUE(from_run.keys.span() ==
                    from_list.keys.span().subspan(0, from_run.keys.size()));
        EXPECT_EQ(from_run.existed, from_list.existed);
        EXPECT_TRUE(SameBits(from_run.values, from_list.values));
      }
      EXPECT_EQ(Versions(*runs), Versions(*lists)) << "step " << t;
      EXPECT_EQ(Versions(*ranges), Versions(*lists)) << "step " << t;
    }
    EXPECT_TRUE(SameBits(Cells(*runs), Cells(*lists)));
    EXPECT_TRUE(SameBits(Cells(*ranges), Cells(*lists)));
  }
}

TEST(DenseRangeTest, AListThatLooksLikeARangeAtItsEndsIsReadAsAList) {
  const auto store =
      *MakeRowStore(Table({.kind = OptimizerKind::kSum}, 1), kRange);
  const auto read = [&](const std::vector<Key>& keys) {
    std::vector<float> out(keys.size());
    store->Read(keys, {}, absl::MakeSpan(out));
    return out;
  };
  const std::vector<float> row = read(RunOf(100, 1000));
  EXPECT_THAT(read({200, 900, 202}), ElementsAre(row[100], row[800], row[102]));
  EXPECT_THAT(read({200, 200, 202}), ElementsAre(row[100], row[100], row[102]));
}

TEST(DenseRangeTest, TheWholeTableIsARange) {
  const auto store =
      *MakeRowStore(Table({.kind = OptimizerKind::kSum}, 1), kRange);
  const std::vector<Key> keys = RunOf(kRange.first, store->rows());
  std::vector<float> before(keys.size()), after(keys.size());
  store->Read(keys, {}, absl::MakeSpan(before));
  store->Apply(keys, std::vector<float>(keys.size(), 1.0f),
               store->rule().NextStep({}, 1), nullptr);
  store->Read(keys, {}, absl::MakeSpan(after));
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(after[i], before[i] + 1.0f) << keys[i];
  }
}

}  // namespace
}  // namespace seraph
