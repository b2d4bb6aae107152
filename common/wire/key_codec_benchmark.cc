// What a key costs in each form: docs/performance.md.
#include <cstdint>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "common/base/draw.h"
#include "common/wire/key_codec.h"

namespace seraph {
namespace {

// Gaps of 1 to 2^(bits + 1), 2^bits in the mean.
std::vector<Key> Keys(size_t count, int bits) {
  std::vector<Key> keys = {1};
  while (keys.size() < count) {
    keys.push_back(keys.back() + 1 +
                   ToBelow(Draw(1, {keys.size()}), uint64_t{2} << bits));
  }
  return keys;
}

void Encode(benchmark::State& state) {
  const auto form = static_cast<KeyForm>(state.range(0));
  const std::vector<Key> keys = Keys(20'000, static_cast<int>(state.range(1)));
  std::string bytes;
  for (auto _ : state) {
    bytes.clear();
    AppendKeys(form, keys, &bytes);
    benchmark::DoNotOptimize(bytes.data());
  }
  state.SetItemsProcessed(state.iterations() * keys.size());
  state.counters["bytes"] = double(bytes.size()) / double(keys.size());
}

void Decode(benchmark::State& state) {
  const auto form = static_cast<KeyForm>(state.range(0));
  const std::vector<Key> keys = Keys(20'000, static_cast<int>(state.range(1)));
  std::string bytes;
  AppendKeys(form, keys, &bytes);
  std::vector<Key> back;
  for (auto _ : state) {
    SliceReader reader(ByteSlices(bytes, nullptr));
    if (!TakeKeys(form, keys[0], keys.size(), bytes.size(), &reader, &back)
             .ok()) {
      return state.SkipWithError("not decoded");
    }
    benchmark::DoNotOptimize(back.data());
  }
  state.SetItemsProcessed(state.iterations() * keys.size());
}

void Forms(benchmark::internal::Benchmark* one) {
  one->ArgNames({"form", "bits"});
  one->Args({static_cast<int>(KeyForm::kRaw64), 3});
  one->Args({static_cast<int>(KeyForm::kOffset32), 3});
  for (const int bits : {3, 6, 9, 13, 17, 24}) {
    one->Args({static_cast<int>(KeyForm::kDelta), bits});
  }
}
BENCHMARK(Encode)->Apply(Forms);
BENCHMARK(Decode)->Apply(Forms);

}  // namespace
}  // namespace seraph

BENCHMARK_MAIN();
