// What a store promises, for dense and sparse ones.

#include "server/store/row_store.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "common/base/draw.h"
#include "common/table/initializer.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/make_row_store.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kEta = 0.1;

TableSpec Table(TableKind kind) {
  return {.name = "t",
          .kind = kind,
          .keys = 1000,
          .width = 2,
          .seed = 5,
          .initializer = {.kind = InitializerKind::kNormal, .scale = 0.5},
          .optimizer = {.kind = OptimizerKind::kSgd, .l1 = 0.01, .l2 = 0.1}};
}

// A store with the sums that a partition keeps for it.
struct Rows {
  explicit Rows(const TableSpec& table, KeyRange range = {100, 899})
      : store(*MakeRowStore(table, range)) {}

  ApplyResult Push(const std::vector<Key>& keys,
                   const std::vector<float>& gradients,
                   Overwritten* overwritten = nullptr) {
    const StepContext step = store->rule().NextStep(sums, kEta);
    sums = step.after;
    return store->Apply(keys, gradients, step, overwritten);
  }

  std::vector<float> Read(const std::vector<Key>& keys) const {
    std::vector<float> out(keys.size() * store->width());
    store->Read(keys, sums, absl::MakeSpan(out));
    return out;
  }

  std::vector<float> ReadBefore(const std::vector<Key>& keys,
                                const Overwritten& overwritten) const {
    std::vector<float> out(keys.size() * store->width());
    store->ReadBefore(keys, overwritten, absl::MakeSpan(out));
    return out;
  }

