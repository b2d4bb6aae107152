// Clients that push witnesses into a running asp or ssp job and look at them.
//
//   witness --scheduler=HOST:PORT --job=ID --partitions=N --clients=C
//           --seconds=S --seed=X [--ballast=KEYS] [--final]
//
// A witness is a key of its own: its push adds 1 there, once, so a pull of all
// witness keys of a partition is the set of pushes that it has applied. Each
// push has two keys, so a torn one shows. Every operation is a line of JSON on
// standard output, when it was begun and when it was answered, on the machine's
// monotonic clock; check_history.py judges them.
//
// The job has one sparse table of width 1 first, with the optimizer `sum`, and
// data that give no gradient.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/draw.h"
#include "common/rpc/call.h"
#include "common/table/partitioning.h"
#include "common/time/clock.h"
#include "proto/parameters.grpc.pb.h"
#include "tests/faults/primary_finder.h"

namespace seraph::testing {
namespace {

using Primary = PrimaryFinder::Primary;
using ParameterCalls = v1::Parameters::StubInterface::async_interface;

// Witnesses lie at the end of their partition, far from the data's keys.
constexpr uint64_t kWitnesses = 1 << 15;  // Of a partition, at most.

struct Options {
  std::string scheduler;
  std::string job;
  uint32_t partitions = 1;
  int clients = 4;
  absl::Duration duration = absl::Seconds(5);
  uint64_t seed = 1;
  uint32_t ballast = 0;  // Keys of a push that add 0, to make it large.
  bool final_pulls = false;
};

int64_t NowNs() {
  return absl::ToInt64Nanoseconds(MonotonicClock::Real()->Now());
}

class Witness {
 public:
  explicit Witness(const Options& options)
      : options_(options), finder_(options.scheduler, options.job) {
    TableSpec table;
    table.kind = TableKind::kSparse;
    table.partitions = options.partitions;
    cut_.emplace(table);
    for (uint32_t p = 0; p < cut_->partitions(); ++p) {
      std::vector<uint64_t> keys(options.ballast);
      std::iota(keys.begin(), keys.end(), cut_->PartitionRange(p).first);
      ballast_.push_back(Bytes(keys));
    }
  }

