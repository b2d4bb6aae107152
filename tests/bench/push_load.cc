// Pushes as fast as the servers take them, into a running asp job.
//
//   push_load --scheduler=HOST:PORT --job=ID --partitions=N --clients=C
//             --keys=K --seconds=S --seed=X
//
// Each client is a thread that pushes K sorted random keys of one partition at
// a time and waits for the acknowledgement; it repeats a push that was not
// acknowledged. Prints one JSON object:
//   keys_per_second   acknowledged keys, after the first tenth of the time
//   pushes, repeats   acknowledged ones; messages sent again
//   latency_ms        {p50, p99, max} of a push, repeats and all
//   longest_gap_ms    between two acknowledgements, of whichever clients: how
//                     long the whole stood still
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/draw.h"
#include "common/concurrent/mutex.h"
#include "common/concurrent/notification.h"
#include "common/rpc/call.h"
#include "common/table/partitioning.h"
#include "common/time/clock.h"
#include "nlohmann/json.hpp"
#include "proto/parameters.grpc.pb.h"
#include "tests/faults/primary_finder.h"

namespace seraph::testing {
namespace {

using ParameterCalls = v1::Parameters::StubInterface::async_interface;

struct Options {
  std::string scheduler;
  std::string job;
  uint32_t partitions = 4;
  int clients = 4;
  uint64_t keys = 10000;
  absl::Duration duration = absl::Seconds(4);
  uint64_t seed = 1;
};

absl::Duration Now() { return MonotonicClock::Real()->Now(); }

class PushLoad {
 public:
  explicit PushLoad(const Options& options)
      : options_(options), finder_(options.scheduler, options.job) {
    TableSpec table;
    table.kind = TableKind::kSparse;
    table.partitions = options.partitions;
    cut_.emplace(table);
  }

  nlohmann::json Run() {
    finder_.Search();
    begin_ = Now();
    std::vector<std::thread> threads;
    for (int client = 0; client < options_.clients; ++client) {
      threads.emplace_back([this, client] { RunClient(client); });
    }
    for (std::thread& thread : threads) thread.join();
    return Report();
  }

 private:
  struct Acknowledged {
    absl::Duration when;
    absl::Duration latency;
    int sent = 1;
  };

  void RunClient(int client) {
    // As many batches as partitions, made once: the load is the servers'.
    std::vector<std::string> batches;
    for (uint32_t p = 0; p < cut_->partitions(); ++p) {
      batches.push_back(Keys(client, p));
    }
    const std::string values(options_.keys * sizeof(float), '\0');
    const uint64_t session = Draw(options_.seed, {1, uint64_t(client)}) | 1;
    std::vector<uint64_t> pushed(cut_->partitions());
    for (uint32_t n = client; Now() - begin_ < options_.duration; ++n) {
      const uint32_t p = n % cut_->partitions();
      v1::PushRequest request;
      request.mutable_header()->mutable_job()->set_id(options_.job);
      request.mutable_header()->mutable_job()->set_generation(1);
      request.mutable_header()->set_session(session);
      request.set_number(++pushed[p]);
      v1::PushPart* part = request.add_parts();
      part->set_partition(p);
      part->set_key_count(options_.keys);
      request.set_keys(batches[p]);
      request.set_values(values);
      if (!Push(std::move(request))) return;
    }
  }

  // Strictly increasing, spread over the first 2^24 keys of the partition.
  std::string Keys(int client, uint32_t partition) const {
    const KeyRange range = cut_->PartitionRange(partition);
    const uint64_t stride = (uint64_t{1} << 24) / options_.keys;
    std::string bytes;
    for (uint64_t i = 0; i < options_.keys; ++i) {
      const uint64_t key =
          range.first + i * stride +
          ToBelow(Draw(options_.seed, {2, uint64_t(client), partition, i}),
                  stride);
      bytes.append(reinterpret_cast<const char*>(&key), sizeof(key));
    }
    return bytes;
  }

  bool Push(v1::PushRequest request) {
    const absl::Duration begun = Now();
    for (int sent = 1; Now() - begun < absl::Seconds(60); ++sent) {
      const auto primary = finder_.Of(request.parts(0).partition());
      if (primary.has_value()) {
        request.mutable_parts(0)->set_epoch(primary->epoch);
        const auto reply = Call(primary->stub->async(), &ParameterCalls::Push,
                                request, {.timeout = absl::Seconds(1)});
        if (reply.ok() && reply->results(0).code() == v1::PART_OK) {
          const absl::Duration now = Now();
          MutexLock lock(&mu_);
          acknowledged_.push_back({now, now - begun, sent});
          return true;
        }
        if (reply.ok() && reply->results(0).code() == v1::PART_INVALID) {
          std::cerr << reply->results(0).message() << "\n";
          return false;
        }
        if (reply.ok() && reply->results(0).code() == v1::PART_RETRY_AFTER) {
          const Notification never;
          never.WaitFor(
              absl::Milliseconds(1 + reply->results(0).retry_after_ms()));
          continue;
        }
      }
      finder_.Search();
    }
    std::cerr << "a push was not acknowledged for a minute\n";
    return false;
  }

  nlohmann::json Report() {
    MutexLock lock(&mu_);
    std::sort(acknowledged_.begin(), acknowledged_.end(),
              [](const auto& a, const auto& b) { return a.when < b.when; });
    const absl::Duration from = begin_ + options_.duration / 10;
    const absl::Duration to = begin_ + options_.duration;
    absl::Duration gap, last = from;
    std::vector<double> latencies;
    int64_t counted = 0, repeats = 0;
    for (const Acknowledged& one : acknowledged_) {
      repeats += one.sent - 1;
      latencies.push_back(absl::ToDoubleMilliseconds(one.latency));
      if (one.when < from || one.when > to) continue;
      ++counted;
      gap = std::max(gap, one.when - last);
      last = one.when;
    }
    gap = std::max(gap, to - last);
    std::sort(latencies.begin(), latencies.end());
    const auto at = [&](double share) {
      if (latencies.empty()) return 0.0;
      return latencies[size_t(share * (latencies.size() - 1))];
    };
    return {
        {"keys_per_second",
         counted * options_.keys / absl::ToDoubleSeconds(to - from)},
        {"pushes", acknowledged_.size()},
        {"repeats", repeats},
        {"latency_ms", {{"p50", at(0.5)}, {"p99", at(0.99)}, {"max", at(1)}}},
        {"longest_gap_ms", absl::ToDoubleMilliseconds(gap)}};
  }

  const Options options_;
  std::optional<Partitioning> cut_;
  PrimaryFinder finder_;
  absl::Duration begin_;
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
    } else if (flag.first == "--keys") {
      ok = absl::SimpleAtoi(flag.second, &options.keys);
    } else if (flag.first == "--seconds") {
      ok = absl::SimpleAtod(flag.second, &seconds);
      options.duration = absl::Seconds(seconds);
    } else if (flag.first == "--seed") {
      ok = absl::SimpleAtoi(flag.second, &options.seed);
    } else {
      ok = false;
    }
    if (!ok) {
      std::cerr << "push_load: cannot use " << argv[i] << "\n";
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace
}  // namespace seraph::testing

int main(int argc, char** argv) {
  const auto options = seraph::testing::Parse(argc, argv);
  if (!options.has_value()) return 2;
  std::cout << seraph::testing::PushLoad(*options).Run().dump(1) << "\n";
  return 0;
}
