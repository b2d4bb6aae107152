#include "common/model/model_spec.h"

#include <cmath>
#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ModelTablesTest, ADenseLinearModelHasABiasAndItsKeys) {
  ModelSpec spec;
  spec.kind = ModelKind::kLogisticRegression;
  spec.keys = 123;
  ModelTable bias;
  bias.name = "bias";
  bias.is_bias = true;
  bias.kind = TableKind::kDense;
  bias.keys = 1;
  ModelTable weights;
  weights.name = "weights";
  weights.kind = TableKind::kDense;
  weights.keys = 123;
  EXPECT_THAT(ModelTables(spec), ElementsAre(bias, weights));

  spec.bias = BiasKind::kRegularized;
  EXPECT_THAT(ModelTables(spec), ElementsAre(bias, weights));
  spec.bias = BiasKind::kNone;
  EXPECT_THAT(ModelTables(spec), ElementsAre(weights));
}

TEST(ModelTablesTest, WithoutKeysTheWeightsAreSparseAndTheBiasIsNot) {
  ModelSpec spec;
  spec.kind = ModelKind::kSvm;
  const std::vector<ModelTable> tables = ModelTables(spec);
  ASSERT_EQ(tables.size(), 2);
  EXPECT_EQ(tables[0].kind, TableKind::kDense);
  EXPECT_EQ(tables[0].keys, 1);
  EXPECT_EQ(tables[1].kind, TableKind::kSparse);
  EXPECT_EQ(tables[1].keys, 0);
}

TEST(ModelTablesTest, SoftmaxRowsHaveAValuePerClass) {
  ModelSpec spec;
  spec.kind = ModelKind::kSoftmax;
  spec.classes = 10;
  for (const ModelTable& table : ModelTables(spec)) {
    EXPECT_EQ(table.width, 10) << table.name;
  }
}

TEST(ModelSpecTest, TheDefaultLossIsTheFirstOfItsKind) {
  ModelSpec spec;
  spec.kind = ModelKind::kSvm;
  EXPECT_EQ(LossOf(spec), LossKind::kHinge);
  spec.loss = LossKind::kSquaredHinge;
  EXPECT_EQ(LossOf(spec), LossKind::kSquaredHinge);
}

struct BadSpec {
  std::string name;
  void (*spoil)(ModelSpec*);
  std::string want;
};

class ModelSpecRefuses : public ::testing::TestWithParam<BadSpec> {};

TEST_P(ModelSpecRefuses, AndNamesTheField) {
  ModelSpec spec;
  ASSERT_THAT(ValidateModelSpec(spec), IsOk());
  GetParam().spoil(&spec);
  EXPECT_THAT(
      ValidateModelSpec(spec),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().want)));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, ModelSpecRefuses,
    ::testing::Values(
        BadSpec{"NoKeys", [](ModelSpec* s) { s->keys = 0; }, "keys: "},
        BadSpec{"ClassesOfABinaryModel", [](ModelSpec* s) { s->classes = 3; },
                "classes: not used by logistic_regression"},
        BadSpec{"OneClass",
                [](ModelSpec* s) {
                  s->kind = ModelKind::kSoftmax;
                  s->classes = 1;
                },
                "classes: must be >= 2"},
        BadSpec{"ALossOfAnotherKind",
                [](ModelSpec* s) { s->loss = LossKind::kHuber; },
                "loss: huber does not fit logistic_regression"},
        BadSpec{"NegativeDelta", [](ModelSpec* s) { s->huber_delta = -1; },
                "huber_delta: -1"},
        BadSpec{"NanDelta", [](ModelSpec* s) { s->huber_delta = std::nan(""); },
                "huber_delta: nan"}),
    [](const auto& info) { return info.param.name; });

TEST(ModelSpecTest, NamesReadBack) {
  for (absl::string_view name : ModelKindNames()) {
    ASSERT_TRUE(ParseModelKind(name).has_value()) << name;
    EXPECT_EQ(ModelKindName(*ParseModelKind(name)), name);
    for (LossKind loss : LossesOf(*ParseModelKind(name))) {
      EXPECT_EQ(ParseLossKind(LossKindName(loss)), loss);
    }
  }
  for (absl::string_view name : {"free", "regularized", "none"}) {
    ASSERT_TRUE(ParseBiasKind(name).has_value()) << name;
    EXPECT_EQ(BiasKindName(*ParseBiasKind(name)), name);
  }
  EXPECT_EQ(ParseModelKind("logistic"), std::nullopt);
}

}  // namespace
}  // namespace seraph