  void Run() {
    std::vector<std::thread> threads;
    for (int client = 0; client < options_.clients; ++client) {
      threads.emplace_back([this, client] { RunClient(client); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // One look at every partition, when nobody pushes any more.
  bool FinalPulls() {
    for (uint32_t partition = 0; partition < cut_->partitions(); ++partition) {
      bool seen = false;
      for (int tries = 0; tries < 100 && !seen; ++tries) {
        seen = Pull(-1, partition);
      }
      if (!seen) return false;
    }
    return true;
  }

 private:
  uint64_t FirstWitness(uint32_t partition) const {
    return cut_->PartitionRange(partition).last - 2 * kWitnesses + 1;
  }

  template <typename Request>
  void FillHeader(uint64_t session, Request* request) const {
    request->mutable_header()->mutable_job()->set_id(options_.job);
    request->mutable_header()->mutable_job()->set_generation(1);
    request->mutable_header()->set_session(session);
  }

  static std::string Bytes(const std::vector<uint64_t>& keys) {
    return {reinterpret_cast<const char*>(keys.data()),
            keys.size() * sizeof(uint64_t)};
  }

  void RunClient(int client) {
    finder_.Search();
    const uint64_t session = Draw(options_.seed, {0x5e55, uint64_t(client)});
    std::vector<uint64_t> pushed(cut_->partitions());
    const int64_t end = NowNs() + absl::ToInt64Nanoseconds(options_.duration);
    for (uint64_t n = 0; NowNs() < end; ++n) {
      const uint64_t draw = Draw(options_.seed, {1, uint64_t(client), n});
      const auto partition = uint32_t(draw % cut_->partitions());
      if ((draw >> 40) % 4 == 0) {
        Pull(client, partition);
        continue;
      }
      const uint64_t number = ++pushed[partition];
      const uint64_t id = number * options_.clients + client;
      if (id >= kWitnesses) return;
      if (!Push(client, session, partition, number, id)) return;
    }
  }

  // Repeats the push until it is acknowledged; false if that never happens.
  bool Push(int client, uint64_t session, uint32_t partition, uint64_t number,
            uint64_t id) {
    const int64_t begun = NowNs();
    const int64_t give_up = begun + int64_t{30} * 1'000'000'000;
    int sent = 0;
    while (NowNs() < give_up) {
      const std::optional<Primary> primary = finder_.Of(partition);
      if (primary.has_value()) {
        v1::PushRequest request;
        FillHeader(session, &request);
        request.set_number(number);
        v1::PushPart* part = request.add_parts();
        part->set_partition(partition);
        part->set_epoch(primary->epoch);
        part->set_key_count(options_.ballast + 2);
        const uint64_t first = FirstWitness(partition);
        request.set_keys(ballast_[partition] +
                         Bytes({first + id, first + kWitnesses + id}));
        const float ones[2] = {1, 1};
        request.set_values(
            std::string(options_.ballast * sizeof(float), '\0') +
            std::string(reinterpret_cast<const char*>(ones), sizeof(ones)));
        ++sent;
        const auto reply =
            Call(primary->stub->async(), &ParameterCalls::Push,
                 std::move(request), {.timeout = absl::Milliseconds(700)});
        if (reply.ok() && reply->results_size() == 1 &&
            reply->results(0).code() == v1::PART_OK) {
          Line(client, "push", partition, begun, "ok",
               absl::StrCat(", \"id\": ", id, ", \"sent\": ", sent,
                            ", \"epoch\": ", reply->results(0).epoch()));
          return true;
        }
        if (reply.ok() && reply->results_size() == 1 &&
            reply->results(0).code() == v1::PART_INVALID) {
          std::cerr << reply->results(0).message() << "\n";
          return false;
        }
        if (reply.ok() && reply->results_size() == 1 &&
            reply->results(0).code() == v1::PART_RETRY_AFTER) {
          std::this_thread::sleep_for(
              std::chrono::milliseconds(reply->results(0).retry_after_ms()));
          continue;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      finder_.Search();
    }
    Line(client, "push", partition, begun, "unknown",
         absl::StrCat(", \"id\": ", id, ", \"sent\": ", sent));
    return false;
  }

  bool Pull(int client, uint32_t partition) {
    const int64_t begun = NowNs();
    const std::optional<Primary> primary = finder_.Of(partition);
    if (!primary.has_value()) {
      finder_.Search();
      return false;
    }
    v1::PullRequest request;
    FillHeader(Draw(options_.seed, {7, uint64_t(client + 1)}), &request);
    v1::PullPart* part = request.add_parts();
    part->set_partition(partition);
    part->set_epoch(primary->epoch);
    part->set_encoding(v1::KEY_ENCODING_RANGE);
    part->set_first_key(FirstWitness(partition));
    part->set_key_count(2 * kWitnesses);
    const auto reply = Call(primary->stub->async(), &ParameterCalls::Pull,
                            std::move(request), {.timeout = absl::Seconds(2)});
    if (!reply.ok() || reply->results_size() != 1 ||
        reply->results(0).code() != v1::PART_OK ||
        reply->values().size() != 2 * kWitnesses * sizeof(float)) {
      finder_.Search();
      return false;
    }
    std::vector<float> values(2 * kWitnesses);
    std::memcpy(values.data(), reply->values().data(), reply->values().size());
    std::string seen, wrong;
    for (uint64_t id = 0; id < kWitnesses; ++id) {
      const float one = values[id], other = values[kWitnesses + id];
      if (one == 0 && other == 0) continue;
      absl::StrAppend(&seen, seen.empty() ? "" : ",", id);
      if (one == 1 && other == 1) continue;
      absl::StrAppend(&wrong, wrong.empty() ? "" : ",", "[", id, ",", one, ",",
                      other, "]");
    }
    Line(client, "pull", partition, begun, "ok",
         absl::StrCat(", \"epoch\": ", reply->results(0).epoch(),
                      ", \"seen\": [", seen, "], \"wrong\": [", wrong, "]"));
    return true;
  }

  void Line(int client, const char* kind, uint32_t partition, int64_t begun,
            const char* outcome, const std::string& more) {
    const int64_t ended = NowNs();
    std::lock_guard<std::mutex> lock(printing_);
    std::cout << "{\"client\": " << client << ", \"kind\": \"" << kind
              << "\", \"partition\": " << partition << ", \"begun\": " << begun
              << ", \"ended\": " << ended << ", \"outcome\": \"" << outcome
              << "\"" << more << "}\n";
  }

  const Options options_;
  std::optional<Partitioning> cut_;
  std::vector<std::string> ballast_;  // Keys, for each partition.
  PrimaryFinder finder_;
  std::mutex printing_;
};

}  // namespace
}  // namespace seraph::testing

int main(int argc, char** argv) {
  seraph::testing::Options options;
  double seconds = 5;
  CLI::App app("Pushes witnesses into a job and looks at them.");
  app.add_option("--scheduler", options.scheduler)->required();
  app.add_option("--job", options.job)->required();
  app.add_option("--partitions", options.partitions);
  app.add_option("--clients", options.clients);
  app.add_option("--seconds", seconds);
  app.add_option("--seed", options.seed);
  app.add_option("--ballast", options.ballast);
  app.add_flag("--final", options.final_pulls);
  CLI11_PARSE(app, argc, argv);
  options.duration = absl::Seconds(seconds);
  seraph::testing::Witness witness(options);
  if (options.final_pulls) return witness.FinalPulls() ? 0 : 1;
  witness.Run();
  return 0;
}
