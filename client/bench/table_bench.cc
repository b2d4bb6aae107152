#include "client/bench/table_bench.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/bench/echo_stream.h"
#include "client/bench/key_lists.h"
#include "client/bench/measured_table.h"
#include "client/bench/memory_copy.h"
#include "client/bench/peer_process.h"
#include "client/bench/scratch_folder.h"
#include "client/bench/tcp_exchange.h"
#include "client/render/numbers.h"
#include "client/render/progress_line.h"
#include "common/daemon/heap.h"
#include "common/status/status_macros.h"
#include "common/time/clock.h"

namespace seraph {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kForever = std::numeric_limits<uint64_t>::max();
// Requests whose messages are looked at, by client.
constexpr uint64_t kSizedRequests = 8;
// Keys in all of a client's lists. Lists that come again are what caches are
// for, so that there are as many as a short measurement uses; those of popular
// keys take longer to make.
constexpr uint64_t kListedKeys = 48'000'000;
constexpr uint64_t kListedZipfKeys = 8'000'000;
constexpr uint64_t kMostLists = 1'000'000;
// No message is larger.
constexpr double kLargestMessage = 60e6;
constexpr absl::Duration kBaselineTime = absl::Seconds(1);

class TableBench {
 public:
  TableBench(const BenchOptions& options, const BenchPlace& place,
             const Environment& env)
      : options_(options),
        place_(place),
        env_(env),
        space_(options.table, options.table_keys, options.seed),
        progress_(env.err, env.err_terminal, env.clock) {
    report_.options = options;
  }

  absl::StatusOr<TableReport> Run() {
    // As a worker's process does.
    KeepFreedMemory();
    SERAPH_ASSIGN_OR_RETURN(
        folder_, ScratchFolder::Create(place_.local.temporary_directory));
    SERAPH_RETURN_IF_ERROR(MakeLists());
    SERAPH_RETURN_IF_ERROR(Measure());
    SERAPH_RETURN_IF_ERROR(MeasureWithoutWork());
    SERAPH_RETURN_IF_ERROR(MeasureMachine());
    progress_.Clear();
    return std::move(report_);
  }

 private:
  absl::Status MakeLists() {
    progress_.Show("making the requests' keys", std::nullopt, "");
    for (uint32_t client = 0; client < options_.clients; ++client) {
      SERAPH_RETURN_IF_ERROR(env_.interrupt->Check());
      if (options_.distribution == KeyDistribution::kFile) {
        SERAPH_ASSIGN_OR_RETURN(
            KeyLists read,
            KeyLists::Read(options_.keys_file, options_.keys_per_request));
        lists_.push_back(std::move(read));
        continue;
      }
      const uint64_t keys = options_.distribution == KeyDistribution::kZipf
                                ? kListedZipfKeys
                                : kListedKeys;
      uint64_t lists = std::clamp<uint64_t>(
          keys / options_.clients / options_.keys_per_request, 2, kMostLists);
      // There is but one of all keys.
      if (options_.repeat_keys ||
          options_.keys_per_request == options_.table_keys) {
        lists = 1;
      }
      lists_.push_back(KeyLists::Make(
          space_, {.distribution = options_.distribution,
                   .keys_per_list = options_.keys_per_request,
                   .lists = lists,
                   .seed = options_.seed + client,
                   .begin = options_.table_keys / options_.clients * client}));
    }
    if (options_.distribution == KeyDistribution::kFile) {
      file_keys_ = lists_[0].AllKeys();
      report_.options.table_keys = file_keys_.size();
    }
    return absl::OkStatus();
  }

  LocalClusterOptions Local(bool noop) const {
    LocalClusterOptions local = place_.local;
    local.servers = report_.options.servers;
    local.workers = 1;
    // A row has a key, its values and up to three slots for each; tables grow
    // by doubling.
    const uint64_t row = 16 + options_.width * sizeof(float) * 4;
    const uint64_t limit =
        std::max(4 * kGiB, kGiB + 3 * row * report_.options.table_keys);
    std::vector<std::string> sets = {
        absl::StrCat("server.memory_limit=", limit, "B"), "log.level=warn"};
    if (noop) sets.push_back("server.noop=true");
    local.sets.insert(local.sets.begin(), sets.begin(), sets.end());
    return local;
  }

  absl::StatusOr<std::unique_ptr<MeasuredTable>> MakeTable(bool noop) {
    std::unique_ptr<BenchCluster> cluster;
    if (place_.scheduler.has_value() && !noop) {
      cluster =
          BenchCluster::Connect(*place_.scheduler, place_.call_timeout, env_);
    } else {
      progress_.Show(
          noop ? "starting servers without work" : "starting a local cluster",
          std::nullopt, "");
      SERAPH_ASSIGN_OR_RETURN(cluster,
                              BenchCluster::StartLocal(Local(noop), env_));
    }
    BenchOptions options = options_;
    if (noop) options.replicas = 1;  // Nothing is copied.
    return MeasuredTable::Create(options, std::move(cluster), folder_->path(),
                                 env_);
  }

