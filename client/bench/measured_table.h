// A table on a cluster, with the clients that use it.
#ifndef SERAPH_CLIENT_BENCH_MEASURED_TABLE_H_
#define SERAPH_CLIENT_BENCH_MEASURED_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/bench/bench_cluster.h"
#include "client/bench/bench_options.h"
#include "client/bench/held_tables.h"
#include "client/bench/key_lists.h"
#include "client/bench/rank_load.h"
#include "client/cli/environment.h"

namespace seraph {

// What all clients did together in a time.
struct TableLoad {
  uint64_t requests = 0;
  uint64_t keys = 0;
  double seconds = 0;  // Of the client that took longest.
  double requests_per_second = 0;
  double keys_per_second = 0;
  std::vector<double> latencies_us;
  uint64_t request_bytes = 0;  // RankLoad::CountBytes.
  uint64_t reply_bytes = 0;
  absl::Duration client_time;                 // Of processors.
  std::optional<absl::Duration> server_time;  // Where the servers are ours.
};

// Threads: one at a time, the one that made it; it starts one for each client.
class MeasuredTable {
 public:
  // `folder` is for files of its own.
  static absl::StatusOr<std::unique_ptr<MeasuredTable>> Create(
      const BenchOptions& options, std::unique_ptr<BenchCluster> cluster,
      const std::string& folder, const Environment& env);

  // Pushes `count` keys once each, key(0), key(1), ..., which ascend: then
  // their rows exist. `progress` is called with the fraction that is done.
  absl::Status Fill(uint64_t count,
                    const std::function<Key(uint64_t index)>& key,
                    const std::function<void(double)>& progress);

  // Lets client c go round its lists, from where it was, until the time is over
  // or it has sent so many requests. `counts_bytes`: looks at the sizes too.
  absl::StatusOr<TableLoad> Run(const std::vector<KeyLists>& lists,
                                absl::Duration duration, uint64_t requests,
                                bool counts_bytes);

  absl::StatusOr<HeldCounts> Count() const { return tables_->Count(); }
  uint32_t partitions() const { return tables_->router()->placements().size(); }
  // Those that lead a partition.
  int servers() const { return tables_->router()->servers().size(); }
  // Resident, of all servers; unset where they are not ours.
  std::optional<uint64_t> ServerMemory() const;

 private:
  MeasuredTable(const BenchOptions& options,
                std::unique_ptr<BenchCluster> cluster, const Environment& env)
      : options_(options), cluster_(std::move(cluster)), env_(env) {}

  std::optional<absl::Duration> ServerTime() const;
  // Runs the clients side by side, each on a thread, and waits for all. The
  // error of a daemon that died explains those of the clients.
  absl::Status RunClients(
      const std::function<absl::Status(size_t client)>& work,
      const std::function<void()>& meanwhile);

  const BenchOptions options_;
  const std::unique_ptr<BenchCluster> cluster_;
  const Environment& env_;
  std::unique_ptr<HeldTables> tables_;
  std::vector<std::unique_ptr<RankLoad>> clients_;
  std::vector<uint64_t> next_list_;  // By client.
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_MEASURED_TABLE_H_
