// What holds for every model: the gradient is that of the mean loss, the keys
// are those of the batch, and nothing depends on earlier batches.
#include "worker/model/model.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Example = std::pair<double, std::vector<std::pair<Key, float>>>;

Batch BatchOf(const std::vector<Example>& examples) {
  Batch batch;
  for (const auto& [label, row] : examples) {
    batch.labels.push_back(label);
    for (const auto& [key, value] : row) {
      batch.keys.push_back(key);
      batch.values.push_back(value);
    }
    batch.row_starts.push_back(batch.keys.size());
  }
  return batch;
}

// A model with all its parameters, as a table server would have them.
class Trained {
 public:
  explicit Trained(const ModelSpec& spec) : model(MakeModel(spec)) {
    for (const ModelTable& table : model->tables()) {
      params[table.name];
    }
  }

  // Fills the rows of the batch's keys from `params`, 0 where there is none.
  void Pull(const Batch& batch) {
    ASSERT_THAT(model->Prepare(batch, &keys), IsOk());
    buffers.assign(model->tables().size(), {});
    rows.clear();
    for (size_t t = 0; t < buffers.size(); ++t) {
      const ModelTable& table = model->tables()[t];
      for (Key key : keys.tables[t]) {
        const std::vector<float>& row = params[table.name]
                                            .try_emplace(key, table.width, 0.0f)
                                            .first->second;
        buffers[t].insert(buffers[t].end(), row.begin(), row.end());
      }
      rows.push_back(buffers[t]);
    }
  }

  absl::Status Gradient(const Batch& batch) {
    Pull(batch);
    return model->Gradient(batch, keys, rows, &gradients, &sums);
  }

  std::vector<double> Score(const Batch& batch) {
    Pull(batch);
    std::vector<double> scores;
    EXPECT_THAT(model->Score(batch, keys, rows, &scores), IsOk());
    return scores;
  }

  std::unique_ptr<Model> model;
  std::map<std::string, std::map<Key, std::vector<float>>> params;
  BatchKeys keys;
  std::vector<std::vector<float>> buffers;
  std::vector<absl::Span<const float>> rows;
  std::vector<TableGradient> gradients;
  MetricSums sums;
};

ModelSpec SpecOf(ModelKind kind, std::optional<LossKind> loss = std::nullopt) {
  ModelSpec spec;
  spec.kind = kind;
  spec.loss = loss;
  spec.huber_delta = 0.75;
  if (kind == ModelKind::kSoftmax) spec.classes = 3;
  return spec;
}

// Keys of all magnitudes, in rows of 0 to 6.
Batch RandomBatch(const ModelSpec& spec, uint64_t seed, size_t examples) {
  Batch batch;
  for (uint64_t i = 0; i < examples; ++i) {
    const double u = ToUnit(Draw(seed, {i, 0}));
    switch (TaskOf(spec.kind)) {
      case TaskKind::kRegression:
        batch.labels.push_back(4 * u - 2);
        break;
      case TaskKind::kBinary:
        batch.labels.push_back(u < 0.5);
        break;
      case TaskKind::kMulticlass:
        batch.labels.push_back(ToBelow(Draw(seed, {i, 0}), *spec.classes));
        break;
    }
    const uint64_t width = ToBelow(Draw(seed, {i, 1}), 7);
    std::map<Key, float> row;
    for (uint64_t j = 0; j < width; ++j) {
      Key key = ToBelow(Draw(seed, {i, 2, j}), 12);
      if (!spec.keys.has_value() && key >= 6) key *= 0x0123456789abcdefu;
      row[key] = 2 * ToUnit(Draw(seed, {i, 3, j})) - 1;
    }
    for (const auto& [key, value] : row) {
      batch.keys.push_back(key);
      batch.values.push_back(value);
    }
    batch.row_starts.push_back(batch.keys.size());
  }
  return batch;
}

void RandomizeParams(Trained* trained, const Batch& batch, uint64_t seed) {
  trained->Pull(batch);
  for (auto& [name, rows] : trained->params) {
    for (auto& [key, row] : rows) {
      for (uint64_t j = 0; j < row.size(); ++j) {
        row[j] = 2 * ToUnit(Draw(seed, {DrawLabel(name), key, j})) - 1;
      }
    }
  }
}

// The mean loss in long double, written from docs/algorithms.md. `bump` is
// added to one parameter.
struct Bump {
  std::string table;
  Key key = 0;
  size_t column = 0;
  long double by = 0;
};

