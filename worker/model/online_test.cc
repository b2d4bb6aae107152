// Exact online runs over real data: one rank, batch size 1, file order. The
// model and the metrics are Seraph's; the optimizers are written here, in
// double and from their papers. The expected numbers come from an independent
// learner in double precision, so that this test holds scores, gradients, log
// loss, accuracy and AUC to it all at once.
//
// Needs the data sets a9a, agaricus and frappe in $SERAPH_TEST_DATA.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/metrics/auc.h"
#include "common/metrics/metric_sums.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/data/batch.h"
#include "worker/model/model.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;

// Reads "label key:value ..." lines with labels 0/1 or -1/1. A reader for these
// three clean files alone; the stream skips CR and trailing blanks.
Batch ReadLibsvm(const std::string& path) {
  Batch batch;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream tokens(line);
    double label = 0;
    tokens >> label;
    batch.labels.push_back(label > 0 ? 1 : 0);
    Key key = 0;
    char colon = 0;
    float value = 0;
    while (tokens >> key >> colon >> value) {
      batch.keys.push_back(key);
      batch.values.push_back(value);
    }
    batch.row_starts.push_back(batch.keys.size());
  }
  return batch;
}

// A weight with the slots that its optimizer uses.
struct Cell {
  double w = 0, n = 0, z = 0;
};
using Update = std::function<void(double g, Cell* cell)>;

void Sgd(double g, Cell* cell) { cell->w -= 0.1 * g; }

// Duchi et al., JMLR 2011, diagonal, eps 1e-8.
void Adagrad(double g, Cell* cell) {
  cell->n += g * g;
  cell->w -= 0.1 * g / (std::sqrt(cell->n) + 1e-8);
}

// McMahan et al., KDD 2013, Algorithm 1; alpha 0.1, beta 1, l1 1, l2 1.
void Ftrl(double g, Cell* cell) {
  const double sigma = (std::sqrt(cell->n + g * g) - std::sqrt(cell->n)) / 0.1;
  cell->z += g - sigma * cell->w;
  cell->n += g * g;
  const double sign = cell->z < 0 ? -1 : 1;
  cell->w = std::abs(cell->z) <= 1
                ? 0
                : -(cell->z - sign) / ((1 + std::sqrt(cell->n)) / 0.1 + 1);
}

struct Quality {
  double accuracy, log_loss, auc;
};

struct Expected {
  std::string name;
  std::string train, test;  // Below $SERAPH_TEST_DATA.
  Update update;
  double progressive;  // Mean log loss of pass 1, each before its update.
  Quality after_1, after_5;
  int non_zero;         // Weights, the bias among them, after pass 5.
  double sum_abs;       // Of the weights after pass 5.
  double sum_rounding;  // The last digit that is given.
};

class OnlineRun : public ::testing::TestWithParam<Expected> {
 protected:
  void SetUp() override {
    const char* data = std::getenv("SERAPH_TEST_DATA");
    if (data == nullptr || *data == 0) {
      GTEST_SKIP() << "SERAPH_TEST_DATA names no folder with the data sets";
    }
    train_ = ReadLibsvm(std::string(data) + "/" + GetParam().train);
    test_ = ReadLibsvm(std::string(data) + "/" + GetParam().test);
    if (train_.empty() || test_.empty()) {
      GTEST_SKIP() << data << " has no " << GetParam().train;
    }
  }

  // Fills the rows of keys_ from cells_.
  void Pull() {
    rows_.clear();
    for (size_t t = 0; t < keys_.tables.size(); ++t) {
      std::vector<float>& buffer = buffers_[t];
      buffer.clear();
      for (Key key : keys_.tables[t]) buffer.push_back(cells_[t][key].w);
      rows_.push_back(buffer);
    }
  }

  void TrainOnePass(MetricSums* sums) {
    Batch one;
    std::vector<TableGradient> gradients;
    for (size_t i = 0; i < train_.size(); ++i) {
      one.Clear();
      one.AppendRow(train_, i);
      ASSERT_THAT(model_->Prepare(one, &keys_), IsOk());
      Pull();
      ASSERT_THAT(model_->Gradient(one, keys_, rows_, &gradients, sums),
                  IsOk());
      for (size_t t = 0; t < gradients.size(); ++t) {
        for (size_t k = 0; k < gradients[t].keys.size(); ++k) {
          GetParam().update(gradients[t].values[k],
                            &cells_[t][gradients[t].keys[k]]);
        }
      }
    }
  }

