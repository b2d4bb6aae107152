// Blocks of rows: copying, restoring, and what changed.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/make_row_store.h"
#include "server/store/row_store.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::HasSubstr;

constexpr Key kRows = 20000;  // Several blocks of the tables below.

TableSpec Table(TableKind kind) {
  return {.name = "t",
          .kind = kind,
          .keys = kind == TableKind::kDense ? kRows : 0,
          .width = 3,
          .scramble = kind == TableKind::kSparse,
          .seed = 5,
          .initializer = {.kind = InitializerKind::kUniform, .scale = 0.5},
          .optimizer = {.kind = OptimizerKind::kAdamw,
                        .learning_rate = 0.01,
                        .weight_decay = 0.1,
                        .l1 = 0}};
}

std::vector<uint32_t> Bits(const std::vector<float>& cells) {
  std::vector<uint32_t> bits(cells.size());
  if (!cells.empty()) {
    std::memcpy(bits.data(), cells.data(), cells.size() * sizeof(float));
  }
  return bits;
}

class RowBlocksTest : public ::testing::TestWithParam<TableKind> {
 protected:
  RowBlocksTest() : store_(*MakeRowStore(Table(GetParam()), range_)) {}

  // A step with gradients of the keys' own.
  static void Push(RowStore* store, const std::vector<Key>& keys,
                   LazySums* sums) {
    std::vector<float> gradients;
    for (const Key key : keys) {
      for (uint32_t j = 0; j < store->width(); ++j) {
        gradients.push_back(
            static_cast<float>(ToUnit(Draw(3, {key, j})) - 0.5));
      }
    }
    const StepContext step = store->rule().NextStep(*sums, 0.01);
    store->Apply(keys, gradients, step, nullptr);
    *sums = step.after;
  }

  // Every second key, or so.
  static std::vector<Key> SomeKeys(uint64_t seed) {
    std::vector<Key> keys;
    for (Key key = 0; key < kRows; ++key) {
      if (Draw(seed, {key}) % 2 == 0) keys.push_back(key);
    }
    return keys;
  }

  static std::map<Key, std::vector<uint32_t>> AllRows(const RowStore& store) {
    std::map<Key, std::vector<uint32_t>> rows;
    std::vector<Key> keys;
    std::vector<float> cells;
    const size_t row_cells = store.rule().row_cells();
    for (size_t block = 0; block < store.blocks(); ++block) {
      store.CopyBlock(block, &keys, &cells);
      EXPECT_EQ(cells.size(), keys.size() * row_cells);
      const std::vector<uint32_t> bits = Bits(cells);
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto row = bits.begin() + i * row_cells;
        EXPECT_TRUE(
            rows.emplace(keys[i], std::vector<uint32_t>(row, row + row_cells))
                .second)
            << keys[i];
      }
    }
    EXPECT_EQ(rows.size(), store.rows());
    return rows;
  }

  // The blocks of a version above `since`.
  static std::vector<size_t> Changed(const RowStore& store, uint64_t since) {
    std::vector<size_t> blocks;
    for (size_t block = 0; block < store.blocks(); ++block) {
      if (store.BlockVersion(block) > since) blocks.push_back(block);
    }
    return blocks;
  }

  const KeyRange range_{0, kRows - 1};
  std::unique_ptr<RowStore> store_;
  LazySums sums_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, RowBlocksTest,
                         ::testing::Values(TableKind::kDense,
                                           TableKind::kSparse),
                         [](const auto& info) {
                           return info.param == TableKind::kDense ? "Dense"
                                                                  : "Sparse";
                         });

TEST_P(RowBlocksTest, ACopyRestoredElsewhereIsTheSameAndGoesOnTheSame) {
  Push(store_.get(), SomeKeys(1), &sums_);
  Push(store_.get(), SomeKeys(2), &sums_);
  EXPECT_GT(store_->blocks(), 5);

  auto other = *MakeRowStore(Table(GetParam()), range_);
  std::vector<Key> keys;
  std::vector<float> cells;
  for (size_t block = store_->blocks(); block-- > 0;) {
    store_->CopyBlock(block, &keys, &cells);
    ASSERT_THAT(other->RestoreRows(keys, cells), IsOk());
  }
  EXPECT_EQ(AllRows(*other), AllRows(*store_));
  EXPECT_EQ(other->rows(), store_->rows());

  LazySums others = sums_;
  Push(other.get(), SomeKeys(4), &others);
  Push(store_.get(), SomeKeys(4), &sums_);
  EXPECT_EQ(AllRows(*other), AllRows(*store_));
}

TEST_P(RowBlocksTest, RowsThatAreThereAreReplaced) {
  Push(store_.get(), SomeKeys(1), &sums_);
  const auto before = AllRows(*store_);
  std::vector<Key> keys;
  std::vector<float> cells;
  store_->CopyBlock(1, &keys, &cells);
  Push(store_.get(), SomeKeys(1), &sums_);
  ASSERT_NE(AllRows(*store_).at(keys[0]), before.at(keys[0]));
  ASSERT_THAT(store_->RestoreRows(keys, cells), IsOk());
  EXPECT_EQ(AllRows(*store_).at(keys[0]), before.at(keys[0]));
}