long double MeanLoss(const ModelSpec& spec, const Trained& trained,
                     const Batch& batch, const Bump& bump) {
  const size_t width = trained.model->scores_per_example();
  const auto at = [&](const std::string& table, Key key, size_t column) {
    long double value = trained.params.at(table).at(key)[column];
    if (bump.table == table && bump.key == key && bump.column == column) {
      value += bump.by;
    }
    return value;
  };
  long double total = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    std::vector<long double> f(width, 0);
    for (size_t k = 0; k < width; ++k) {
      if (spec.bias != BiasKind::kNone) f[k] += at("bias", 0, k);
      for (size_t j = batch.row_starts[i]; j < batch.row_starts[i + 1]; ++j) {
        f[k] += at("weights", batch.keys[j], k) * batch.values[j];
      }
    }
    const double y = batch.labels[i];
    const long double s = y == 1 ? 1 : -1;
    const long double r = f[0] - y;
    switch (LossOf(spec)) {
      case LossKind::kSquared:
        total += r * r / 2;
        break;
      case LossKind::kHuber:
        total +=
            std::abs(r) <= 0.75L ? r * r / 2 : 0.75L * (std::abs(r) - 0.375L);
        break;
      case LossKind::kLog:
        total += logl(1 + expl(-s * f[0]));
        break;
      case LossKind::kHinge:
        total += std::max(0.0L, 1 - s * f[0]);
        break;
      case LossKind::kSquaredHinge:
        total += std::max(0.0L, 1 - s * f[0]) * std::max(0.0L, 1 - s * f[0]);
        break;
      case LossKind::kCrossEntropy: {
        long double sum = 0;
        for (long double score : f) sum += expl(score);
        total += logl(sum) - f[static_cast<size_t>(y)];
        break;
      }
    }
  }
  return total / batch.size();
}

class EveryModel : public ::testing::TestWithParam<ModelSpec> {};

TEST_P(EveryModel, HasTheGradientOfItsMeanLoss) {
  const ModelSpec& spec = GetParam();
  double most = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Batch batch = RandomBatch(spec, seed, 17);
    Trained trained(spec);
    RandomizeParams(&trained, batch, seed + 100);
    ASSERT_THAT(trained.Gradient(batch), IsOk());
    EXPECT_NEAR(trained.sums.loss / trained.sums.examples,
                MeanLoss(spec, trained, batch, {}), 1e-12);
    for (size_t t = 0; t < trained.gradients.size(); ++t) {
      const TableGradient& gradient = trained.gradients[t];
      const ModelTable& table = trained.model->tables()[t];
      std::map<Key, std::vector<float>> pushed;
      for (size_t i = 0; i < gradient.keys.size(); ++i) {
        const auto begin = gradient.values.begin() + i * table.width;
        pushed[gradient.keys[i]].assign(begin, begin + table.width);
      }
      for (Key key : trained.keys.tables[t]) {
        for (size_t column = 0; column < table.width; ++column) {
          const long double h = 1e-6L;
          const double want =
              (MeanLoss(spec, trained, batch, {table.name, key, column, h}) -
               MeanLoss(spec, trained, batch, {table.name, key, column, -h})) /
              (2 * h);
          const double got = pushed.count(key) ? pushed[key][column] : 0.0;
          // float32 of values below 1.
          ASSERT_NEAR(got, want, 2e-7) << table.name << " " << key;
          most = std::max(most, std::abs(want));
        }
      }
    }
  }
  EXPECT_GT(most, 0.05) << "a flat loss would make this test say nothing";
}

