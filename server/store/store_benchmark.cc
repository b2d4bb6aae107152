// How fast a store steps, reads and, of a sparse table, grows, what a key costs
// in memory, and how fast memory alone is.
//
//   bazel run //server/store:store_benchmark -- --benchmark_filter=/1M/
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "common/base/draw.h"
#include "common/base/scramble.h"
#include "server/store/make_row_store.h"
#include "server/store/row_store.h"
#include "server/store/slot_arena.h"

namespace seraph {
namespace {

constexpr size_t kBatch = 100'000;
constexpr size_t kBatches = 8;  // Together they do not fit into a cache.

size_t ResidentBytes() {
  size_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*u %zu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * sysconf(_SC_PAGESIZE);
}

// Of this thread's own time, so that neighbours do not count.
double CpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

std::unique_ptr<RowStore> MakeStore(OptimizerKind kind, uint32_t width) {
  return *MakeRowStore({.name = "t",
                        .width = width,
                        .scramble = true,
                        .optimizer = {.kind = kind}},
                       {});
}

void Push(RowStore* store, const std::vector<Key>& keys,
          const std::vector<float>& gradients) {
  const StepContext step = store->rule().NextStep(LazySums{}, 0.01);
  benchmark::DoNotOptimize(store->Apply(
      keys, absl::MakeConstSpan(gradients).first(keys.size() * store->width()),
      step, nullptr));
}

// Keys [begin, end) of a scrambled table, mixed, in order.
std::vector<Key> MixedKeys(Key begin, Key end) {
  std::vector<Key> keys;
  for (Key key = begin; key < end; ++key) keys.push_back(Scramble(key));
  std::sort(keys.begin(), keys.end());
  return keys;
}

// A store of the keys [0, rows), as batches of new keys made it.
struct Filled {
  Filled(OptimizerKind kind, uint32_t width, size_t rows)
      : kind(kind), width(width), rows(rows) {
    const std::vector<float> gradients(kBatch * width, 0.5f);
    const size_t before = ResidentBytes();
    store = MakeStore(kind, width);
    for (Key key = 0; key < rows; key += kBatch) {
      const std::vector<Key> keys =
          MixedKeys(key, std::min<Key>(rows, key + kBatch));
      const double begin = CpuSeconds();
      Push(store.get(), keys, gradients);
      fill_seconds += CpuSeconds() - begin;
    }
    resident_bytes = ResidentBytes() - before;
  }