  absl::Status Fill(MeasuredTable* table) {
    const uint64_t count = report_.options.table_keys;
    const auto key = [&](uint64_t index) {
      return file_keys_.empty() ? space_.KeyOf(index) : file_keys_[index];
    };
    const std::optional<uint64_t> before = table->ServerMemory();
    SERAPH_RETURN_IF_ERROR(table->Fill(count, key, [&](double fraction) {
      progress_.Show("filling the table", fraction,
                     absl::StrCat(WithCommas(count), " keys"));
    }));
    progress_.Show("waiting for the servers to rest", std::nullopt, "");
    env_.interrupt->WaitFor(options_.settle);
    SERAPH_RETURN_IF_ERROR(env_.interrupt->Check());
    const std::optional<uint64_t> after = table->ServerMemory();
    if (before.has_value() && after.has_value() && *after > *before) {
      report_.server_bytes_per_key = double(*after - *before) / double(count);
    }
    return absl::OkStatus();
  }

  absl::Status Measure() {
    SERAPH_ASSIGN_OR_RETURN(const auto table, MakeTable(/*noop=*/false));
    report_.options.servers = table->servers();
    SERAPH_RETURN_IF_ERROR(Fill(table.get()));
    progress_.Show("measuring", std::nullopt, "");
    SERAPH_RETURN_IF_ERROR(WarmUp(table.get()));
    SERAPH_ASSIGN_OR_RETURN(
        const TableLoad sized,
        table->Run(lists_, options_.duration, kSizedRequests, true));
    report_.request_bytes = double(sized.request_bytes) / sized.requests;
    report_.reply_bytes = double(sized.reply_bytes) / sized.requests;

    SERAPH_ASSIGN_OR_RETURN(const HeldCounts before, table->Count());
    SERAPH_ASSIGN_OR_RETURN(
        TableLoad load, table->Run(lists_, options_.duration, kForever, false));
    SERAPH_ASSIGN_OR_RETURN(const HeldCounts after, table->Count());
    report_.requests = load.requests;
    report_.keys = load.keys;
    report_.seconds = load.seconds;
    report_.requests_per_second = load.requests_per_second;
    report_.keys_per_second = load.keys_per_second;
    report_.latency_us = PercentilesOf(std::move(load.latencies_us));
    const auto per_key = [&](absl::Duration time) {
      return absl::ToDoubleNanoseconds(time) / double(load.keys);
    };
    report_.client_cpu_ns_per_key = per_key(load.client_time);
    if (load.server_time.has_value()) {
      report_.server_cpu_ns_per_key = per_key(*load.server_time);
    }
    report_.table_rows = after.rows;
    report_.log_records = after.log_records - before.log_records;
    if (options_.operation != BenchOperation::kPull) {
      report_.pushed_entries = load.requests * table->partitions();
    }
    return absl::OkStatus();
  }

  // Connections open their windows, and the caches of clients and servers fill.
  absl::Status WarmUp(MeasuredTable* table) {
    const absl::Duration time =
        std::min(options_.duration / 4, absl::Milliseconds(500));
    return table->Run(lists_, time, kForever, false).status();
  }

  absl::Status MeasureWithoutWork() {
    SERAPH_ASSIGN_OR_RETURN(const auto table, MakeTable(/*noop=*/true));
    progress_.Show("measuring without work", std::nullopt, "");
    SERAPH_RETURN_IF_ERROR(WarmUp(table.get()));
    SERAPH_ASSIGN_OR_RETURN(
        const TableLoad load,
        table->Run(lists_, std::min(options_.duration, kBaselineTime), kForever,
                   false));
    report_.noop_keys_per_second = load.keys_per_second;
    return absl::OkStatus();
  }

  absl::Status MeasureMachine() {
    progress_.Show("measuring the machine", std::nullopt, "");
    const auto whole = [](double bytes) {
      return std::max<uint64_t>(1, static_cast<uint64_t>(bytes));
    };
    LoopbackLoad load{.request_bytes = whole(report_.request_bytes),
                      .reply_bytes = whole(report_.reply_bytes),
                      .in_flight = options_.in_flight,
                      .connections = options_.clients,
                      .duration = std::min(options_.duration, kBaselineTime)};
    {
      SERAPH_ASSIGN_OR_RETURN(
          const auto peer,
          PeerProcess::Start("tcp", load, folder_->path(), env_));
      SERAPH_ASSIGN_OR_RETURN(report_.tcp_requests_per_second,
                              MeasureTcp(peer->address(), load));
    }
    SERAPH_RETURN_IF_ERROR(env_.interrupt->Check());
    if (std::max(report_.request_bytes, report_.reply_bytes) <=
        kLargestMessage) {
      SERAPH_ASSIGN_OR_RETURN(
          const auto peer,
          PeerProcess::Start("echo", load, folder_->path(), env_));
      SERAPH_ASSIGN_OR_RETURN(report_.echo_messages_per_second,
                              MeasureEcho(peer->address(), load));
    }
    report_.memcpy_bytes_per_second = CopiedBytesPerSecond(
        options_.keys_per_request * PayloadBytesPerKey(options_));
    return env_.interrupt->Check();
  }

  const BenchOptions options_;
  const BenchPlace& place_;
  const Environment& env_;
  const KeySpace space_;
  ProgressLine progress_;
  std::unique_ptr<ScratchFolder> folder_;
  std::vector<KeyLists> lists_;  // By client.
  std::vector<Key> file_keys_;   // With kFile: the table's keys.
  TableReport report_;
};

}  // namespace

absl::StatusOr<TableReport> BenchTable(const BenchOptions& options,
                                       const BenchPlace& place,
                                       const Environment& env) {
  SERAPH_RETURN_IF_ERROR(Validate(options));
  return TableBench(options, place, env).Run();
}

}  // namespace seraph