TEST_P(EveryModel, GivesTheSameBitsWhateverItSawBeforeAndWhereRowsLie) {
  const ModelSpec& spec = GetParam();
  const Batch batch = RandomBatch(spec, 3, 40);
  Trained fresh(spec);
  RandomizeParams(&fresh, batch, 7);
  ASSERT_THAT(fresh.Gradient(batch), IsOk());

  Trained used(spec);
  for (size_t examples : {100, 1, 0, 60}) {
    ASSERT_THAT(used.Gradient(RandomBatch(spec, examples, examples)), IsOk());
  }
  used.params = fresh.params;
  used.sums = {};
  used.Pull(batch);
  std::vector<std::vector<float>> moved;
  for (size_t t = 0; t < used.buffers.size(); ++t) {
    // Another address, by one float, than the allocator would give.
    std::vector<float>& copy = moved.emplace_back(1, 0.0f);
    copy.insert(copy.end(), used.buffers[t].begin(), used.buffers[t].end());
  }
  for (size_t t = 0; t < moved.size(); ++t) {
    used.rows[t] = absl::MakeConstSpan(moved[t]).subspan(1);
  }
  ASSERT_THAT(used.model->Gradient(batch, used.keys, used.rows, &used.gradients,
                                   &used.sums),
              IsOk());
  EXPECT_EQ(used.sums, fresh.sums);
  ASSERT_EQ(used.gradients.size(), fresh.gradients.size());
  for (size_t t = 0; t < used.gradients.size(); ++t) {
    EXPECT_EQ(used.gradients[t].keys, fresh.gradients[t].keys);
    ASSERT_EQ(used.gradients[t].values.size(),
              fresh.gradients[t].values.size());
    EXPECT_EQ(std::memcmp(used.gradients[t].values.data(),
                          fresh.gradients[t].values.data(),
                          used.gradients[t].values.size() * sizeof(float)),
              0)
        << "table " << t;
  }
}

TEST_P(EveryModel, EvaluatesFrozenScoresAsItCountsThemInTraining) {
  const ModelSpec& spec = GetParam();
  const Batch batch = RandomBatch(spec, 4, 50);
  Trained trained(spec);
  RandomizeParams(&trained, batch, 8);
  ASSERT_THAT(trained.Gradient(batch), IsOk());
  const std::vector<double> scores = trained.Score(batch);
  ASSERT_EQ(scores.size(), batch.size() * trained.model->scores_per_example());
  MetricSums evaluated;
  ASSERT_THAT(trained.model->Evaluate(batch.labels, scores, &evaluated),
              IsOk());
  EXPECT_EQ(evaluated, trained.sums);
  EXPECT_EQ(evaluated.examples, 50);
}

TEST_P(EveryModel, AnEmptyBatchPushesNothingAndCountsNothing) {
  Trained trained(GetParam());
  ASSERT_THAT(trained.Gradient(Batch()), IsOk());
  for (const TableGradient& gradient : trained.gradients) {
    EXPECT_THAT(gradient.keys, IsEmpty());
    EXPECT_THAT(gradient.values, IsEmpty());
  }
  EXPECT_EQ(trained.sums, MetricSums());
  EXPECT_THAT(trained.Score(Batch()), IsEmpty());
}

TEST_P(EveryModel, NamesTheTableAndKeyOfARowThatIsNotFinite) {
  const ModelSpec& spec = GetParam();
  const double label = 1;
  const Batch batch = BatchOf({{label, {{2, 1.0f}}}, {label, {{5, 1.0f}}}});
  Trained trained(spec);
  trained.params["weights"][5].assign(trained.model->scores_per_example(),
                                      std::numeric_limits<float>::infinity());
  EXPECT_THAT(trained.Gradient(batch),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("the score of example 1 of the batch is inf: "
                                 "table 'weights', key 5 has the value inf")));
  EXPECT_EQ(trained.sums, MetricSums()) << "a refused batch is not counted";
}

TEST_P(EveryModel, RefusesAKeyBeyondADenseTable) {
  ModelSpec spec = GetParam();
  spec.keys = 12;
  Trained trained(spec);
  EXPECT_THAT(trained.model->Prepare(BatchOf({{0, {{11, 1}}}}), &trained.keys),
              IsOk());
  EXPECT_THAT(
      trained.model->Prepare(BatchOf({{0, {{3, 1}}}, {0, {{2, 1}, {12, 1}}}}),
                             &trained.keys),
      StatusIs(absl::StatusCode::kOutOfRange,
               HasSubstr("key 12 is not in table 'weights'")));
}

std::vector<ModelSpec> AllSpecs() {
  std::vector<ModelSpec> specs;
  for (absl::string_view name : ModelKindNames()) {
    const ModelKind kind = *ParseModelKind(name);
    for (LossKind loss : LossesOf(kind)) {
      specs.push_back(SpecOf(kind, loss));
    }
    specs.push_back(SpecOf(kind));
    specs.back().bias = BiasKind::kNone;
    specs.push_back(SpecOf(kind));
    specs.back().keys = 12;
    specs.back().bias = BiasKind::kRegularized;
  }
  return specs;
}

INSTANTIATE_TEST_SUITE_P(Specs, EveryModel, ::testing::ValuesIn(AllSpecs()),
                         [](const auto& info) {
                           const ModelSpec& spec = info.param;
                           return absl::StrCat(
                               ModelKindName(spec.kind), "_",
                               LossKindName(LossOf(spec)), "_bias_",
                               BiasKindName(spec.bias),
                               spec.keys.has_value() ? "_dense" : "_sparse");
                         });

