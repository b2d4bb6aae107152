// Sparse stores against a map of rows: whatever keys come in whatever order,
// each row is there once, as the optimizer left it.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/draw.h"
#include "common/table/initializer.h"
#include "common/table/partitioning.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/make_row_store.h"
#include "server/store/row_store.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;

constexpr int kRounds = 24;
constexpr size_t kPushed = 1500;  // Keys of a round, about.

// Keys of a round, in any order, some twice.
using Pattern = std::vector<Key> (*)(uint64_t seed, uint64_t round);

std::vector<Key> Uniform(uint64_t seed, uint64_t round) {
  std::vector<Key> keys;
  for (uint64_t i = 0; i < kPushed; ++i) {
    // Half of them come again and again.
    keys.push_back(i % 2 == 0 ? Draw(seed, {round, i})
                              : Draw(seed, {ToBelow(Draw(round, {i}), 5000)}));
  }
  return keys;
}

std::vector<Key> Clustered(uint64_t seed, uint64_t round) {
  std::vector<Key> keys;
  for (uint64_t i = 0; i < kPushed; ++i) {
    keys.push_back(ToBelow(Draw(seed, {round, i}), 20000));
  }
  return keys;
}

std::vector<Key> Ascending(uint64_t seed, uint64_t round) {
  std::vector<Key> keys;
  for (uint64_t i = 0; i < kPushed; ++i) {
    keys.push_back(seed + round * kPushed + i);
  }
  return keys;
}

std::vector<Key> Descending(uint64_t seed, uint64_t round) {
  std::vector<Key> keys = Ascending(seed, round);
  for (Key& key : keys) key = kMaxKey - key;
  return keys;
}

// Clusters at all powers of two, both ends of the range, and a few keys far
// from all others: a straight line says nothing of where a key is.
std::vector<Key> Adversarial(uint64_t seed, uint64_t round) {
  std::vector<Key> keys = {0, kMaxKey};
  for (uint64_t i = 0; i < kPushed; ++i) {
    const uint64_t bits = Draw(seed, {round, i});
    keys.push_back((Key{1} << (bits % 64)) + (bits >> 32) % 1000);
    if (i % 100 == 0) keys.push_back(bits);
  }
  return keys;
}

// A few keys a round, with many in between: none of them has a gap for long.
std::vector<Key> OneByOne(uint64_t seed, uint64_t round) {
  if (round % 8 == 0) return Uniform(seed, round);
  std::vector<Key> keys;
  const Key first = Draw(seed, {round % 8});
  for (uint64_t i = 0; i < 60; ++i) keys.push_back(first + 7 * round + i);
  return keys;
}

struct Case {
  std::string name;
  Pattern pattern;
};

const Case kPatterns[] = {
    {"Uniform", Uniform},         {"Clustered", Clustered},
    {"Ascending", Ascending},     {"Descending", Descending},
    {"Adversarial", Adversarial}, {"OneByOne", OneByOne},
};

const OptimizerSpec kOptimizers[] = {
    {.kind = OptimizerKind::kSum},                           // Weights alone,
    {.kind = OptimizerKind::kAdagrad},                       // with a slot,
    {.kind = OptimizerKind::kAdamw, .learning_rate = 0.01},  // with all.
};

std::string Name(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::kSum:
      return "Sum";
    case OptimizerKind::kAdagrad:
      return "Adagrad";
    default:
      return "Adamw";
  }
}

