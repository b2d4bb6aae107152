// What a step of each optimizer and width costs where the rows are in the
// cache: nanoseconds of a value.
//
//   bazel run //server/update:update_benchmark -- --benchmark_filter=ftrl
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "benchmark/benchmark.h"
#include "common/base/draw.h"
#include "server/update/make_update_rule.h"

namespace seraph {
namespace {

// Values of all rows together.
constexpr size_t kValues = 1 << 13;

std::vector<float> Normals(size_t n) {
  std::vector<float> values(n);
  for (uint64_t i = 0; i < n; ++i) {
    values[i] = ToNormal(Draw(1, {i, 0}), Draw(1, {i, 1}));
  }
  return values;
}

// Rows of one table, in memory one after the other.
struct Rows {
  Rows(const OptimizerSpec& spec, uint32_t width)
      : rule(*MakeUpdateRule(spec, width)),
        count(std::max<size_t>(kValues / width, 1)),
        cells(count * rule->row_cells()),
        gradients(Normals(count * width)) {
    for (size_t i = 0; i < count; ++i) {
      rows.push_back(cells.data() + i * rule->row_cells());
      rule->InitRow(std::vector<float>(width), {}, rows.back());
    }
  }

  const std::unique_ptr<const UpdateRule> rule;
  const size_t count;
  std::vector<float> cells;
  const std::vector<float> gradients;
  std::vector<float*> rows;
};

benchmark::Counter SecondsPerValue(const benchmark::State& state,
                                   const Rows& rows) {
  using benchmark::Counter;
  return Counter(state.iterations() * rows.count * rows.rule->width(),
                 Counter::kIsRate | Counter::kInvert);
}

void Step(benchmark::State& state, const OptimizerSpec& spec, uint32_t width) {
  Rows table(spec, width);
  LazySums sums;
  for (auto _ : state) {
    const StepContext step = table.rule->NextStep(sums, 1e-6);
    sums = step.after;
    for (size_t i = 0; i < table.count; i += UpdateRule::kMaxRows) {
      benchmark::DoNotOptimize(table.rule->Step(
          absl::MakeConstSpan(table.rows).subspan(i, UpdateRule::kMaxRows),
          table.gradients.data() + i * width, step));
    }
  }
  state.counters["s_per_value"] = SecondsPerValue(state, table);
}

void Read(benchmark::State& state, const OptimizerSpec& spec, uint32_t width) {
  Rows table(spec, width);
  std::vector<float> out(table.count * width);
  for (auto _ : state) {
    for (size_t i = 0; i < table.count; i += UpdateRule::kMaxRows) {
      const std::vector<float*>& rows = table.rows;
      table.rule->Read(
          absl::MakeConstSpan(rows).subspan(i, UpdateRule::kMaxRows), {},
          out.data() + i * width);
    }
    benchmark::ClobberMemory();
  }
  state.counters["s_per_value"] = SecondsPerValue(state, table);
}

void Register() {
  using Kind = OptimizerKind;
  const struct {
    const char* name;
    OptimizerSpec spec;
  } optimizers[] = {
      {"sum", {.kind = Kind::kSum}},
      {"sgd", {.kind = Kind::kSgd}},
      {"sgd_l2", {.kind = Kind::kSgd, .l2 = 1e-4}},
      {"momentum", {.kind = Kind::kMomentum}},
      {"adagrad", {.kind = Kind::kAdagrad}},
      {"adagrad_l2", {.kind = Kind::kAdagrad, .l2 = 1e-4}},
      {"rmsprop", {.kind = Kind::kRmsprop}},
      {"adadelta", {.kind = Kind::kAdadelta}},
      {"adam", {.kind = Kind::kAdam}},
      {"ftrl", {.kind = Kind::kFtrl}},
      {"ftrl_l1", {.kind = Kind::kFtrl, .l1 = 1}},
  };
  for (const auto& optimizer : optimizers) {
    for (const uint32_t width : {1, 2, 4, 8, 10, 16, 32, 64, 100}) {
      benchmark::RegisterBenchmark(("Step/" + std::string(optimizer.name) +
                                    "/width:" + std::to_string(width))
                                       .c_str(),
                                   Step, optimizer.spec, width);
    }
  }
  for (const uint32_t width : {1, 2, 4, 8, 10, 16, 32, 64, 100}) {
    benchmark::RegisterBenchmark(
        ("Read/adagrad/width:" + std::to_string(width)).c_str(), Read,
        OptimizerSpec{.kind = Kind::kAdagrad}, width);
  }
}

}  // namespace
}  // namespace seraph

int main(int argc, char** argv) {
  seraph::Register();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