TEST(LinearModelTest, AnExampleByHand) {
  // Scores 1 + 2 * 3 = 7 and 1 + 2 * 1 - 1 * 2 = 1; errors 2 and -3.
  ModelSpec spec = SpecOf(ModelKind::kLinearRegression);
  Trained trained(spec);
  trained.params["bias"][0] = {1};
  trained.params["weights"][4] = {2};
  trained.params["weights"][9] = {-1};
  const Batch batch = BatchOf({{5, {{4, 3.0f}}}, {4, {{4, 1.0f}, {9, 2.0f}}}});
  EXPECT_THAT(trained.Score(batch), ElementsAre(7, 1));
  ASSERT_THAT(trained.Gradient(batch), IsOk());
  EXPECT_THAT(trained.gradients[0].keys, ElementsAre(0));
  EXPECT_THAT(trained.gradients[0].values, ElementsAre(-0.5));
  EXPECT_THAT(trained.gradients[1].keys, ElementsAre(4, 9));
  EXPECT_THAT(trained.gradients[1].values, ElementsAre(1.5, -3));
  EXPECT_EQ(trained.sums.loss, 0.5 * 4 + 0.5 * 9);
  EXPECT_EQ(trained.sums.absolute_error, 5);
  EXPECT_EQ(trained.model->Predict({7.0}), 7);
}

TEST(LinearModelTest, AnSvmPushesTheKeysOfViolatedMarginsAlone) {
  Trained trained(SpecOf(ModelKind::kSvm));
  trained.params["weights"][1] = {2};
  // The first example has the margin 2; the second one none, with a value 0.
  const Batch batch =
      BatchOf({{1, {{1, 1.0f}, {2, 1.0f}}}, {0, {{3, 0.0f}, {7, 4.0f}}}});
  ASSERT_THAT(trained.Gradient(batch), IsOk());
  EXPECT_THAT(trained.gradients[0].keys, ElementsAre(0));
  EXPECT_THAT(trained.gradients[0].values, ElementsAre(0.5));
  EXPECT_THAT(trained.gradients[1].keys, ElementsAre(3, 7));
  EXPECT_THAT(trained.gradients[1].values, ElementsAre(0, 2));

  ASSERT_THAT(trained.Gradient(BatchOf({{1, {{1, 1.0f}}}})), IsOk());
  EXPECT_THAT(trained.gradients[0].keys, IsEmpty());
  EXPECT_THAT(trained.gradients[1].keys, IsEmpty());
  EXPECT_EQ(trained.sums.examples, 3);
}

TEST(LinearModelTest, OtherModelsPushEveryKeyOfTheBatchAlsoWithZero) {
  Trained trained(SpecOf(ModelKind::kLinearRegression));
  ASSERT_THAT(trained.Gradient(BatchOf({{0, {{3, 1.0f}, {8, 0.0f}}}})), IsOk());
  EXPECT_THAT(trained.gradients[0].keys, ElementsAre(0));
  EXPECT_THAT(trained.gradients[1].keys, ElementsAre(3, 8));
  EXPECT_THAT(trained.gradients[1].values, ElementsAre(0, 0));
}

TEST(LinearModelTest, AKeyTwiceInARowCountsTwice) {  // libffm: two fields.
  Trained trained(SpecOf(ModelKind::kLinearRegression));
  trained.params["weights"][3] = {1};
  const Batch batch = BatchOf({{1, {{3, 1.0f}, {3, 2.0f}}}});
  EXPECT_THAT(trained.Score(batch), ElementsAre(3));
  ASSERT_THAT(trained.Gradient(batch), IsOk());
  EXPECT_THAT(trained.gradients[1].keys, ElementsAre(3));
  EXPECT_THAT(trained.gradients[1].values, ElementsAre(6));
}

TEST(LinearModelTest, PredictsProbabilitiesAndMargins) {
  EXPECT_DOUBLE_EQ(
      MakeModel(SpecOf(ModelKind::kLogisticRegression))->Predict({std::log(3)}),
      0.75);
  EXPECT_EQ(MakeModel(SpecOf(ModelKind::kSvm))->Predict({-1.5}), -1.5);
}

