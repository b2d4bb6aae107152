// Stores that remember where the rows of lists are, beside stores that do not:
// all bytes are the same, whatever happens between two uses of a list.
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/make_row_store.h"
#include "server/store/row_store.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::testing::ElementsAre;

TableSpec Table(OptimizerKind optimizer, uint32_t width,
                uint32_t expire_after_epochs = 0) {
  TableSpec table{
      .name = "t",
      .width = width,
      .seed = 5,
      .initializer = {.kind = InitializerKind::kNormal, .scale = 0.1},
      .optimizer = {.kind = optimizer}};
  table.expire_after_epochs = expire_after_epochs;
  return table;
}

// A store, and one that gets the same without lists.
class Twins {
 public:
  explicit Twins(const TableSpec& table) : table_(table) {
    Renew(&plain_);
    Renew(&known_);
  }

  RowStore& plain() { return *plain_; }
  RowStore& known() { return *known_; }

  void Apply(KeyList* list, uint64_t seed, uint32_t epoch = 0) {
    const std::vector<Key>& keys = list->keys();
    std::vector<float> gradients(keys.size() * table_.width);
    for (size_t i = 0; i < gradients.size(); ++i) {
      gradients[i] = ToNormal(Draw(seed, {i, 1}), Draw(seed, {i, 2}));
    }
    StepContext step = plain_->rule().NextStep(sums_, 0.1);
    step.epoch = epoch;
    Overwritten plain_old, known_old;
    const ApplyResult plain =
        plain_->Apply(keys, gradients, step, seed % 2 ? &plain_old : nullptr);
    const ApplyResult known = known_->Apply(
        keys, gradients, step, seed % 2 ? &known_old : nullptr, list->rows());
    sums_ = step.after;
    EXPECT_EQ(plain.created, known.created);
    EXPECT_EQ(plain.not_finite, known.not_finite);
    EXPECT_EQ(plain_old.existed, known_old.existed);
    EXPECT_EQ(Bits(plain_old.values), Bits(known_old.values));
  }

  // The rows of the list, which both read alike.
  std::vector<float> Read(KeyList* list) {
    std::vector<float> plain(list->keys().size() * table_.width);
    std::vector<float> known = plain;
    plain_->Read(list->keys(), sums_, absl::MakeSpan(plain));
    known_->Read(list->keys(), sums_, absl::MakeSpan(known), list->rows());
    EXPECT_EQ(Bits(plain), Bits(known));
    return known;
  }

  size_t Remove(uint64_t seed, uint64_t one_of) {
    const auto gone = [&](Key key, const float*) {
      return ToBelow(Draw(seed, {key}), one_of) == 0;
    };
    const size_t removed = plain_->Remove(gone);
    EXPECT_EQ(known_->Remove(gone), removed);
    return removed;
  }

  // Goes on in stores that were restored from these.
  void Restore() {
    for (auto* store : {&plain_, &known_}) {
      const std::unique_ptr<RowStore> old = std::move(*store);
      Renew(store);
      std::vector<Key> keys;
      std::vector<float> cells;
      for (size_t block = 0; block < old->blocks(); ++block) {
        old->CopyBlock(block, &keys, &cells);
        EXPECT_THAT((*store)->RestoreRows(keys, cells), IsOk());
      }
    }
  }

  // All rows, and which blocks a copy would hold for written.
  void ExpectSame() {
    ASSERT_EQ(plain_->blocks(), known_->blocks());
    for (size_t block = 0; block < plain_->blocks(); ++block) {
      EXPECT_EQ(plain_->BlockVersion(block), known_->BlockVersion(block));
      std::vector<Key> keys, other_keys;
      std::vector<float> cells, other_cells;
      plain_->CopyBlock(block, &keys, &cells);
      known_->CopyBlock(block, &other_keys, &other_cells);
      EXPECT_EQ(keys, other_keys);
      EXPECT_EQ(Bits(cells), Bits(other_cells));
    }
    plain_->NextVersion();
    known_->NextVersion();
  }