  const OptimizerKind kind;
  const uint32_t width;
  const size_t rows;
  std::unique_ptr<RowStore> store;
  double fill_seconds = 0;
  size_t resident_bytes = 0;
};

// The same one for benchmarks of the same one; there is memory for one.
Filled& FilledStore(OptimizerKind kind, uint32_t width, size_t rows) {
  static std::unique_ptr<Filled> filled;
  if (filled == nullptr || filled->kind != kind || filled->width != width ||
      filled->rows != rows) {
    filled = nullptr;
    filled = std::make_unique<Filled>(kind, width, rows);
  }
  return *filled;
}

std::vector<std::vector<Key>> Batches(size_t rows, size_t batch) {
  std::vector<std::vector<Key>> batches(kBatches);
  for (uint64_t i = 0; i < kBatches; ++i) {
    for (uint64_t j = 0; j < batch; ++j) {
      batches[i].push_back(Scramble(ToBelow(Draw(1, {i, j}), rows)));
    }
    std::sort(batches[i].begin(), batches[i].end());
    batches[i].erase(std::unique(batches[i].begin(), batches[i].end()),
                     batches[i].end());
  }
  return batches;
}

using benchmark::Counter;

Counter SecondsPerKey(size_t keys) {
  return Counter(keys, Counter::kIsRate | Counter::kInvert);
}

void Apply(benchmark::State& state, OptimizerKind kind, uint32_t width,
           size_t rows, size_t batch) {
  RowStore* store = FilledStore(kind, width, rows).store.get();
  const auto batches = Batches(rows, batch);
  const std::vector<float> gradients(batch * width, 0.5f);
  size_t keys = 0;
  size_t next = 0;
  for (auto _ : state) {
    Push(store, batches[next], gradients);
    keys += batches[next].size();
    next = (next + 1) % kBatches;
  }
  state.counters["s_per_key"] = SecondsPerKey(keys);
}

void Read(benchmark::State& state, OptimizerKind kind, uint32_t width,
          size_t rows, size_t batch) {
  const RowStore* store = FilledStore(kind, width, rows).store.get();
  const auto batches = Batches(rows, batch);
  std::vector<float> values(batch * width);
  size_t keys = 0;
  size_t next = 0;
  for (auto _ : state) {
    store->Read(batches[next], LazySums{}, absl::MakeSpan(values));
    benchmark::ClobberMemory();
    keys += batches[next].size();
    next = (next + 1) % kBatches;
  }
  state.counters["s_per_key"] = SecondsPerKey(keys);
}

// What memory takes for the reads of a sum table of width 1: the cache lines in
// which a lookup of a random row finds its key and its row, as they lie in a
// store's segments, fetched ahead and read; no search, no arithmetic.
void Fetch(benchmark::State& state, size_t rows) {
  constexpr size_t kSlots = 4096;  // Of a segment: keys, and behind them rows.
  constexpr size_t kRows = kSlots * 85 / 100;
  constexpr size_t kAhead = 64;
  SlotArena arena(kSlots * 16);  // A quarter of it stays empty.
  std::vector<char*> segments;
  for (size_t row = 0; row < rows; row += kRows) {
    segments.push_back(arena.Add());
    std::fill_n(segments.back(), kSlots * 12, 1);
  }
  std::vector<std::vector<uint32_t>> batches(kBatches);  // Of rows.
  for (uint64_t i = 0; i < kBatches; ++i) {
    for (uint64_t j = 0; j < kBatch; ++j) {
      batches[i].push_back(ToBelow(Draw(1, {i, j}), rows));
    }
    std::sort(batches[i].begin(), batches[i].end());
    batches[i].resize(kBatch + kAhead, batches[i].back());
  }
  const auto slot_of = [](uint32_t row) {
    return std::min(row % kRows * kSlots / kRows, kSlots - 9);
  };
  size_t keys = 0;
  size_t next = 0;
  for (auto _ : state) {
    const std::vector<uint32_t>& batch = batches[next];
    uint64_t sum = 0;
    for (size_t i = 0; i < kBatch; ++i) {
      const char* const ahead = segments[batch[i + kAhead] / kRows];
      const size_t ahead_slot = slot_of(batch[i + kAhead]);
      __builtin_prefetch(ahead + ahead_slot * 8);
      __builtin_prefetch(ahead + ahead_slot * 8 + 64);
      __builtin_prefetch(ahead + kSlots * 8 + ahead_slot * 4);
      const char* const segment = segments[batch[i] / kRows];
      const size_t slot = slot_of(batch[i]);
      sum += segment[slot * 8] + segment[slot * 8 + 64] +
             segment[kSlots * 8 + slot * 4];
    }
    benchmark::DoNotOptimize(sum);
    keys += kBatch;
    next = (next + 1) % kBatches;
  }
  state.counters["s_per_key"] = SecondsPerKey(keys);
}

// What filling it took.
void Fill(benchmark::State& state, OptimizerKind kind, uint32_t width,
          size_t rows) {
  const Filled& filled = FilledStore(kind, width, rows);
  for (auto _ : state) {
  }
  state.counters["s_per_new_key"] = filled.fill_seconds / rows;
  state.counters["bytes_per_key"] =
      static_cast<double>(filled.resident_bytes) / rows;
  state.counters["counted_bytes_per_key"] =
      static_cast<double>(filled.store->bytes()) / rows;
}

// Keys come one by one, in no order: how long does one take?
void GrowByOne(benchmark::State& state, size_t rows) {
  for (auto _ : state) {
    const auto store = MakeStore(OptimizerKind::kAdagrad, 1);
    const std::vector<float> gradients(1, 0.5f);
    double longest = 0;
    double sum = 0;
    for (Key key = 0; key < rows; ++key) {
      const std::vector<Key> keys{Scramble(key)};
      const double begin = CpuSeconds();
      Push(store.get(), keys, gradients);
      const double seconds = CpuSeconds() - begin;
      longest = std::max(longest, seconds);
      sum += seconds;
    }
    state.counters["longest_s"] = longest;
    state.counters["s_per_new_key"] = sum / rows;
  }
}

// Of the whole of a dense table, or of all keys but every thousandth.
void Dense(benchmark::State& state, OptimizerKind kind, uint32_t width,
           bool is_range, bool is_read) {
  constexpr size_t kRows = 1'000'000;
  const auto store = *MakeRowStore({.name = "t",
                                    .kind = TableKind::kDense,
                                    .keys = kRows,
                                    .width = width,
                                    .optimizer = {.kind = kind}},
                                   {0, kRows - 1});
  std::vector<Key> keys;
  for (Key key = 0; key < kRows; ++key) {
    if (is_range || key % 1000 != 0) keys.push_back(key);
  }
  std::vector<float> values(keys.size() * width, 0.5f);
  Push(store.get(), keys, values);  // Its first touch of memory is not counted.
  for (auto _ : state) {
    benchmark::DoNotOptimize(store->CheckKeys(keys).ok());
    if (is_read) {
      store->Read(keys, LazySums{}, absl::MakeSpan(values));
      benchmark::ClobberMemory();
    } else {
      Push(store.get(), keys, values);
    }
  }
  state.counters["s_per_key"] = SecondsPerKey(state.iterations() * keys.size());
}

void Register() {
  struct Kind {
    const char* name;
    OptimizerKind kind;
  };
  const std::vector<Kind> kinds = {{"sum", OptimizerKind::kSum},
                                   {"adagrad", OptimizerKind::kAdagrad},
                                   {"ftrl", OptimizerKind::kFtrl}};
  const std::vector<std::pair<const char*, size_t>> sizes = {
      {"1M", 1'000'000}, {"10M", 10'000'000}, {"50M", 50'000'000}};
  for (const auto& [size_name, rows] : sizes) {
    benchmark::RegisterBenchmark((std::string("Fetch/") + size_name).c_str(),
                                 Fetch, rows);
    for (const uint32_t width : {1, 16}) {
      if (rows * width > 160'000'000) continue;
      for (const auto& [kind_name, kind] : kinds) {
        const std::string name = std::string(kind_name) + "/" + size_name +
                                 "/width:" + std::to_string(width);
        for (const size_t batch : {kBatch, kBatch / 100}) {
          const std::string keys = name + "/batch:" + std::to_string(batch);
          benchmark::RegisterBenchmark(("Apply/" + keys).c_str(), Apply, kind,
                                       width, rows, batch);
          benchmark::RegisterBenchmark(("Read/" + keys).c_str(), Read, kind,
                                       width, rows, batch);
        }
        benchmark::RegisterBenchmark(("Fill/" + name).c_str(), Fill, kind,
                                     width, rows)
            ->Iterations(1);
      }
    }
  }
  for (const uint32_t width : {1, 16}) {
    for (const auto& [kind_name, kind] : kinds) {
      const std::string of =
          std::string(kind_name) + "/width:" + std::to_string(width);
      for (const bool is_range : {true, false}) {
        const std::string keys = (is_range ? "range/" : "list/") + of;
        benchmark::RegisterBenchmark(("DenseApply/" + keys).c_str(), Dense,
                                     kind, width, is_range, false);
        benchmark::RegisterBenchmark(("DenseRead/" + keys).c_str(), Dense, kind,
                                     width, is_range, true);
      }
    }
  }
  benchmark::RegisterBenchmark("GrowByOne/10M", GrowByOne, 10'000'000)
      ->Iterations(1)
      ->Unit(benchmark::kSecond);
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
