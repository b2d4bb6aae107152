// What every optimizer promises, checked for each kind against the oracle.

#include "server/update/update_rule.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "common/base/draw.h"
#include "gtest/gtest.h"
#include "server/update/make_update_rule.h"
#include "server/update/optimizer_oracle.h"
#include "server/update/optimizer_variants.h"
#include "xxhash.h"

namespace seraph {
namespace {

constexpr uint64_t kSeed = 20240607;

double Normal(uint64_t step, uint64_t column) {
  return ToNormal(Draw(kSeed, {step, column, 0}),
                  Draw(kSeed, {step, column, 1}));
}

// A table of one row.
struct OneRow {
  OneRow(const OptimizerSpec& spec, std::vector<float> weights)
      : rule(*MakeUpdateRule(spec, weights.size())), cells(rule->row_cells()) {
    rule->InitRow(weights, sums, cells.data());
  }

  // Whether the row took the gradient.
  bool Push(const std::vector<float>& gradient, double eta) {
    const StepContext step = rule->NextStep(sums, eta);
    sums = step.after;
    return rule->Step({cells.data()}, gradient.data(), step) == 0;
  }
  void Idle(double eta) { sums = rule->Advance(sums, eta); }

  std::vector<float> Read() const {
    std::vector<float> out(rule->width());
    rule->Read({cells.data()}, sums, out.data());
    return out;
  }

