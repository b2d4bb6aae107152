// Pushes as fast as the servers take them, as the ranks of a running asp job.
//
//   push_load --scheduler=HOST:PORT --job=ID --partitions=N --clients=C
//             --attempt=A [--keys=K] [--span=S] [--seconds=T] [--replicas=R]
//             [--fill] [--checkpoints --servers=PID,PID,...] [--kill=PID]
//
// Each client is a rank, in its attempt A, which has to be higher
// than any before: the rank of a worker, or of an earlier load, ends by it. A
// partition has S keys, spread over its range as mixed keys are. An entry has K
// sorted random ones of them; a client sends those of one clock to one
// partition after the other, waits for each acknowledgement, and repeats what
// got none. With --fill each key is pushed once, so that later loads create no
// rows. With
// --replicas it begins when every partition has so many copies. With
// --checkpoints it makes one after the other, with as much time between two as
// the one before took. With --kill it kills that process when a quarter of the
// time is over.
//
// Prints one JSON object:
//   keys_per_second   acknowledged keys
//   keys, cpu_seconds  acknowledged; of this process, meanwhile
//   pushes, repeats   acknowledged ones; messages sent again
//   latency_ms        {p50, p99, max} of a push, repeats and all
//   gap_ms            between two acknowledgements, of whichever clients: how
//                     long the whole stood still
//   partition_gap_ms  the same of one partition, the longest of all
//   replicas          copies of a partition at the end, the fewest of all
//   checkpoints       [{seconds, ratio, processor_ratio, gap_ms,
//                     gap_without_ms}]: of throughput while one is made to the
//                     times before and after it; of processor time a key, of
//                     the servers and this process, in those times to while
//                     one is made; gaps of a partition
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/draw.h"
#include "common/concurrent/mutex.h"
#include "common/concurrent/notification.h"
#include "common/metrics/metric_sums.h"
#include "common/rpc/call.h"
#include "common/rpc/channel.h"
#include "common/table/partitioning.h"
#include "common/time/clock.h"
#include "common/wire/cluster_codec.h"
#include "nlohmann/json.hpp"
#include "proto/jobs.grpc.pb.h"
#include "proto/parameters.grpc.pb.h"
#include "tests/faults/primary_finder.h"