 private:
  static std::string Bits(const std::vector<float>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()),
                       values.size() * sizeof(float));
  }

  void Renew(std::unique_ptr<RowStore>* store) {
    *store = *MakeRowStore(table_, KeyRange());
  }

  const TableSpec table_;
  std::unique_ptr<RowStore> plain_;
  std::unique_ptr<RowStore> known_;
  LazySums sums_;
};

KeyList ListOf(std::set<Key> keys) {
  return KeyList(std::vector<Key>(keys.begin(), keys.end()));
}

std::set<Key> Drawn(uint64_t seed, size_t n) {
  std::set<Key> keys;
  for (uint64_t i = 0; i < n; ++i) keys.insert(Draw(seed, {i}));
  return keys;
}

bool IsKnown(KeyList* list, const RowStore& store) {
  return list->rows()->places == store.places();
}

TEST(KnownRowsTest, RowsAreKnownFromTheSecondUseWithoutAMove) {
  Twins twins(Table(OptimizerKind::kSum, 1));
  KeyList list = ListOf(Drawn(1, 500));
  twins.Apply(&list, 1);
  EXPECT_FALSE(IsKnown(&list, twins.known())) << "they have just come";
  twins.Read(&list);
  EXPECT_FALSE(IsKnown(&list, twins.known())) << "will they stay?";
  twins.Read(&list);
  EXPECT_TRUE(IsKnown(&list, twins.known()));
  twins.Apply(&list, 2);
  EXPECT_TRUE(IsKnown(&list, twins.known())) << "nothing has moved";
  twins.Read(&list);
  twins.ExpectSame();
}

// 26c.
TEST(KnownRowsTest, AKeyThatComesLaterIsSeen) {
  Twins twins(Table(OptimizerKind::kSum, 1));
  KeyList some = ListOf({10, 30});
  KeyList list = ListOf({10, 20, 30});
  KeyList missing = ListOf({20});
  twins.Apply(&some, 1);
  for (int i = 0; i < 4; ++i) {
    twins.Read(&list);
    twins.Read(&missing);
  }
  const std::vector<float> before = twins.Read(&list);
  twins.Apply(&missing, 2);
  const std::vector<float> after = twins.Read(&list);
  EXPECT_EQ(before[0], after[0]);
  EXPECT_NE(before[1], after[1]);
  EXPECT_EQ(before[2], after[2]);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(twins.Read(&list), after);
  twins.ExpectSame();
}

// 26d: a row moves for another one that comes.
TEST(KnownRowsTest, RowsThatMoveForOthersAreFound) {
  Twins twins(Table(OptimizerKind::kAdagrad, 3));
  KeyList list = ListOf(Drawn(1, 300));
  twins.Apply(&list, 1);
  for (uint64_t round = 0; round < 40; ++round) {
    for (int i = 0; i < 3; ++i) twins.Read(&list);
    EXPECT_TRUE(IsKnown(&list, twins.known()));
    twins.Apply(&list, round);
    KeyList others = ListOf(Drawn(100 + round, 1 + round * 20));
    twins.Apply(&others, round);
    EXPECT_FALSE(IsKnown(&list, twins.known()));
    twins.Read(&list);
  }
  twins.ExpectSame();
}

// 26d: in the middle of the step that moves them, too.
TEST(KnownRowsTest, RowsThatMoveDuringAStepAreFound) {
  Twins twins(Table(OptimizerKind::kSum, 8));
  std::set<Key> keys = Drawn(1, 2000);
  KeyList first = ListOf(keys);
  twins.Apply(&first, 1);
  keys.merge(Drawn(2, 4000));
  KeyList list = ListOf(keys);
  for (int i = 0; i < 3; ++i) twins.Read(&list);
  EXPECT_TRUE(IsKnown(&list, twins.known()));
  twins.Apply(&list, 2);
  EXPECT_FALSE(IsKnown(&list, twins.known()));
  twins.Read(&list);
  twins.ExpectSame();
}