TEST(LinearModelTest, NamesTheKeyWhoseGradientOverflows) {
  Trained trained(SpecOf(ModelKind::kLinearRegression));
  trained.params["weights"][6] = {3e38f};
  EXPECT_THAT(trained.Gradient(BatchOf({{0, {{6, 2.0f}}}})),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("table 'bias', key 0 is inf")));
  EXPECT_EQ(trained.sums, MetricSums());
}

TEST(SoftmaxModelTest, AnExampleByHand) {
  ModelSpec spec = SpecOf(ModelKind::kSoftmax);
  Trained trained(spec);
  // Scores log 1, log 2, log 5: probabilities 1/8, 1/4, 5/8.
  trained.params["weights"][4] = {0, std::log(2.0f), std::log(5.0f)};
  const Batch batch = BatchOf({{1, {{4, 1.0f}}}});
  ASSERT_THAT(trained.Gradient(batch), IsOk());
  EXPECT_NEAR(trained.sums.loss, std::log(4), 1e-7);
  EXPECT_EQ(trained.sums.correct, 0);
  for (const TableGradient& gradient : trained.gradients) {
    EXPECT_THAT(gradient.values,
                ElementsAre(::testing::FloatNear(0.125, 1e-7),
                            ::testing::FloatNear(-0.75, 1e-7),
                            ::testing::FloatNear(0.625, 1e-7)));
  }
  EXPECT_EQ(trained.model->Predict({0.5, 3.0, 3.0}), 1);
}

TEST(SoftmaxModelTest, TwoClassesAreALogisticRegression) {
  ModelSpec two = SpecOf(ModelKind::kSoftmax);
  two.classes = 2;
  const ModelSpec logistic = SpecOf(ModelKind::kLogisticRegression);
  const Batch batch = RandomBatch(logistic, 21, 30);
  Trained a(two), b(logistic);
  RandomizeParams(&b, batch, 5);
  for (const auto& [table, rows] : b.params) {
    for (const auto& [key, row] : rows) a.params[table][key] = {0, row[0]};
  }
  ASSERT_THAT(a.Gradient(batch), IsOk());
  ASSERT_THAT(b.Gradient(batch), IsOk());
  EXPECT_NEAR(a.sums.log_loss, b.sums.log_loss, 1e-12);
  EXPECT_EQ(a.sums.correct, b.sums.correct);
  for (size_t t = 0; t < 2; ++t) {
    ASSERT_EQ(a.gradients[t].keys, b.gradients[t].keys);
    for (size_t i = 0; i < b.gradients[t].keys.size(); ++i) {
      EXPECT_NEAR(a.gradients[t].values[2 * i + 1], b.gradients[t].values[i],
                  1e-7);
      EXPECT_NEAR(a.gradients[t].values[2 * i], -b.gradients[t].values[i],
                  1e-7);
    }
  }
}

struct BadLabel {
  std::string name;
  ModelKind kind;
  double label;
  std::string want;
};

class ModelRefusesLabel : public ::testing::TestWithParam<BadLabel> {};

TEST_P(ModelRefusesLabel, InTrainingAndEvaluation) {
  Trained trained(SpecOf(GetParam().kind));
  const Batch batch = BatchOf({{1, {{1, 1.0f}}}, {GetParam().label, {}}});
  const auto want =
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().want));
  EXPECT_THAT(trained.Gradient(batch), want);
  std::vector<double> scores(2 * trained.model->scores_per_example());
  EXPECT_THAT(trained.model->Evaluate(batch.labels, scores, &trained.sums),
              want);
  EXPECT_EQ(trained.sums, MetricSums());
}

INSTANTIATE_TEST_SUITE_P(
    Labels, ModelRefusesLabel,
    ::testing::Values(
        BadLabel{"Minus", ModelKind::kLogisticRegression, -1,
                 "example 1 of the batch: label -1 is neither 0 nor 1"},
        BadLabel{"Half", ModelKind::kSvm, 0.5, "neither 0 nor 1"},
        BadLabel{"TooLarge", ModelKind::kSoftmax, 3,
                 "label 3 is not one of the classes 0 to 2"},
        BadLabel{"Negative", ModelKind::kSoftmax, -1, "not one of the classes"},
        BadLabel{"Fraction", ModelKind::kSoftmax, 1.5,
                 "not one of the classes"},
        BadLabel{"NanClass", ModelKind::kSoftmax, std::nan(""),
                 "not one of the classes"},
        BadLabel{"Nan", ModelKind::kLinearRegression, std::nan(""),
                 "not a finite number"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace seraph