  std::unique_ptr<RowStore> store;
  LazySums sums;
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() ||
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class RowStoreTest : public ::testing::TestWithParam<TableKind> {
 protected:
  bool sparse() const { return GetParam() == TableKind::kSparse; }
};

INSTANTIATE_TEST_SUITE_P(Kinds, RowStoreTest,
                         ::testing::Values(TableKind::kDense,
                                           TableKind::kSparse),
                         [](const auto& info) {
                           return info.param == TableKind::kDense ? "Dense"
                                                                  : "Sparse";
                         });

TEST_P(RowStoreTest, ReadsInitialValuesAndCreatesNothing) {
  const TableSpec table = Table(GetParam());
  const Rows rows(table);
  const size_t existing = rows.store->rows();
  EXPECT_EQ(existing, sparse() ? 0u : 800u);
  const Initializer initializer(table);
  EXPECT_THAT(
      rows.Read({100, 899}),
      ElementsAre(initializer.Value(100, 0), initializer.Value(100, 1),
                  initializer.Value(899, 0), initializer.Value(899, 1)));
  EXPECT_EQ(rows.store->rows(), existing);
}

TEST_P(RowStoreTest, AStepMovesThePushedKeysAndCreatesTheMissingOnes) {
  TableSpec table = Table(GetParam());
  table.optimizer = {.kind = OptimizerKind::kSgd};
  Rows rows(table);
  const std::vector<float> start = rows.Read({100, 101, 500});
  const ApplyResult result = rows.Push({100, 500}, {1, 2, 3, 4});
  EXPECT_EQ(result.created, sparse() ? 2u : 0u);
  EXPECT_EQ(result.not_finite, 0u);
  EXPECT_EQ(rows.store->rows(), sparse() ? 2u : 800u);
  const auto moved = [&](size_t i, double g) {
    return static_cast<float>(start[i] - kEta * g);
  };
  EXPECT_THAT(rows.Read({100, 101, 500}),
              ElementsAre(moved(0, 1), moved(1, 2), start[2], start[3],
                          moved(4, 3), moved(5, 4)));
  EXPECT_EQ(rows.Push({100, 500}, {1, 2, 3, 4}).created, 0u);
}

// A dense row exists from the first step on and decays from then; a sparse one
// from its creation.
TEST_P(RowStoreTest, LazyTermsActFromARowsBeginning) {
  TableSpec table = Table(GetParam());
  table.width = 1;
  table.initializer = {.kind = InitializerKind::kConstant, .mean = 0.5};
  Rows rows(table);
  const auto idle = [](double w) {
    return std::max(0.0, w * (1 - kEta * 0.1) - kEta * 0.01);
  };
  double want = 0.5;
  for (int t = 0; t < 20; ++t) {
    rows.Push({}, {});
    if (!sparse()) want = idle(want);
  }
  EXPECT_NEAR(rows.Read({300})[0], want, 1e-6);
  rows.Push({300}, {0});
  for (int t = 0; t < 21; ++t) want = idle(want);
  for (int t = 0; t < 20; ++t) rows.Push({}, {});
  EXPECT_NEAR(rows.Read({300})[0], want, 1e-6);
  EXPECT_LT(want, 0.45);
}

TEST_P(RowStoreTest, ARowThatWouldNotBeFiniteKeepsItsBytes) {
  Rows rows(Table(GetParam()));
  rows.Push({200, 201}, {1, 1, 1, 1});
  // 201 exists, 400 does not where the table is sparse.
  const std::vector<float> before = rows.Read({201, 400});
  const LazySums then = rows.sums;
  const ApplyResult result = rows.Push(
      {200, 201, 300, 400}, {1, 1, kInfinity, 1, 1, 1, 1, -kInfinity});
  EXPECT_EQ(result.not_finite, 2u);
  EXPECT_THAT(result.first_not_finite, Optional(1u));
  EXPECT_EQ(result.created, sparse() ? 1u : 0u);
  EXPECT_EQ(rows.store->rows(), sparse() ? 3u : 800u);
  std::vector<float> after(4);
  rows.store->Read({201, 400}, then, absl::MakeSpan(after));
  EXPECT_TRUE(SameBits(after, before));
}

TEST_P(RowStoreTest, ReportsTheFirstRowThatIsNotFiniteAlsoInALaterGroup) {
  Rows rows(Table(GetParam()));
  std::vector<Key> keys;
  for (Key key = 100; key < 300; ++key) keys.push_back(key);
  std::vector<float> gradients(keys.size() * 2, 1.0f);
  gradients[2 * 150 + 1] = kInfinity;
  gradients[2 * 199] = kInfinity;
  const ApplyResult result = rows.Push(keys, gradients);
  EXPECT_EQ(result.not_finite, 2u);
  EXPECT_THAT(result.first_not_finite, Optional(150u));
}

// The history of a rank that runs its clock again: random pushes, and after
// each one what was readable before it is still readable, to the bit.
TEST_P(RowStoreTest, ReadsAsOfBeforeTheLastStep) {
  Rows rows(Table(GetParam()));
  std::vector<Key> all;
  for (Key key = 100; key < 400; ++key) all.push_back(key);
  int created = 0;
  for (uint64_t t = 0; t < 40; ++t) {
    std::vector<Key> keys;
    std::vector<float> gradients;
    for (const Key key : all) {
      if (ToBelow(Draw(11, {t, key}), 10) != 0) continue;
      keys.push_back(key);
      for (uint64_t j : {0, 1}) {
        gradients.push_back(ToUnit(Draw(12, {t, key, j})) - 0.4);
      }
      // Rows that a step leaves alone are among what it "overwrote".
      if (key % 97 == 0) gradients.back() = kInfinity;
    }
    if (t == 20) keys.clear(), gradients.clear();
    const std::vector<float> before = rows.Read(all);
    const std::vector<float> before_keys = rows.Read(keys);
    const std::vector<Key> existed = rows.store->Keys({0, kMaxKey});
    Overwritten overwritten;
    const ApplyResult result = rows.Push(keys, gradients, &overwritten);
    created += result.created;

    EXPECT_TRUE(SameBits(rows.ReadBefore(all, overwritten), before));
    EXPECT_TRUE(SameBits(rows.ReadBefore(keys, overwritten), before_keys));
    EXPECT_TRUE(keys.empty() || !SameBits(rows.Read(all), before));
    EXPECT_EQ(overwritten.keys, keys);
    for (size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(overwritten.existed[i] != 0,
                std::binary_search(existed.begin(), existed.end(), keys[i]));
    }
  }
  EXPECT_EQ(created > 0, sparse());
}

TEST_P(RowStoreTest, TracksNothingOfAnEarlierStepInOverwritten) {
  Rows rows(Table(GetParam()));
  Overwritten overwritten;
  rows.Push({200, 300}, {1, 1, 1, 1}, &overwritten);
  const std::vector<float> before = rows.Read({200, 300});
  rows.Push({300}, {1, 1}, &overwritten);
  EXPECT_TRUE(SameBits(rows.ReadBefore({200, 300}, overwritten), before));
}

TEST_P(RowStoreTest, LoadSetsWeightsAndStartsTheStateAnew) {
  TableSpec table = Table(GetParam());
  table.optimizer = {.kind = OptimizerKind::kFtrl, .l1 = 0.1, .l2 = 1};
  Rows rows(table);
  ASSERT_THAT(rows.store->Load({200, 201}, {0.5, -0.25, 0, 3}), IsOk());
  EXPECT_THAT(rows.Read({200, 201}), ElementsAre(0.5, -0.25, 0, 3));
  EXPECT_EQ(rows.store->rows(), sparse() ? 2u : 800u);
  // A step without gradient keeps them: z was made for them.
  rows.Push({200, 201}, {0, 0, 0, 0});
  const std::vector<float> after = rows.Read({200, 201});
  EXPECT_NEAR(after[0], 0.5, 1e-7);
  EXPECT_NEAR(after[1], -0.25, 1e-7);
  EXPECT_EQ(after[2], 0);
  EXPECT_NEAR(after[3], 3, 1e-6);
}

TEST_P(RowStoreTest, LoadRefusesWhatIsNotFiniteWhole) {
  Rows rows(Table(GetParam()));
  const std::vector<float> before = rows.Read({200, 201});
  EXPECT_THAT(rows.store->Load({200, 201}, {1, 2, 3, kInfinity}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("key 201, column 1")));
  EXPECT_TRUE(SameBits(rows.Read({200, 201}), before));
  EXPECT_EQ(rows.store->rows(), sparse() ? 0u : 800u);
}

TEST_P(RowStoreTest, ListsItsKeys) {
  Rows rows(Table(GetParam()));
  rows.Push({100, 103, 700}, {1, 1, 1, 1, 1, 1});
  const std::vector<Key> want =
      sparse() ? std::vector<Key>{103} : std::vector<Key>{101, 102, 103};
  EXPECT_EQ(rows.store->Keys({101, 103}), want);
  EXPECT_EQ(rows.store->Keys({0, kMaxKey}).size(), sparse() ? 3u : 800u);
  EXPECT_TRUE(rows.store->Keys({900, kMaxKey}).empty());
}

TEST_P(RowStoreTest, ChecksOrderAndRange) {
  const Rows rows(Table(GetParam()));
  constexpr auto kOrder = absl::StatusCode::kInvalidArgument;
  constexpr auto kRange = absl::StatusCode::kOutOfRange;
  EXPECT_THAT(rows.store->CheckKeys({}), IsOk());
  EXPECT_THAT(rows.store->CheckKeys({100, 899}), IsOk());
  EXPECT_THAT(rows.store->CheckKeys({200, 100}),
              StatusIs(kOrder, HasSubstr("200 stands before 100")));
  EXPECT_THAT(rows.store->CheckKeys({200, 200}), StatusIs(kOrder));
  EXPECT_THAT(rows.store->CheckKeys({99, 200}),
              StatusIs(kRange, HasSubstr("key 99")));
  EXPECT_THAT(rows.store->CheckKeys({200, 900}),
              StatusIs(kRange, HasSubstr("key 900")));
}

TEST_P(RowStoreTest, WeightsThatAreSetAreReadAsTheyAre) {
  Rows rows(Table(GetParam()));
  rows.Push({200, 300}, {1, 2, 3, 4});
  rows.Push({}, {});
  std::vector<Key> keys;  // More than a group, most of them missing if sparse.
  std::vector<float> values;
  for (Key key = 150; key < 350; ++key) {
    keys.push_back(key);
    values.push_back(key * 0.5f);
    values.push_back(-1.0f * key);
  }
  values[7] = std::numeric_limits<float>::quiet_NaN();  // Of key 153.
  const size_t before = rows.store->rows();
  const std::vector<float> kept = rows.Read({153, 399});
  const ApplyResult result = rows.store->SetWeights(keys, values, rows.sums);
  EXPECT_EQ(result.created, sparse() ? 197 : 0);
  EXPECT_EQ(rows.store->rows(), before + result.created);
  EXPECT_EQ(result.not_finite, 1);
  EXPECT_EQ(result.first_not_finite, 3);
  EXPECT_TRUE(SameBits(rows.Read({153, 399}), kept));
  keys.erase(keys.begin() + 3);
  values.erase(values.begin() + 6, values.begin() + 8);
  EXPECT_TRUE(SameBits(rows.Read(keys), values));
  rows.Push({}, {});  // The lazy terms go on from there.
  EXPECT_FALSE(SameBits(rows.Read(keys), values));
}

TEST_P(RowStoreTest, CursorGivesRowsInChunksAsReadGivesThem) {
  Rows rows(Table(GetParam()));
  std::vector<Key> pushed;
  for (Key key = 100; key < 800; key += 7) pushed.push_back(key);
  rows.Push(pushed, std::vector<float>(pushed.size() * 2, 0.5f));
  rows.Push({}, {});
  for (size_t chunk : {1, 3, 100000}) {
    std::vector<Key> keys, all_keys;
    std::vector<float> values, all_values;
    const auto cursor = rows.store->Cursor();
    for (;;) {
      cursor->Next(chunk, rows.sums, &keys, &values);
      if (keys.empty()) break;
      ASSERT_LE(keys.size(), chunk);
      all_keys.insert(all_keys.end(), keys.begin(), keys.end());
      all_values.insert(all_values.end(), values.begin(), values.end());
    }
    EXPECT_EQ(all_keys, rows.store->Keys({0, kMaxKey}));
    EXPECT_TRUE(SameBits(all_values, rows.Read(all_keys)));
  }
}

TEST_P(RowStoreTest, CountsItsMemory) {
  Rows rows(Table(GetParam()));
  const size_t empty = rows.store->bytes();
  std::vector<Key> keys;
  for (Key key = 100; key < 900; ++key) keys.push_back(key);
  rows.Push(keys, std::vector<float>(keys.size() * 2));
  // Two weights and a record of four cells.
  EXPECT_GE(rows.store->bytes(), 800 * 6 * sizeof(float));
  EXPECT_EQ(rows.store->bytes() > empty, sparse());
}

TEST(MakeRowStoreTest, RefusesWhatCannotBe) {
  TableSpec dense = Table(TableKind::kDense);
  EXPECT_THAT(MakeRowStore(dense, {0, 1000}),
              StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(MakeRowStore(dense, {7, 6}),
              StatusIs(absl::StatusCode::kOutOfRange));
  dense.keys = kMaxKey;
  EXPECT_THAT(MakeRowStore(dense, {0, kMaxKey - 1}),
              StatusIs(absl::StatusCode::kResourceExhausted));
  dense.width = 0;
  EXPECT_THAT(MakeRowStore(dense, {0, 10}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("width")));
}

}  // namespace
}  // namespace seraph