// 26d: rows that go, and what is in their places.
TEST(KnownRowsTest, RowsThatWentAreMissing) {
  Twins twins(Table(OptimizerKind::kSum, 1));
  KeyList list = ListOf(Drawn(1, 3000));
  twins.Apply(&list, 1);
  for (int i = 0; i < 3; ++i) twins.Read(&list);
  EXPECT_EQ(twins.Remove(7, 1'000'000'000), 0u);
  EXPECT_TRUE(IsKnown(&list, twins.known())) << "nothing went";
  EXPECT_GT(twins.Remove(7, 3), 0u);
  for (int i = 0; i < 4; ++i) twins.Read(&list);
  twins.Apply(&list, 2);
  for (int i = 0; i < 4; ++i) twins.Read(&list);
  // All of them.
  twins.Remove(8, 1);
  EXPECT_EQ(twins.known().rows(), 0u);
  for (int i = 0; i < 4; ++i) twins.Read(&list);
  twins.Apply(&list, 3);
  twins.Read(&list);
  twins.ExpectSame();
}

// 26d: another store.
TEST(KnownRowsTest, ARestoredStoreHasItsOwnPlaces) {
  Twins twins(Table(OptimizerKind::kSum, 1));
  KeyList list = ListOf(Drawn(1, 1000));
  twins.Apply(&list, 1);
  for (int i = 0; i < 3; ++i) twins.Read(&list);
  twins.Restore();
  EXPECT_FALSE(IsKnown(&list, twins.known()));
  for (int i = 0; i < 3; ++i) twins.Read(&list);
  twins.Apply(&list, 2);
  twins.ExpectSame();
}

TEST(KnownRowsTest, ADenseTableRemembersNothing) {
  TableSpec table = Table(OptimizerKind::kSum, 2);
  table.kind = TableKind::kDense;
  table.keys = 1000;
  const auto store = *MakeRowStore(table, {0, 999});
  KeyList list = ListOf({3, 500, 999});
  std::vector<float> rows(6), known(6);
  store->Read(list.keys(), LazySums{}, absl::MakeSpan(rows));
  for (int i = 0; i < 3; ++i) {
    store->Read(list.keys(), LazySums{}, absl::MakeSpan(known), list.rows());
    EXPECT_EQ(rows, known);
  }
  EXPECT_TRUE(list.rows()->slots.empty());
}

TEST(KnownRowsTest, WhateverHappensTheBytesAreTheSame) {
  const OptimizerKind kinds[] = {OptimizerKind::kSum, OptimizerKind::kAdagrad,
                                 OptimizerKind::kFtrl, OptimizerKind::kAdamw};
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Twins twins(Table(kinds[seed % 4], 1 + seed % 9));
    std::vector<std::unique_ptr<KeyList>> lists;
    for (uint64_t i = 0; i < 6; ++i) {
      // They share keys.
      std::set<Key> keys;
      for (const Key key : Drawn(seed, 50 * seed)) {
        if (ToBelow(Draw(key, {i}), 3) == 0) keys.insert(key);
      }
      keys.insert(i);
      lists.push_back(std::make_unique<KeyList>(
          std::vector<Key>(keys.begin(), keys.end())));
    }
    for (uint64_t turn = 0; turn < 80; ++turn) {
      KeyList* const list = lists[ToBelow(Draw(seed, {turn, 1}), 6)].get();
      const uint64_t what = ToBelow(Draw(seed, {turn, 2}), 20);
      if (what < 10) {
        twins.Read(list);
      } else if (what < 17) {
        twins.Apply(list, seed + turn);
      } else if (what == 17) {
        twins.Remove(turn, 10);
      } else if (what == 18) {
        twins.Restore();
      } else {
        twins.ExpectSame();
      }
    }
    twins.ExpectSame();
  }
}

}  // namespace
}  // namespace seraph