TEST_P(RowBlocksTest, RowsAreRestoredInAnyOrder) {
  Push(store_.get(), SomeKeys(1), &sums_);
  auto other = *MakeRowStore(Table(GetParam()), range_);
  LazySums others;
  Push(other.get(), SomeKeys(2), &others);
  std::vector<Key> keys;
  std::vector<float> cells;
  const size_t row_cells = store_->rule().row_cells();
  for (size_t block = 0; block < store_->blocks(); ++block) {
    store_->CopyBlock(block, &keys, &cells);
    std::reverse(keys.begin(), keys.end());
    std::vector<float> reversed;
    for (size_t i = keys.size(); i-- > 0;) {
      reversed.insert(reversed.end(), cells.begin() + i * row_cells,
                      cells.begin() + (i + 1) * row_cells);
    }
    ASSERT_THAT(other->RestoreRows(keys, reversed), IsOk());
  }
  const auto rows = AllRows(*other);
  for (const auto& [key, row] : AllRows(*store_)) {
    ASSERT_EQ(rows.at(key), row) << key;
  }
}

TEST_P(RowBlocksTest, AWrongRestoreChangesNothing) {
  Push(store_.get(), SomeKeys(1), &sums_);
  const auto before = AllRows(*store_);
  const size_t row_cells = store_->rule().row_cells();
  EXPECT_THAT(store_->RestoreRows({1}, std::vector<float>(row_cells + 1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("cells for 1 rows")));
  EXPECT_THAT(
      store_->RestoreRows({1, kRows}, std::vector<float>(2 * row_cells)),
      StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("key 20000")));
  EXPECT_THAT(
      store_->RestoreRows({7, 3, 7}, std::vector<float>(3 * row_cells)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("key 7 has two")));
  EXPECT_EQ(AllRows(*store_), before);
}

TEST_P(RowBlocksTest, WhatIsWrittenHasTheVersionAndNothingElse) {
  Push(store_.get(), SomeKeys(1), &sums_);
  EXPECT_EQ(Changed(*store_, 0).size(), store_->blocks());
  uint64_t version = store_->NextVersion();
  EXPECT_TRUE(Changed(*store_, version).empty());

  // One row of one block: which, the copy says.
  std::vector<Key> keys;
  std::vector<float> cells;
  store_->CopyBlock(2, &keys, &cells);
  Push(store_.get(), {keys[5]}, &sums_);
  EXPECT_EQ(Changed(*store_, version), std::vector<size_t>{2});
  version = store_->NextVersion();
  ASSERT_THAT(store_->RestoreRows({keys[5]}, absl::MakeConstSpan(cells).subspan(
                                                 5 * store_->rule().row_cells(),
                                                 store_->rule().row_cells())),
              IsOk());
  EXPECT_EQ(Changed(*store_, version), std::vector<size_t>{2});
  version = store_->NextVersion();
  ASSERT_THAT(store_->Load({keys[5]}, std::vector<float>(3, 1.f)), IsOk());
  EXPECT_EQ(Changed(*store_, version), std::vector<size_t>{2});

  // Reading is no change.
  version = store_->NextVersion();
  std::vector<float> out(keys.size() * store_->width());
  store_->Read(keys, sums_, absl::MakeSpan(out));
  AllRows(*store_);
  EXPECT_TRUE(Changed(*store_, version).empty());
}

// Whatever is pushed: what did not change is in the earlier copy, and the
// newest copies of all blocks have each row once, also where rows went to
// another block.
TEST_P(RowBlocksTest, UnchangedBlocksAreAsTheyWere) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    auto store = *MakeRowStore(Table(GetParam()), range_);
    LazySums sums;
    std::map<size_t, std::vector<uint32_t>> kept;  // By block.
    std::map<size_t, std::vector<Key>> kept_keys;
    std::vector<Key> keys;
    std::vector<float> cells;
    uint64_t since = 0;
    size_t unchanged = 0;
    for (uint64_t round = 0; round < 12; ++round) {
      // A narrow window of keys, that moves; a new key now and then.
      const Key first = ToBelow(Draw(seed, {round}), kRows - 3000);
      std::vector<Key> pushed;
      for (Key key = first; key < first + 3000;
           key += 1 + Draw(seed, {round, key}) % 3) {
        pushed.push_back(key);
      }
      Push(store.get(), pushed, &sums);
      for (size_t block = 0; block < store->blocks(); ++block) {
        store->CopyBlock(block, &keys, &cells);
        if (store->BlockVersion(block) > since) {
          kept[block] = Bits(cells);
          kept_keys[block] = keys;
        } else {
          ++unchanged;
          ASSERT_EQ(kept[block], Bits(cells)) << block;
          ASSERT_EQ(kept_keys[block], keys) << block;
        }
      }
      std::vector<Key> all;
      for (const auto& [block, copied] : kept_keys) {
        all.insert(all.end(), copied.begin(), copied.end());
      }
      std::sort(all.begin(), all.end());
      ASSERT_EQ(all, store->Keys({}));
      since = store->NextVersion();
    }
    EXPECT_GT(unchanged, 0);
  }
}

TEST(RowStoreTest, NoTwoStoresHaveOneLayout) {
  const auto one = *MakeRowStore(Table(TableKind::kSparse), {0, 9});
  const auto two = *MakeRowStore(Table(TableKind::kSparse), {0, 9});
  EXPECT_NE(one->layout(), two->layout());
}

}  // namespace
}  // namespace seraph