  std::shared_ptr<const UpdateRule> rule;
  std::vector<float> cells;
  LazySums sums;
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() ||
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class UpdateRuleTest : public ::testing::TestWithParam<OptimizerVariant> {
 protected:
  const OptimizerSpec& spec() const { return GetParam().spec; }
};

INSTANTIATE_TEST_SUITE_P(All, UpdateRuleTest,
                         ::testing::ValuesIn(OptimizerVariants()),
                         [](const auto& info) { return info.param.name; });

// 1,000 steps, every fifth without the key, with a rate that changes. The
// tolerance is relative to the largest value that the weight has had: float32
// rounds each step relative to that. ftrl rounds z, which is at least l1 where
// the weight is not 0.
TEST_P(UpdateRuleTest, FollowsTheOracleOnBothSidesOfZero) {
  const std::vector<float> start = {0.0f, 0.5f, -0.25f, 0.0f};
  const std::vector<double> scale = {1.0, 0.3, 3.0, 1e-3};
  OneRow row(spec(), start);
  std::vector<OptimizerOracle> oracles;
  std::vector<double> peak, moved(start.size());
  const double resolution = spec().kind == OptimizerKind::kFtrl
                                ? spec().alpha * spec().l1 / spec().beta
                                : 0.0;
  for (float w : start) {
    oracles.emplace_back(spec(), w);
    peak.push_back(std::max<double>(std::abs(w), resolution));
  }
  for (int t = 0; t < 1000; ++t) {
    const double eta = spec().learning_rate / (1 + t / 500);
    if (t % 5 == 4) {
      row.Idle(eta);
      for (OptimizerOracle& oracle : oracles) oracle.Idle(eta);
    } else {
      std::vector<float> g;
      for (size_t j = 0; j < start.size(); ++j) {
        // The drift turns round, so that weights cross zero.
        const double drift = (t / 250 % 2 == 0 ? 0.4 : -0.4) * (j % 2 ? 1 : -1);
        g.push_back(scale[j] * (drift + Normal(t, j)));
        oracles[j].Push(g.back(), eta);
      }
      ASSERT_TRUE(row.Push(g, eta));
    }
    const std::vector<float> got = row.Read();
    for (size_t j = 0; j < start.size(); ++j) {
      const double want = oracles[j].weight();
      peak[j] = std::max(peak[j], std::abs(want));
      moved[j] = std::max(moved[j], std::abs(want - start[j]));
      ASSERT_NEAR(got[j], want, 1e-5 * peak[j])
          << "step " << t << ", column " << j;
    }
  }
  // The last column is too small to pass ftrl's and adagrad's l1.
  for (size_t j = 0; j + 1 < start.size(); ++j) {
    EXPECT_GT(moved[j], 0.01) << "a still weight tests nothing: column " << j;
  }
}

TEST_P(UpdateRuleTest, IsOddInWeightsAndGradients) {
  OneRow plus(spec(), {0.5f}), minus(spec(), {-0.5f});
  for (int t = 0; t < 100; ++t) {
    const float g = Normal(t, 0) + 0.3;
    ASSERT_TRUE(plus.Push({g}, spec().learning_rate));
    ASSERT_TRUE(minus.Push({-g}, spec().learning_rate));
    ASSERT_EQ(plus.Read()[0], -minus.Read()[0]) << "step " << t;
  }
}

TEST_P(UpdateRuleTest, AZeroGradientAtTheFirstTouchMovesOnlyByThePenalties) {
  for (double epsilon : {spec().epsilon, 0.0}) {
    OptimizerSpec edge = spec();
    edge.epsilon = epsilon;
    OneRow row(edge, {0.0f, 0.5f});
    ASSERT_TRUE(row.Push({0.0f, 0.0f}, edge.learning_rate));
    EXPECT_EQ(row.Read()[0], 0.0f);
    if (edge.kind == OptimizerKind::kAssign) {
      EXPECT_EQ(row.Read()[1], 0.0f);
    } else if (edge.kind == OptimizerKind::kFtrl) {
      EXPECT_NEAR(row.Read()[1], 0.5f, 1e-7) << "z implies the weight";
    } else if (edge.l1 == 0 && edge.l2 == 0 &&
               edge.kind != OptimizerKind::kAdamw) {
      EXPECT_EQ(row.Read()[1], 0.5f);
    } else {
      EXPECT_GE(row.Read()[1], 0.0f);
      EXPECT_LE(row.Read()[1], 0.5f);
    }
  }
}

TEST_P(UpdateRuleTest, DenormalGradientsGiveWhatTheOracleGives) {
  for (double scale : {1e-42, 1e-38, 1e-30, 1e-20, 1e-12}) {
    OneRow row(spec(), {0.0f});
    OptimizerOracle oracle(spec());
    double peak = 0;
    for (int t = 0; t < 20; ++t) {
      const float g = scale * Normal(t, 0);
      ASSERT_TRUE(row.Push({g}, spec().learning_rate));
      oracle.Push(g, spec().learning_rate);
      peak = std::max(peak, std::abs(oracle.weight()));
      // Denormal weights and slots are rounded to multiples of 1.4e-45,
      // slots ten times more coarsely where a moving average multiplies it.
      ASSERT_NEAR(
          row.Read()[0], oracle.weight(),
          1e-5 * peak + 2e-43 * (1 + spec().learning_rate / spec().epsilon))
          << "step " << t << ", scale " << scale;
    }
  }
}

// Sooner or later a weight or a slot overflows: then nothing has changed, to
// the bit.
TEST_P(UpdateRuleTest, AResultThatIsNotFiniteLeavesTheRowAsItWas) {
  constexpr float kMax = std::numeric_limits<float>::max();
  int refused = 0;
  OneRow row(spec(), {0.5f, 0.5f});
  for (int t = 0; t < 20; ++t) {
    const std::vector<float> before = row.cells;
    if (row.Push({1.0f, kMax}, spec().learning_rate)) continue;
    ++refused;
    EXPECT_TRUE(SameBits(row.cells, before)) << "push " << t;
  }
  if (spec().kind == OptimizerKind::kAssign || spec().clip_value > 0) {
    EXPECT_EQ(refused, 0);
  } else {
    EXPECT_GT(refused, 0) << "no overflow, no test";
  }
}

TEST_P(UpdateRuleTest, AGradientThatIsNotFiniteIsRefusedAlsoIfClippingHidesIt) {
  for (float bad : {std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity(),
                    std::numeric_limits<float>::quiet_NaN()}) {
    OneRow row(spec(), {0.5f, 0.5f});
    ASSERT_TRUE(row.Push({0.1f, 0.1f}, spec().learning_rate));
    const std::vector<float> before = row.cells;
    EXPECT_FALSE(row.Push({0.1f, bad}, spec().learning_rate));
    EXPECT_TRUE(SameBits(row.cells, before));
  }
}

TEST_P(UpdateRuleTest, ReadingWritesNothing) {
  OneRow row(spec(), {0.5f, -0.5f});
  ASSERT_TRUE(row.Push({0.1f, -0.3f}, spec().learning_rate));
  const std::vector<float> before = row.cells;
  for (int t = 0; t < 10; ++t) row.Idle(spec().learning_rate);
  const std::vector<float> read = row.Read();
  EXPECT_TRUE(SameBits(row.cells, before));
  EXPECT_TRUE(SameBits(row.Read(), read));
}

// Rows in one call or in many, wide or narrow, at whatever address: the bits of
// a value are a function of its own inputs.
TEST_P(UpdateRuleTest, BitsDoNotDependOnNeighboursOrAddresses) {
  constexpr size_t kRows = 48;
  constexpr size_t kSteps = 30;
  const auto value = [](size_t row, size_t t) -> float {
    return 2 * Normal(t, row);
  };
  // Tables of 48 rows by one column, of 24 by 2, and so on to 1 row by 48
  // columns, each at two addresses, and 48 tables of one row.
  std::vector<std::vector<float>> results;
  for (size_t width : {1, 2, 3, 4, 6, 8, 12, 16, 24, 48}) {
    auto rule = *MakeUpdateRule(spec(), width);
    const size_t cells = rule->row_cells();
    for (size_t offset : {0, 3}) {
      std::vector<float> memory(offset + kRows * cells);
      std::vector<float*> rows;
      for (size_t i = 0; i < kRows / width; ++i) {
        rows.push_back(memory.data() + offset + i * cells);
        rule->InitRow(std::vector<float>(width, 0.25f), {}, rows.back());
      }
      LazySums sums;
      for (size_t t = 0; t < kSteps; ++t) {
        std::vector<float> g(kRows);
        for (size_t i = 0; i < kRows; ++i) g[i] = value(i, t);
        const StepContext step = rule->NextStep(sums, spec().learning_rate);
        sums = step.after;
        ASSERT_EQ(rule->Step(rows, g.data(), step), 0u);
      }
      sums = rule->Advance(sums, spec().learning_rate);
      results.emplace_back(kRows);
      rule->Read(std::vector<const float*>(rows.begin(), rows.end()), sums,
                 results.back().data());
    }
  }
  results.emplace_back();
  for (size_t i = 0; i < kRows; ++i) {
    OneRow row(spec(), {0.25f});
    for (size_t t = 0; t < kSteps; ++t) {
      ASSERT_TRUE(row.Push({value(i, t)}, spec().learning_rate));
    }
    row.Idle(spec().learning_rate);
    results.back().push_back(row.Read()[0]);
  }
  for (const std::vector<float>& result : results) {
    EXPECT_TRUE(SameBits(result, results[0]));
  }
}

// Rows with other counts of steps, other records and gradients that are refused
// do not show in their neighbours of one call.
TEST_P(UpdateRuleTest, RowsOfOneCallMoveAsEachOfThemAlone) {
  constexpr size_t kRows = 11;
  for (size_t width : {1, 2, 3, 4, 5, 7, 8, 13}) {
    SCOPED_TRACE(width);
    std::vector<OneRow> alone(kRows,
                              OneRow(spec(), std::vector<float>(width, 0.25f)));
    std::vector<OneRow> together = alone;
    for (uint64_t t = 0; t < 60; ++t) {
      const StepContext step =
          alone[0].rule->NextStep(alone[0].sums, spec().learning_rate);
      std::vector<float*> rows;
      std::vector<float> gradients;
      uint64_t refused = 0;
      for (uint64_t i = 0; i < kRows; ++i) {
        if (ToBelow(Draw(kSeed, {t, i, 7}), 3) == 0) continue;
        std::vector<float> g;
        for (uint64_t j = 0; j < width; ++j) {
          g.push_back(Normal(t * kRows + i, j));
        }
        if (ToBelow(Draw(kSeed, {t, i, 8}), 8) == 0) {
          g[ToBelow(Draw(kSeed, {t, i, 9}), width)] =
              std::numeric_limits<float>::infinity();
          refused |= uint64_t{1} << rows.size();
        }
        EXPECT_EQ(alone[i].rule->Step({alone[i].cells.data()}, g.data(), step),
                  (refused >> rows.size()) & 1);
        rows.push_back(together[i].cells.data());
        gradients.insert(gradients.end(), g.begin(), g.end());
      }
      ASSERT_EQ(together[0].rule->Step(rows, gradients.data(), step), refused);
      for (size_t i = 0; i < kRows; ++i) {
        alone[i].sums = together[i].sums = step.after;
        ASSERT_TRUE(SameBits(alone[i].cells, together[i].cells))
            << "step " << t << ", row " << i;
      }
    }
  }
}

// Setting a key of the specification to another value must show.
TEST(UpdateRuleFieldsTest, NoFieldThatAKindUsesIsIgnored) {
  using Kind = OptimizerKind;
  using Field = double OptimizerSpec::*;
  const struct {
    const char* name;
    Field field;
    double other;
    std::vector<Kind> used_by;
  } fields[] = {
      {"momentum",
       &OptimizerSpec::momentum,
       0.5,
       {Kind::kMomentum, Kind::kNesterov}},
      {"rho", &OptimizerSpec::rho, 0.5, {Kind::kRmsprop, Kind::kAdadelta}},
      {"epsilon",
       &OptimizerSpec::epsilon,
       0.1,
       {Kind::kAdagrad, Kind::kRmsprop, Kind::kAdadelta, Kind::kAdam,
        Kind::kAdamw}},
      {"beta1", &OptimizerSpec::beta1, 0.5, {Kind::kAdam, Kind::kAdamw}},
      {"beta2", &OptimizerSpec::beta2, 0.5, {Kind::kAdam, Kind::kAdamw}},
      {"weight_decay", &OptimizerSpec::weight_decay, 0.7, {Kind::kAdamw}},
      {"alpha", &OptimizerSpec::alpha, 0.3, {Kind::kFtrl}},
      {"beta", &OptimizerSpec::beta, 3, {Kind::kFtrl}},
      {"l1",
       &OptimizerSpec::l1,
       0.01,
       {Kind::kSgd, Kind::kMomentum, Kind::kNesterov, Kind::kAdagrad,
        Kind::kRmsprop, Kind::kAdadelta, Kind::kAdam, Kind::kAdamw,
        Kind::kFtrl}},
      {"l2",
       &OptimizerSpec::l2,
       0.5,
       {Kind::kSgd, Kind::kMomentum, Kind::kNesterov, Kind::kAdagrad,
        Kind::kRmsprop, Kind::kAdadelta, Kind::kAdam, Kind::kAdamw,
        Kind::kFtrl}},
      {"clip_value",
       &OptimizerSpec::clip_value,
       0.25,
       {Kind::kSgd, Kind::kMomentum, Kind::kNesterov, Kind::kAdagrad,
        Kind::kRmsprop, Kind::kAdadelta, Kind::kAdam, Kind::kAdamw,
        Kind::kFtrl}},
  };
  const auto after = [](const OptimizerSpec& spec) {
    OneRow row(spec, {0.0f});  // From a weight, ftrl's z makes up for l1.
    for (float g : {0.5f, -0.1f, 0.7f}) row.Push({g}, spec.learning_rate);
    return row.Read()[0];
  };
  for (const auto& field : fields) {
    for (const OptimizerVariant& variant : OptimizerVariants()) {
      OptimizerSpec changed = variant.spec;
      if (std::count(field.used_by.begin(), field.used_by.end(),
                     changed.kind) == 0) {
        continue;
      }
      changed.*field.field = field.other;
      EXPECT_NE(after(changed), after(variant.spec))
          << field.name << " of " << variant.name;
    }
  }
}

TEST(UpdateRuleLayoutTest, RowsHoldWhatTheKindNeedsAndNoMore) {
  const auto cells = [](OptimizerSpec spec, uint32_t width) {
    return (*MakeUpdateRule(spec, width))->row_cells();
  };
  using Kind = OptimizerKind;
  EXPECT_EQ(cells({.kind = Kind::kSgd}, 3), 3u);
  EXPECT_EQ(cells({.kind = Kind::kSgd, .l2 = 0.1}, 3), 3u + 2);
  EXPECT_EQ(cells({.kind = Kind::kSgd, .l1 = 0.1}, 3), 3u + 2);
  EXPECT_EQ(cells({.kind = Kind::kSgd, .l1 = 0.1, .l2 = 0.1}, 3), 3u + 4);
  EXPECT_EQ(cells({.kind = Kind::kMomentum, .l2 = 0.1}, 3), 6u);
  EXPECT_EQ(cells({.kind = Kind::kAdagrad, .l1 = 0.1}, 3), 6u);
  EXPECT_EQ(cells({.kind = Kind::kFtrl, .l1 = 0.1}, 3), 9u);
  EXPECT_EQ(cells({.kind = Kind::kAdam}, 3), 9u + 1);
  EXPECT_EQ(cells({.kind = Kind::kAdamw}, 3), 9u + 1 + 2);
  EXPECT_EQ(cells({.kind = Kind::kAdamw, .weight_decay = 0}, 3), 9u + 1);
  EXPECT_EQ(cells({.kind = Kind::kSum}, 3), 3u);
}

// A count of steps is exact, and stays at the largest one it can hold.
TEST(UpdateRuleLayoutTest, AdamCountsAKeysStepsUpToTheLargestCount) {
  OneRow row({.kind = OptimizerKind::kAdam}, {0.5f});
  const auto steps = [&row]() {
    uint32_t t;
    std::memcpy(&t, &row.cells[3], sizeof(t));
    return t;
  };
  for (int t = 0; t < 1000; ++t) {
    ASSERT_EQ(steps(), t);
    ASSERT_TRUE(row.Push({0.1f}, 0.1));
    row.Idle(0.1);
  }
  constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();
  std::memcpy(&row.cells[3], &kMost, sizeof(kMost));
  ASSERT_TRUE(row.Push({0.1f}, 0.1));
  EXPECT_EQ(steps(), kMost);
}

TEST(FtrlTest, AHugeSavedWeightHasAFiniteState) {
  OneRow row({.kind = OptimizerKind::kFtrl}, {3e38f});
  EXPECT_EQ(row.Read()[0], 3e38f);
  EXPECT_TRUE(std::isfinite(row.cells[1]));
}

// A weight that the threshold takes away is 0 and prints as 0.
TEST(FtrlTest, WeightsBelowTheThresholdArePlusZero) {
  OneRow row({.kind = OptimizerKind::kFtrl, .l1 = 1}, {0.0f, 0.0f});
  ASSERT_TRUE(row.Push({0.5f, -0.5f}, 0.1));
  for (float w : row.Read()) {
    EXPECT_EQ(w, 0.0f);
    EXPECT_FALSE(std::signbit(w));
  }
}

TEST(MakeUpdateRuleTest, RefusesWhatValidationRefuses) {
  EXPECT_FALSE(MakeUpdateRule({.learning_rate = -1}, 1).ok());
  EXPECT_FALSE(MakeUpdateRule({}, 0).ok());
}

// A value that is set is read as it is, and a push goes on from it with the
// state that the key had.
TEST_P(UpdateRuleTest, WeightsThatAreSetAreReadAndTrainedOn) {
  OneRow row(spec(), {0.5f, -0.25f, 1.0f});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(row.Push({0.1f, -0.2f, 0.3f}, 0.05));
  row.Idle(0.05);
  std::vector<float> weights = row.Read();
  const std::vector<float> cells_before = row.cells;
  weights[0] = 2.0f;
  weights[1] = 0.0f;
  row.rule->SetWeights(weights, row.sums, row.cells.data());
  EXPECT_TRUE(SameBits(row.Read(), weights));
  // Slots of a column that was not set keep their bits, and for all kinds but
  // ftrl those of the others do, too.
  const bool implies = spec().kind == OptimizerKind::kFtrl;
  const bool counts = spec().kind == OptimizerKind::kAdam ||
                      spec().kind == OptimizerKind::kAdamw;
  const size_t slots =
      (row.cells.size() - LazyTermsOf(spec()).record_cells() - counts) / 3 - 1;
  for (size_t i = 3; i < 3 * (slots + 1); ++i) {
    if (implies && i < 5) continue;  // z.
    EXPECT_EQ(row.cells[i], cells_before[i]) << i;
  }
  if (!implies) return;
  // A gradient of 0 leaves the weights of ftrl where its state says they are.
  ASSERT_TRUE(row.Push({0.0f, 0.0f, 0.0f}, 0.05));
  const std::vector<float> after = row.Read();
  EXPECT_NEAR(after[0], 2.0, 1e-5);
  EXPECT_EQ(after[1], 0.0f);
}

}  // namespace
}  // namespace seraph