  void ExpectTestQuality(const Quality& want) {
    ASSERT_THAT(model_->Prepare(test_, &keys_), IsOk());
    Pull();
    std::vector<double> scores;
    ASSERT_THAT(model_->Score(test_, keys_, rows_, &scores), IsOk());
    MetricSums sums;
    ASSERT_THAT(model_->Evaluate(test_.labels, scores, &sums), IsOk());
    std::vector<AucRunSource> runs;
    AucRunBuilder builder(1000, [&runs](AucRun run) {
      runs.push_back(SourceOf(std::move(run)));
    });
    for (size_t i = 0; i < scores.size(); ++i) {
      builder.Add(scores[i], test_.labels[i] == 1);
    }
    builder.Finish();
    const absl::StatusOr<AucResult> auc = MergeAuc(std::move(runs));
    ASSERT_THAT(auc, IsOk());
    std::map<std::string, double> metrics;
    for (auto& [name, value] :
         ReportMetrics(ModelKind::kLogisticRegression, sums, auc->auc)) {
      metrics[name] = value;
    }
    EXPECT_NEAR(metrics.at("accuracy"), want.accuracy, 1e-4);
    EXPECT_NEAR(metrics.at("log_loss"), want.log_loss, 1e-4);
    EXPECT_NEAR(metrics.at("auc"), want.auc, 1e-4);
  }

  Batch train_, test_;
  std::unique_ptr<Model> model_ = MakeModel(ModelSpec());
  BatchKeys keys_;
  std::map<Key, Cell> cells_[2];  // "bias", "weights".
  std::vector<float> buffers_[2];
  std::vector<absl::Span<const float>> rows_;
};

TEST_P(OnlineRun, GivesTheReferencesNumbers) {
  const Expected& want = GetParam();
  MetricSums sums;
  TrainOnePass(&sums);
  ASSERT_EQ(sums.examples, train_.size());
  EXPECT_NEAR(sums.log_loss / sums.examples, want.progressive, 1e-4);
  {
    SCOPED_TRACE("after pass 1");
    ExpectTestQuality(want.after_1);
  }
  for (int pass = 2; pass <= 5; ++pass) TrainOnePass(&sums);
  {
    SCOPED_TRACE("after pass 5");
    ExpectTestQuality(want.after_5);
  }
  int non_zero = 0;
  double sum_abs = 0;
  for (const auto& table : cells_) {
    for (const auto& [key, cell] : table) {
      non_zero += cell.w != 0;
      sum_abs += std::abs(cell.w);
    }
  }
  EXPECT_EQ(non_zero, want.non_zero);
  EXPECT_NEAR(sum_abs, want.sum_abs, want.sum_rounding);
}

constexpr char kA9a[] = "a9a/a9a", kA9aTest[] = "a9a/a9a.t";
constexpr char kAgaricus[] = "agaricus/agaricus.txt.train",
               kAgaricusTest[] = "agaricus/agaricus.txt.test";

INSTANTIATE_TEST_SUITE_P(Data, OnlineRun,
                         ::testing::Values(Expected{"a9a_sgd",
                                                    kA9a,
                                                    kA9aTest,
                                                    Sgd,
                                                    0.37205,
                                                    {0.8353, 0.35576, 0.89027},
                                                    {0.8361, 0.35577, 0.89049},
                                                    124,
                                                    66.284,
                                                    1e-3},
                                           Expected{"a9a_adagrad",
                                                    kA9a,
                                                    kA9aTest,
                                                    Adagrad,
                                                    0.33268,
                                                    {0.8505, 0.32431, 0.90211},
                                                    {0.8499, 0.32431, 0.90202},
                                                    124,
                                                    53.397,
                                                    1e-3},
                                           Expected{"a9a_ftrl",
                                                    kA9a,
                                                    kA9aTest,
                                                    Ftrl,
                                                    0.33529,
                                                    {0.8513, 0.32426, 0.90228},
                                                    {0.8504, 0.32399, 0.90226},
                                                    120,
                                                    42.101,
                                                    1e-3},
                                           Expected{"agaricus_sgd",
                                                    kAgaricus,
                                                    kAgaricusTest,
                                                    Sgd,
                                                    0.03008,
                                                    {0.9578, 0.11166, 0.99214},
                                                    {0.9590, 0.09659, 0.99910},
                                                    118,
                                                    89.890,
                                                    1e-3},
                                           Expected{"agaricus_adagrad",
                                                    kAgaricus,
                                                    kAgaricusTest,
                                                    Adagrad,
                                                    0.04377,
                                                    {0.9435, 0.11113, 0.99483},
                                                    {0.9981, 0.02182, 1.00000},
                                                    118,
                                                    91.503,
                                                    1e-3},
                                           Expected{"agaricus_ftrl",
                                                    kAgaricus,
                                                    kAgaricusTest,
                                                    Ftrl,
                                                    0.06915,
                                                    {0.9534, 0.12320, 0.99327},
                                                    {0.9932, 0.03436, 0.99996},
                                                    117,
                                                    65.960,
                                                    1e-3},
                                           Expected{
                                               "frappe_adagrad",
                                               "frappe/frappe.validation.libfm",
                                               "frappe/frappe.test.libfm",
                                               Adagrad,
                                               0.44372,
                                               {0.8457, 0.39002, 0.91896},
                                               {0.8758, 0.32224, 0.92759},
                                               5293,
                                               3219.0,
                                               0.1}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace seraph