class SparseStoreTest : public ::testing::TestWithParam<
                            std::tuple<Case, uint32_t, OptimizerSpec, bool>> {
 protected:
  SparseStoreTest()
      : table_{.name = "t",
               .width = std::get<uint32_t>(GetParam()),
               .scramble = std::get<bool>(GetParam()),
               .initializer = {.kind = InitializerKind::kUniform, .scale = 1},
               .optimizer = std::get<OptimizerSpec>(GetParam())},
        store_(*MakeRowStore(table_, {})),
        initializer_(table_) {
    std::vector<float> zeros(table_.width);
    cells_ = store_->rule().row_cells();
  }

  std::vector<float> NewRow(Key key) const {
    std::vector<float> row(cells_);
    const absl::Span<float> weights(row.data(), table_.width);
    initializer_.Fill(ToOriginalKey(table_, key), weights);
    store_->rule().InitRow(weights, sums_, row.data());
    return row;
  }

  void Push(const std::vector<Key>& keys, uint64_t round) {
    std::vector<float> gradients;
    for (const Key key : keys) {
      for (uint64_t j = 0; j < table_.width; ++j) {
        gradients.push_back(ToUnit(Draw(round, {key, j})) - 0.5);
      }
    }
    const StepContext step = store_->rule().NextStep(sums_, 0.01);
    size_t created = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      auto row = model_.find(keys[i]);
      if (row == model_.end()) {
        row = model_.emplace(keys[i], NewRow(keys[i])).first;
        ++created;
      }
      float* const rows[] = {row->second.data()};
      ASSERT_EQ(
          store_->rule().Step(rows, gradients.data() + i * table_.width, step),
          0);
    }
    EXPECT_EQ(store_->Apply(keys, gradients, step, nullptr).created, created);
    sums_ = step.after;
  }

  // Removes about a share of the rows, and what a block has that has none.
  void RemoveSome(uint64_t seed, double share) {
    const auto gone = [&](Key key) {
      return ToUnit(Draw(seed, {key})) < share;
    };
    const size_t before = store_->rows();
    const size_t removed = store_->Remove([&](Key key, const float* row) {
      EXPECT_EQ(std::memcmp(row, model_.at(key).data(), cells_ * sizeof(float)),
                0);
      return gone(key);
    });
    EXPECT_EQ(
        std::erase_if(model_, [&](const auto& row) { return gone(row.first); }),
        removed);
    EXPECT_EQ(store_->rows(), before - removed);
    // From some hundred rows on; the memory of blocks that went is back.
    if (model_.size() > 5000) {
      EXPECT_LE(store_->bytes(),
                1.5 * model_.size() * (sizeof(Key) + cells_ * sizeof(float)));
    }
  }

  // Of keys in any order, there or not.
  void ExpectReads(const std::vector<Key>& keys) const {
    std::vector<float> values(keys.size() * table_.width);
    store_->Read(keys, sums_, absl::MakeSpan(values));
    std::vector<float> expected(table_.width);
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto found = model_.find(keys[i]);
      const std::vector<float> row =
          found == model_.end() ? NewRow(keys[i]) : found->second;
      const float* const rows[] = {row.data()};
      store_->rule().Read(rows, sums_, expected.data());
      ASSERT_EQ(std::memcmp(expected.data(), values.data() + i * table_.width,
                            table_.width * sizeof(float)),
                0)
          << keys[i];
    }
  }

  // As a reader that keeps the newest copy of each block.
  void TakeChangedBlocks() {
    std::vector<Key> keys;
    std::vector<float> cells;
    for (size_t block = 0; block < store_->blocks(); ++block) {
      if (store_->BlockVersion(block) <= since_) continue;
      store_->CopyBlock(block, &keys, &cells);
      blocks_[block] = {keys, cells};
    }
    since_ = store_->NextVersion();
  }

  // Adds the rows of a block to `rows`.
  void AddRows(const std::vector<Key>& keys, const std::vector<float>& cells,
               std::map<Key, std::vector<float>>* rows) const {
    ASSERT_EQ(cells.size(), keys.size() * cells_);
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_TRUE(rows->emplace(keys[i], std::vector<float>(
                                             cells.begin() + i * cells_,
                                             cells.begin() + (i + 1) * cells_))
                      .second)
          << keys[i];
    }
  }

  void ExpectRows(const std::map<Key, std::vector<float>>& rows) const {
    ASSERT_EQ(rows.size(), model_.size());
    for (auto a = rows.begin(), b = model_.begin(); a != rows.end(); ++a, ++b) {
      ASSERT_EQ(a->first, b->first);
      ASSERT_EQ(std::memcmp(a->second.data(), b->second.data(),
                            cells_ * sizeof(float)),
                0)
          << a->first;
    }
  }

  const TableSpec table_;
  const std::unique_ptr<RowStore> store_;
  const Initializer initializer_;
  size_t cells_;
  LazySums sums_;
  std::map<Key, std::vector<float>> model_;  // The cells of each row.
  uint64_t since_ = 0;
  std::map<size_t, std::pair<std::vector<Key>, std::vector<float>>> blocks_;
};

