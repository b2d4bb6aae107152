#include "tests/faults/primary_finder.h"

#include <utility>

#include "absl/time/time.h"
#include "common/rpc/call.h"
#include "proto/cluster.grpc.pb.h"

namespace seraph::testing {

void PrimaryFinder::Search() {
  using ClusterCalls = v1::Cluster::StubInterface::async_interface;
  using ParameterCalls = v1::Parameters::StubInterface::async_interface;

  MutexLock searching(&searching_);
  auto cluster = v1::Cluster::NewStub(channels_.Get(scheduler_));
  const auto nodes =
      Call(cluster->async(), &ClusterCalls::DescribeCluster,
           v1::DescribeClusterRequest(), {.timeout = absl::Seconds(2)});
  if (nodes.ok()) nodes_ = *nodes;

  std::map<uint32_t, Primary> found;
  std::map<std::pair<uint32_t, uint64_t>, int> replicas;  // In each epoch.
  for (const v1::NodeStatus& node : nodes_.nodes()) {
    if (node.node().role() != v1::NODE_ROLE_SERVER) continue;
    std::shared_ptr<v1::Parameters::Stub> stub =
        v1::Parameters::NewStub(channels_.Get(node.node().address()));
    const auto described =
        Call(stub->async(), &ParameterCalls::DescribeServer,
             v1::DescribeServerRequest(), {.timeout = absl::Milliseconds(500)});
    if (!described.ok()) continue;
    for (const v1::PartitionDescription& one : described->partitions()) {
      if (one.job() != job_) continue;
      if (table_.empty()) table_ = one.table();
      if (one.table() != table_) continue;
      const bool leads = one.duty() == v1::REPLICA_DUTY_LEAD;
      if (leads || one.duty() == v1::REPLICA_DUTY_FOLLOW) {
        ++replicas[{one.partition(), one.epoch()}];
      }
      if (!leads) continue;
      Primary& primary = found[one.partition()];
      if (one.epoch() >= primary.epoch) primary = {stub, one.epoch()};
    }
  }
  for (auto& [partition, primary] : found) {
    primary.replicas = replicas[{partition, primary.epoch}];
  }
  MutexLock lock(&mu_);
  primaries_ = std::move(found);
}

std::optional<PrimaryFinder::Primary> PrimaryFinder::Of(
    uint32_t partition) const {
  MutexLock lock(&mu_);
  const auto it = primaries_.find(partition);
  if (it == primaries_.end()) return std::nullopt;
  return it->second;
}

}  // namespace seraph::testing
