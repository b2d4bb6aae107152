// How fast a rank computes, without the network: one epoch's work in batches.
//
//   bazel run //worker/model:model_benchmark
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "common/base/draw.h"
#include "common/metrics/metric_sums.h"
#include "worker/data/batch.h"
#include "worker/model/model.h"

namespace seraph {
namespace {

// `row` draws of a key below `keys`, spread over uint64 when `hashed`; a dense
// row has every key, and `zeros` of the values are 0.
struct Shape {
  size_t examples;
  size_t row;
  uint64_t keys;
  bool hashed;
  bool dense;
  double zeros;
};

Batch BatchOf(const Shape& shape, uint32_t classes) {
  Batch batch;
  for (uint64_t i = 0; i < shape.examples; ++i) {
    batch.labels.push_back(ToBelow(Draw(1, {i}), classes));
    std::vector<Key> keys;
    for (uint64_t j = 0; j < shape.row; ++j) {
      const Key key = shape.dense ? j : ToBelow(Draw(2, {i, j}), shape.keys);
      keys.push_back(shape.hashed ? Draw(3, {key}) : key);
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (const Key key : keys) {
      const double u = ToUnit(Draw(4, {i, key}));
      batch.keys.push_back(key);
      batch.values.push_back(u < shape.zeros ? 0.0 : u);
    }
    batch.row_starts.push_back(batch.keys.size());
  }
  return batch;
}

void Train(benchmark::State& state, const ModelSpec& spec, const Shape& shape) {
  const auto model = MakeModel(spec);
  const Batch batch = BatchOf(shape, spec.classes.value_or(2));
  BatchKeys keys;
  if (!model->Prepare(batch, &keys).ok()) {
    state.SkipWithError("the batch's keys are refused");
    return;
  }
  std::vector<std::vector<float>> buffers;
  for (size_t t = 0; t < keys.tables.size(); ++t) {
    buffers.emplace_back(keys.tables[t].size() * model->tables()[t].width,
                         0.01f);
  }
  const std::vector<absl::Span<const float>> rows(buffers.begin(),
                                                  buffers.end());
  std::vector<TableGradient> gradients;
  MetricSums sums;
  for (auto _ : state) {
    benchmark::DoNotOptimize(model->Prepare(batch, &keys));
    benchmark::DoNotOptimize(
        model->Gradient(batch, keys, rows, &gradients, &sums));
  }
  state.SetItemsProcessed(state.iterations() * batch.size());
}

void PrepareAlone(benchmark::State& state, const Shape& shape) {
  const auto model = MakeModel(ModelSpec());
  const Batch batch = BatchOf(shape, 2);
  BatchKeys keys;
  for (auto _ : state) {
    benchmark::DoNotOptimize(model->Prepare(batch, &keys));
  }
  state.SetItemsProcessed(state.iterations() * batch.size());
}

ModelSpec Logistic() { return ModelSpec(); }

ModelSpec Softmax(uint64_t keys, uint32_t classes) {
  ModelSpec spec;
  spec.kind = ModelKind::kSoftmax;
  spec.keys = keys;
  spec.classes = classes;
  return spec;
}

constexpr Shape kAdult = {256, 14, 123, false, false, 0};
constexpr Shape kOneOfAdult = {1, 14, 123, false, false, 0};
constexpr Shape kHashed = {256, 39, 1000000, true, false, 0};
constexpr Shape kOnlyHashed = {4096, 39, 1000000, true, false, 0};
constexpr Shape kImages = {64, 784, 784, false, true, 0.5};
constexpr Shape kWords = {256, 160, 55197, false, false, 0};

// items_per_second are examples; an epoch of Fashion-MNIST has 60,000.
BENCHMARK_CAPTURE(Train, logistic_adult, Logistic(), kAdult);
BENCHMARK_CAPTURE(Train, logistic_adult_batch_of_1, Logistic(), kOneOfAdult);
BENCHMARK_CAPTURE(Train, logistic_hashed, Logistic(), kHashed);
BENCHMARK_CAPTURE(Train, softmax_images, Softmax(784, 10), kImages);
BENCHMARK_CAPTURE(Train, softmax_105_classes, Softmax(55197, 105), kWords);
BENCHMARK_CAPTURE(PrepareAlone, adult, kAdult);
BENCHMARK_CAPTURE(PrepareAlone, hashed, kHashed);
BENCHMARK_CAPTURE(PrepareAlone, hashed_large, kOnlyHashed);
BENCHMARK_CAPTURE(PrepareAlone, images, kImages);
BENCHMARK_CAPTURE(PrepareAlone, words, kWords);

}  // namespace
}  // namespace seraph

BENCHMARK_MAIN();
