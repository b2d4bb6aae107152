#include "client/bench/measured_table.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "client/bench/process_cost.h"
#include "common/cluster/nearest_address.h"
#include "common/cluster/node_identity.h"
#include "common/concurrent/notification.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

// Of the pushes that fill a table: values of one, and how many are under way.
constexpr uint64_t kFillValues = 1 << 19;
constexpr uint32_t kFillInFlight = 4;
constexpr absl::Duration kLook = absl::Milliseconds(50);

// How a worker that is configured so reaches servers.
absl::StatusOr<Neighbourhood> HereOf(const BenchOptions& options,
                                     const TableRouter& router) {
  Neighbourhood here{.host = HostId()};
  here.unix_sockets = options.transport != "tcp";
  here.shared_memory =
      options.transport == "shm" || options.transport == "auto";
  const bool must_be_near =
      options.transport == "unix" || options.transport == "shm";
  for (const Node& server : router.servers()) {
    if (must_be_near && NearestAddress(server, here) == server.address) {
      return absl::FailedPreconditionError(
          absl::StrCat("--transport ", options.transport, ": server ",
                       server.name, " has no socket on this machine"));
    }
  }
  return here;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MeasuredTable>> MeasuredTable::Create(
    const BenchOptions& options, std::unique_ptr<BenchCluster> cluster,
    const std::string& folder, const Environment& env) {
  auto table =
      absl::WrapUnique(new MeasuredTable(options, std::move(cluster), env));
  SERAPH_ASSIGN_OR_RETURN(
      table->tables_, HeldTables::Create(options, table->cluster_->scheduler(),
                                         folder, env.interrupt));
  SERAPH_ASSIGN_OR_RETURN(const Neighbourhood here,
                          HereOf(options, *table->tables_->router()));
  for (uint32_t rank = 0; rank < options.clients; ++rank) {
    table->clients_.push_back(std::make_unique<RankLoad>(
        RankLoad::Options{.job = table->tables_->job(),
                          .rank = rank,
                          .width = options.width,
                          .here = here},
        table->tables_->router()));
    SERAPH_RETURN_IF_ERROR(table->clients_.back()->Begin(env.interrupt));
  }
  table->next_list_.resize(options.clients);
  return table;
}

absl::Status MeasuredTable::RunClients(
    const std::function<absl::Status(size_t client)>& work,
    const std::function<void()>& meanwhile) {
  std::vector<absl::Status> ends(clients_.size());
  std::vector<std::thread> threads;
  std::atomic<size_t> running = clients_.size();
  Notification all_ended;
  for (size_t client = 0; client < clients_.size(); ++client) {
    threads.emplace_back([&, client] {
      ends[client] = work(client);
      if (--running == 0) all_ended.Notify();
    });
  }
  while (!all_ended.WaitFor(kLook)) meanwhile();
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& end : ends) {
    if (end.ok()) continue;
    if (!absl::IsCancelled(end)) SERAPH_RETURN_IF_ERROR(cluster_->Check());
    return end;
  }
  return absl::OkStatus();
}

absl::Status MeasuredTable::Fill(uint64_t count,
                                 const std::function<Key(uint64_t)>& key,
                                 const std::function<void(double)>& progress) {
  const uint64_t step = std::max<uint64_t>(
      1, kFillValues / std::max<uint32_t>(options_.width, 1));
  std::atomic<uint64_t> next = 0;
  const auto fill = [&](size_t client) {
    std::vector<Key> keys;
    const auto next_keys = [&](uint64_t) -> absl::Span<const Key> {
      const uint64_t begin = next.fetch_add(step);
      const uint64_t end = std::min(begin + step, count);
      keys.clear();
      for (uint64_t i = begin; i < end; ++i) keys.push_back(key(i));
      return keys;  // Copied before the next ones are asked for.
    };
    LoadCounts ignored;
    return clients_[client]->Run(BenchOperation::kPush, next_keys,
                                 kFillInFlight, absl::InfiniteDuration(),
                                 env_.interrupt, &ignored);
  };
  return RunClients(fill, [&] {
    progress(double(std::min(next.load(), count)) / double(count));
  });
}

absl::StatusOr<TableLoad> MeasuredTable::Run(const std::vector<KeyLists>& lists,
                                             absl::Duration duration,
                                             uint64_t requests,
                                             bool counts_bytes) {
  std::vector<LoadCounts> counts(clients_.size());
  SERAPH_ASSIGN_OR_RETURN(const absl::Duration client_before, ProcessorTime(0));
  const std::optional<absl::Duration> server_before = ServerTime();
  const auto load = [&](size_t client) {
    const KeyLists& own = lists[client];
    const auto next_keys = [&](uint64_t request) {
      return request < requests ? own[next_list_[client]++ % own.size()]
                                : absl::Span<const Key>();
    };
    clients_[client]->CountBytes(counts_bytes);
    return clients_[client]->Run(options_.operation, next_keys,
                                 options_.in_flight, duration, env_.interrupt,
                                 &counts[client]);
  };
  SERAPH_RETURN_IF_ERROR(RunClients(load, [] {}));

  TableLoad result;
  SERAPH_ASSIGN_OR_RETURN(const absl::Duration client_after, ProcessorTime(0));
  result.client_time = client_after - client_before;
  const std::optional<absl::Duration> server_after = ServerTime();
  if (server_before.has_value() && server_after.has_value()) {
    result.server_time = *server_after - *server_before;
  }
  for (LoadCounts& one : counts) {
    const double seconds = absl::ToDoubleSeconds(one.time);
    result.requests += one.requests;
    result.keys += one.keys;
    result.seconds = std::max(result.seconds, seconds);
    result.requests_per_second += double(one.requests) / seconds;
    result.keys_per_second += double(one.keys) / seconds;
    result.latencies_us.insert(result.latencies_us.end(),
                               one.latencies_us.begin(),
                               one.latencies_us.end());
    result.request_bytes += one.request_bytes;
    result.reply_bytes += one.reply_bytes;
  }
  return result;
}

std::optional<absl::Duration> MeasuredTable::ServerTime() const {
  absl::Duration sum;
  for (const pid_t server : cluster_->servers()) {
    const absl::StatusOr<absl::Duration> one = ProcessorTime(server);
    if (!one.ok()) return std::nullopt;
    sum += *one;
  }
  if (cluster_->servers().empty()) return std::nullopt;
  return sum;
}

std::optional<uint64_t> MeasuredTable::ServerMemory() const {
  uint64_t sum = 0;
  for (const pid_t server : cluster_->servers()) {
    const absl::StatusOr<uint64_t> one = ResidentMemory(server);
    if (!one.ok()) return std::nullopt;
    sum += *one;
  }
  if (cluster_->servers().empty()) return std::nullopt;
  return sum;
}

}  // namespace seraph
