#include "client/bench/bench_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(20);
constexpr absl::Duration kCallTimeout = absl::Seconds(30);

}  // namespace

absl::StatusOr<std::unique_ptr<BenchCluster>> BenchCluster::StartLocal(
    const LocalClusterOptions& options, const Environment& env) {
  auto cluster = absl::WrapUnique(new BenchCluster());
  SERAPH_ASSIGN_OR_RETURN(cluster->local_,
                          LocalCluster::Start(options, env.interrupt));
  cluster->client_ =
      env.connect(cluster->local_->scheduler_address(), kCallTimeout);
  cluster->servers_ = cluster->local_->server_processes();
  cluster->workers_ = cluster->local_->worker_processes();
  const absl::Duration end = env.clock->Now() + options.start_timeout;
  while (true) {
    SERAPH_RETURN_IF_ERROR(cluster->local_->Check());
    SERAPH_ASSIGN_OR_RETURN(const ClusterView view,
                            cluster->client_->DescribeCluster());
    const int alive = std::count_if(
        view.nodes.begin(), view.nodes.end(),
        [](const NodeView& node) { return node.state == "ALIVE"; });
    if (alive >= options.servers + options.workers) return cluster;
    if (env.clock->Now() >= end) {
      return absl::DeadlineExceededError(absl::StrCat(
          "only ", alive, " nodes of the local cluster are there"));
    }
    if (env.interrupt->WaitFor(kPoll)) {
      return absl::CancelledError("interrupted");
    }
  }
}

std::unique_ptr<BenchCluster> BenchCluster::Connect(
    const std::string& scheduler, absl::Duration call_timeout,
    const Environment& env) {
  auto cluster = absl::WrapUnique(new BenchCluster());
  cluster->client_ = env.connect(scheduler, call_timeout);
  return cluster;
}

BenchCluster::~BenchCluster() {
  client_.reset();
  if (local_ != nullptr) local_->Stop();
}

absl::Status BenchCluster::Check() {
  return local_ != nullptr ? local_->Check() : absl::OkStatus();
}

}  // namespace seraph