namespace seraph::testing {
namespace {

using ParameterCalls = v1::Parameters::StubInterface::async_interface;
using JobCalls = v1::Jobs::StubInterface::async_interface;

// Batches of keys that a client has for each partition.
constexpr uint64_t kBatches = 4;

struct Options {
  std::string scheduler;
  std::string job;
  uint32_t partitions = 4;
  uint32_t clients = 4;
  uint32_t attempt = 1;
  uint64_t keys = 20000;
  uint64_t span = 1 << 18;
  absl::Duration duration = absl::Seconds(2);
  int replicas = 1;
  bool fill = false;
  bool checkpoints = false;
  std::vector<std::string> servers;
  pid_t kill = 0;
};

absl::Duration Now() { return MonotonicClock::Real()->Now(); }

void Pause(absl::Duration time) { Notification().WaitFor(time); }

double CpuSeconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  return double(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * double(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// Of another process.
double CpuSecondsOf(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> fields =
      absl::StrSplit(line.substr(std::min(line.rfind(')'), line.size())), ' ');
  int64_t user = 0, system = 0;
  if (fields.size() < 14 || !absl::SimpleAtoi(fields[12], &user) ||
      !absl::SimpleAtoi(fields[13], &system)) {
    return 0;
  }
  return double(user + system) / double(sysconf(_SC_CLK_TCK));
}

struct Acknowledged {
  absl::Duration when;
  absl::Duration latency;
  uint32_t partition = 0;
  int sent = 1;
};

struct Window {
  absl::Duration from;
  absl::Duration to;
  double cpu_seconds = 0;

  double seconds() const { return absl::ToDoubleSeconds(to - from); }
};

// What was acknowledged when, in this order.
class History {
 public:
  History(std::vector<Acknowledged> all, uint32_t partitions)
      : all_(std::move(all)), partitions_(partitions) {
    std::sort(all_.begin(), all_.end(),
              [](const auto& a, const auto& b) { return a.when < b.when; });
  }

  size_t CountIn(Window window) const {
    return std::count_if(all_.begin(), all_.end(), [&](const auto& one) {
      return window.from <= one.when && one.when < window.to;
    });
  }

  double RateIn(Window window) const {
    return CountIn(window) / window.seconds();
  }

  // The longest time without an acknowledgement of any partition ...
  double GapMs(Window window) const {
    return GapOf(window, [](const Acknowledged&) { return true; });
  }
  // ... and of one.
  double PartitionGapMs(Window window) const {
    double longest = 0;
    for (uint32_t p = 0; p < partitions_; ++p) {
      longest = std::max(longest, GapOf(window, [p](const Acknowledged& one) {
                           return one.partition == p;
                         }));
    }
    return longest;
  }

  const std::vector<Acknowledged>& all() const { return all_; }

 private:
  template <typename Counts>
  double GapOf(Window window, Counts counts) const {
    absl::Duration gap, last = window.from;
    for (const Acknowledged& one : all_) {
      if (one.when < window.from || one.when > window.to || !counts(one)) {
        continue;
      }
      gap = std::max(gap, one.when - last);
      last = one.when;
    }
    return absl::ToDoubleMilliseconds(std::max(gap, window.to - last));
  }

  std::vector<Acknowledged> all_;
  const uint32_t partitions_;
};

class PushLoad {
 public:
  explicit PushLoad(const Options& options)
      : options_(options), finder_(options.scheduler, options.job) {
    TableSpec table;
    table.kind = TableKind::kSparse;
    table.partitions = options.partitions;
    cut_.emplace(table);
  }

  std::optional<nlohmann::json> Run() {
    if (!AwaitReplicas()) return std::nullopt;
    std::vector<std::thread> threads;
    for (uint32_t client = 0; client < options_.clients; ++client) {
      threads.emplace_back([this, client] { RunClient(client); });
    }
    while (ready_ + failed_ < int(options_.clients)) {
      Pause(absl::Milliseconds(2));
    }
    const double cpu_before = CpuSeconds();
    begin_ = Now();
    begun_.Notify();
    if (options_.checkpoints) MakeCheckpoints();
    if (options_.kill > 0) {
      Pause(options_.duration / 4);
      kill(options_.kill, SIGKILL);
    }
    for (std::thread& thread : threads) thread.join();
    const double cpu = CpuSeconds() - cpu_before;
    if (failed_ > 0) return std::nullopt;
    return Report(cpu);
  }

 private:
  // The fewest of all partitions.
  int Replicas() {
    finder_.Search();
    int fewest = std::numeric_limits<int>::max();
    for (uint32_t p = 0; p < cut_->partitions(); ++p) {
      const auto primary = finder_.Of(p);
      fewest = std::min(fewest, primary.has_value() ? primary->replicas : 0);
    }
    return fewest;
  }

  bool AwaitReplicas() {
    const absl::Duration begun = Now();
    while (Replicas() < options_.replicas) {
      if (Now() - begun > absl::Minutes(1)) {
        std::cerr << "a partition has too few copies for a minute\n";
        return false;
      }
      Pause(absl::Milliseconds(50));
    }
    return true;
  }

  void RunClient(uint32_t client) {
    std::optional<Clock> clock = BeginAttempt(client);
    if (!clock.has_value()) {
      ++failed_;
      return;
    }
    const std::vector<std::vector<std::string>> batches = MakeBatches(client);
    const std::string values = Values(client);
    ++ready_;
    begun_.Wait();
    const absl::Duration end =
        options_.fill ? absl::InfiniteDuration() : begin_ + options_.duration;
    uint64_t batch = 0;
    bool goes_on = Now() < end;
    const auto next_clock = [&]() noexcept {
      *clock = clock->NextStep();
      ++batch;
      goes_on = Now() < end && failed_ == 0 &&
                !(options_.fill && batch == batches.size());
    };
    std::barrier all_acknowledged(cut_->partitions(), next_clock);
    std::vector<std::thread> threads;
    for (uint32_t p = 0; p < cut_->partitions(); ++p) {
      threads.emplace_back([&, p] {
        while (goes_on) {
          const std::string& keys = batches[batch % batches.size()][p];
          v1::PushRequest request = MakeRequest(client, *clock, p);
          request.mutable_parts(0)->set_key_count(keys.size() /
                                                  sizeof(uint64_t));
          request.set_keys(keys);
          request.set_values(values.data(), keys.size() / 2);
          if (!Push(std::move(request))) ++failed_;
          all_acknowledged.arrive_and_wait();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  v1::PushRequest MakeRequest(uint32_t client, Clock clock,
                              uint32_t partition) const {
    v1::PushRequest request;
    FillHeader(client, request.mutable_header());
    ToProto(clock, request.mutable_clock());
    // The scheduler reads it from the ledger partition.
    ToProto(clock, request.mutable_ledger()->mutable_clock());
    const auto sums = MetricSums().ToArray();
    request.mutable_ledger()->mutable_sums()->Add(sums.begin(), sums.end());
    request.add_parts()->set_partition(partition);
    return request;
  }

  void FillHeader(uint32_t client, v1::RequestHeader* header) const {
    header->mutable_job()->set_id(options_.job);
    header->mutable_job()->set_generation(1);
    header->mutable_rank()->set_rank(client);
    header->mutable_rank()->set_attempt(options_.attempt);
  }

  // Where the rank goes on, when all partitions stand there.
  std::optional<Clock> BeginAttempt(uint32_t client) {
    std::optional<Clock> least;
    Clock furthest;
    for (uint32_t p = 0; p < cut_->partitions(); ++p) {
      v1::BeginAttemptRequest request;
      FillHeader(client, request.mutable_header());
      const auto reply =
          Call(finder_.Of(p)->stub->async(), &ParameterCalls::BeginAttempt,
               request, {.timeout = absl::Seconds(10)});
      if (!reply.ok()) {
        std::cerr << reply.status().ToString() << "\n";
        return std::nullopt;
      }
      const Clock clock = FromProto(reply->clock());
      least = std::min(least.value_or(clock), clock);
      furthest = std::max(furthest, FromProto(reply->furthest()));
    }
    if (*least == furthest) return least;
    // Some have the entry of an attempt before; what it was, the others get.
    for (uint32_t p = 0; p < cut_->partitions(); ++p) {
      v1::PushRequest request = MakeRequest(client, *least, p);
      request.set_ends_epoch(furthest.epoch > least->epoch);
      if (!Push(std::move(request))) return std::nullopt;
    }
    return furthest;
  }

  std::vector<std::vector<std::string>> MakeBatches(uint32_t client) const {
    std::vector<std::vector<std::string>> batches;
    if (!options_.fill) {
      for (uint64_t batch = 0; batch < kBatches; ++batch) {
        batches.emplace_back();
        for (uint32_t p = 0; p < cut_->partitions(); ++p) {
          batches.back().push_back(RandomKeys(client, p, batch));
        }
      }
      return batches;
    }
    for (uint64_t from = client * options_.keys; from < options_.span;
         from += options_.clients * options_.keys) {
      batches.emplace_back();
      for (uint32_t p = 0; p < cut_->partitions(); ++p) {
        batches.back().push_back(
            KeyBytes(p, from, std::min(options_.keys, options_.span - from),
                     [](uint64_t i) { return i; }));
      }
    }
    return batches;
  }

  // Of the span's keys those at `from` + place(i), which ascend. They lie as
  // mixed keys do: all over the partition.
  template <typename Place>
  std::string KeyBytes(uint32_t partition, uint64_t from, uint64_t count,
                       Place place) const {
    const KeyRange range = cut_->PartitionRange(partition);
    const uint64_t stride = (range.last - range.first) / options_.span;
    std::string bytes;
    bytes.reserve(count * sizeof(uint64_t));
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t number = from + place(i);
      const uint64_t key = range.first + number * stride +
                           ToBelow(Draw(1, {4, partition, number}), stride);
      bytes.append(reinterpret_cast<const char*>(&key), sizeof(key));
    }
    return bytes;
  }

  std::string RandomKeys(uint32_t client, uint32_t partition,
                         uint64_t batch) const {
    const uint64_t stride = options_.span / options_.keys;
    return KeyBytes(partition, 0, options_.keys, [&](uint64_t i) {
      return i * stride +
             ToBelow(Draw(1, {2, client, partition, batch, i}), stride);
    });
  }

  std::string Values(uint32_t client) const {
    std::string bytes;
    for (uint64_t i = 0; i < options_.keys; ++i) {
      const auto value =
          static_cast<float>(ToUnit(Draw(1, {3, client, i})) - 0.5);
      bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    return bytes;
  }

  bool Push(v1::PushRequest request) {
    const absl::Duration begun = Now();
    const uint32_t partition = request.parts(0).partition();
    for (int sent = 1; Now() - begun < absl::Seconds(60); ++sent) {
      const auto primary = finder_.Of(partition);
      if (primary.has_value()) {
        request.mutable_parts(0)->set_epoch(primary->epoch);
        const auto reply = Call(primary->stub->async(), &ParameterCalls::Push,
                                request, {.timeout = absl::Seconds(2)});
        if (reply.ok() && reply->results(0).code() == v1::PART_OK) {
          const absl::Duration now = Now();
          MutexLock lock(&mu_);
          acknowledged_.push_back({now, now - begun, partition, sent});
          return true;
        }
        if (reply.ok() && (reply->results(0).code() == v1::PART_INVALID ||
                           reply->results(0).code() == v1::PART_FAILED)) {
          std::cerr << reply->results(0).message() << "\n";
          return false;
        }
        if (reply.ok() && reply->results(0).code() == v1::PART_RETRY_AFTER) {
          Pause(absl::Milliseconds(1 + reply->results(0).retry_after_ms()));
          continue;
        }
      }
      Pause(absl::Milliseconds(20));
      finder_.Search();
    }
    std::cerr << "a push was not acknowledged for a minute\n";
    return false;
  }

  void MakeCheckpoints() {
    ChannelCache channels{ChannelOptions()};
    const auto stub = v1::Jobs::NewStub(channels.Get(options_.scheduler));
    v1::CheckpointJobRequest request;
    request.set_id(options_.job);
    absl::Duration apart;
    while (Now() < begin_ + options_.duration) {
      without_.push_back(Measure([&] { Pause(apart); }));
      absl::Status made;
      with_.push_back(Measure([&] {
        made = Call(stub->async(), &JobCalls::CheckpointJob, request,
                    {.timeout = absl::Seconds(60)})
                   .status();
      }));
      if (!made.ok()) {
        std::cerr << "checkpoint: " << made.ToString() << "\n";
        ++failed_;
        return;
      }
      apart = with_.back().to - with_.back().from;
    }
  }

  template <typename Work>
  Window Measure(Work work) const {
    const double cpu_before = CpuOfAll();
    const absl::Duration from = Now();
    work();
    return {from, Now(), CpuOfAll() - cpu_before};
  }

  double CpuOfAll() const {
    double seconds = CpuSeconds();
    for (const std::string& pid : options_.servers) {
      seconds += CpuSecondsOf(pid);
    }
    return seconds;
  }

  nlohmann::json Report(double cpu) {
    MutexLock lock(&mu_);
    const History history(std::move(acknowledged_), cut_->partitions());
    const Window whole{begin_,
                       options_.fill ? Now() : begin_ + options_.duration};
    int64_t repeats = 0;
    std::vector<double> latencies;
    for (const Acknowledged& one : history.all()) {
      repeats += one.sent - 1;
      latencies.push_back(absl::ToDoubleMilliseconds(one.latency));
    }
    std::sort(latencies.begin(), latencies.end());
    const auto at = [&](double share) {
      if (latencies.empty()) return 0.0;
      return latencies[size_t(share * (latencies.size() - 1))];
    };
    nlohmann::json checkpoints = nlohmann::json::array();
    // The first has no time before it, and the last none after it.
    const absl::Duration end = begin_ + options_.duration;
    for (size_t i = 1; i + 1 < without_.size() && without_[i + 1].to < end;
         ++i) {
      const Window &before = without_[i], &with = with_[i];
      const Window& after = without_[i + 1];
      const double beside = history.CountIn(before) + history.CountIn(after);
      checkpoints.push_back(
          {{"seconds", with.seconds()},
           {"ratio", history.RateIn(with) *
                         (before.seconds() + after.seconds()) / beside},
           {"processor_ratio", (before.cpu_seconds + after.cpu_seconds) /
                                   beside * history.CountIn(with) /
                                   with.cpu_seconds},
           {"gap_ms", history.PartitionGapMs(with)},
           {"gap_without_ms", history.PartitionGapMs(before)}});
    }
    return {
        {"keys_per_second", history.RateIn(whole) * options_.keys},
        {"keys", history.all().size() * options_.keys},
        {"cpu_seconds", cpu},
        {"pushes", history.all().size()},
        {"repeats", repeats},
        {"latency_ms", {{"p50", at(0.5)}, {"p99", at(0.99)}, {"max", at(1)}}},
        {"gap_ms", history.GapMs(whole)},
        {"partition_gap_ms", history.PartitionGapMs(whole)},
        {"replicas", Replicas()},
        {"checkpoints", std::move(checkpoints)}};
  }

  const Options options_;
  std::optional<Partitioning> cut_;
  PrimaryFinder finder_;
  std::atomic<int> ready_ = 0;
  std::atomic<int> failed_ = 0;
  Notification begun_;
  absl::Duration begin_;  // Set before `begun_`.
  // Of the thread that makes checkpoints: one time without each before one
  // with.
  std::vector<Window> without_;
  std::vector<Window> with_;
  Mutex mu_;
  std::vector<Acknowledged> acknowledged_ ABSL_GUARDED_BY(mu_);
};

std::optional<Options> Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::pair<std::string, std::string> flag =
        absl::StrSplit(argv[i], absl::MaxSplits('=', 1));
    double seconds = 0;
    bool ok = true;
    if (flag.first == "--scheduler") {
      options.scheduler = flag.second;
    } else if (flag.first == "--job") {
      options.job = flag.second;
    } else if (flag.first == "--partitions") {
      ok = absl::SimpleAtoi(flag.second, &options.partitions);
    } else if (flag.first == "--clients") {
      ok = absl::SimpleAtoi(flag.second, &options.clients);
    } else if (flag.first == "--attempt") {
      ok = absl::SimpleAtoi(flag.second, &options.attempt);
    } else if (flag.first == "--keys") {
      ok = absl::SimpleAtoi(flag.second, &options.keys);
    } else if (flag.first == "--span") {
      ok = absl::SimpleAtoi(flag.second, &options.span);
    } else if (flag.first == "--seconds") {
      ok = absl::SimpleAtod(flag.second, &seconds);
      options.duration = absl::Seconds(seconds);
    } else if (flag.first == "--replicas") {
      ok = absl::SimpleAtoi(flag.second, &options.replicas);
    } else if (flag.first == "--fill") {
      options.fill = true;
    } else if (flag.first == "--checkpoints") {
      options.checkpoints = true;
    } else if (flag.first == "--kill") {
      ok = absl::SimpleAtoi(flag.second, &options.kill) && options.kill > 1;
    } else if (flag.first == "--servers") {
      options.servers = absl::StrSplit(flag.second, ',');
    } else {
      ok = false;
    }
    if (!ok) {
      std::cerr << "push_load: cannot use " << argv[i] << "\n";
      return std::nullopt;
    }
  }
  if (options.keys == 0 || options.keys > options.span) {
    std::cerr << "push_load: --span has to be as large as --keys\n";
    return std::nullopt;
  }
  return options;
}

}  // namespace
}  // namespace seraph::testing

int main(int argc, char** argv) {
  const auto options = seraph::testing::Parse(argc, argv);
  if (!options.has_value()) return 2;
  const auto report = seraph::testing::PushLoad(*options).Run();
  if (!report.has_value()) return 1;
  std::cout << report->dump(1) << "\n";
  return 0;
}