INSTANTIATE_TEST_SUITE_P(
    All, SparseStoreTest,
    ::testing::Combine(::testing::ValuesIn(kPatterns),
                       ::testing::Values(1, 3, 16),
                       ::testing::ValuesIn(kOptimizers), ::testing::Bool()),
    [](const auto& info) {
      return std::get<Case>(info.param).name +
             Name(std::get<OptimizerSpec>(info.param).kind) +
             std::to_string(std::get<uint32_t>(info.param)) +
             (std::get<bool>(info.param) ? "Scrambled" : "");
    });

TEST_P(SparseStoreTest, IsWhatAMapOfRowsIs) {
  const uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE(::testing::Message()
               << "seed " << seed << ", use --test_arg=--gtest_random_seed");
  for (uint64_t round = 0; round < kRounds; ++round) {
    const std::vector<Key> any =
        std::get<Case>(GetParam()).pattern(seed, round);
    std::vector<Key> keys = any;
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    ExpectReads(any);
    Push(keys, round);
    ASSERT_EQ(store_->rows(), model_.size());
    ExpectReads(any);
    if (round % 5 == 4) {
      // From a few rows to nearly all, and once all.
      const double share = round == 14 ? 1 : ToUnit(Draw(seed, {round}));
      RemoveSome(seed + round, share);
      ExpectReads(any);
    }
    if (HasFatalFailure()) return;
    if (round % 4 != 3) continue;

    TakeChangedBlocks();
    std::map<Key, std::vector<float>> rows;
    for (const auto& [number, block] : blocks_) {
      AddRows(block.first, block.second, &rows);
    }
    ExpectRows(rows);
    if (HasFatalFailure()) return;
  }
  std::vector<Key> all;
  for (const auto& [key, row] : model_) all.push_back(key);
  EXPECT_EQ(store_->Keys({}), all);
  const size_t third = all.size() / 3;
  EXPECT_EQ(store_->Keys({all[third], all[2 * third] - 1}),
            std::vector<Key>(all.begin() + third, all.begin() + 2 * third));
}

TEST_P(SparseStoreTest, RowsThatAreRestoredInAnyOrderAreTheSame) {
  const uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE(seed);
  for (uint64_t round = 0; round < 8; ++round) {
    std::vector<Key> keys = std::get<Case>(GetParam()).pattern(seed, round);
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    Push(keys, round);
  }
  // All of them in a few pieces of no order, into a store that has some.
  std::vector<Key> all;
  for (const auto& [key, row] : model_) all.push_back(key);
  std::sort(all.begin(), all.end(),
            [&](Key a, Key b) { return Draw(seed, {a}) < Draw(seed, {b}); });
  const auto other = *MakeRowStore(table_, {});
  const size_t most = all.size() / 5 + 1;
  for (size_t begin = 0; begin < all.size(); begin += most / 2) {
    const auto keys = absl::MakeConstSpan(all).subspan(begin, most);
    std::vector<float> cells;
    for (const Key key : keys) {
      cells.insert(cells.end(), model_[key].begin(), model_[key].end());
    }
    ASSERT_THAT(other->RestoreRows(keys, cells), IsOk());
  }
  std::map<Key, std::vector<float>> rows;
  std::vector<Key> keys;
  std::vector<float> cells;
  for (size_t block = 0; block < other->blocks(); ++block) {
    other->CopyBlock(block, &keys, &cells);
    AddRows(keys, cells, &rows);
  }
  ExpectRows(rows);
}

}  // namespace
}  // namespace seraph
