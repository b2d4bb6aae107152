#include "client/rpc/codec.h"

#include "absl/time/time.h"

namespace seraph {
namespace {

JobState FromProto(v1::JobState state) {
  switch (state) {
    case v1::PENDING:
      return JobState::kPending;
    case v1::RUNNING:
      return JobState::kRunning;
    case v1::PAUSED:
      return JobState::kPaused;
    case v1::SUCCEEDED:
      return JobState::kSucceeded;
    case v1::FAILED:
      return JobState::kFailed;
    case v1::CANCELLED:
      return JobState::kCancelled;
    default:
      return JobState::kUnknown;
  }
}

std::string FromProto(v1::NodeRole role) {
  switch (role) {
    case v1::NODE_ROLE_SERVER:
      return "server";
    case v1::NODE_ROLE_WORKER:
      return "worker";
    default:
      return "unknown";
  }
}

template <typename Metrics>
NamedValues ValuesFromProto(const Metrics& metrics) {
  NamedValues values;
  for (const v1::Metric& metric : metrics) {
    values.emplace_back(metric.name(), metric.value());
  }
  return values;
}

EpochView FromProto(const v1::EpochStatus& status) {
  EpochView epoch;
  epoch.epoch = status.epoch();
  epoch.examples = status.examples();
  epoch.seconds = status.seconds();
  epoch.train = ValuesFromProto(status.train());
  epoch.validation = ValuesFromProto(status.validation());
  return epoch;
}

NodeView FromProto(const v1::NodeStatus& status) {
  NodeView node;
  node.name = status.node().name();
  node.role = FromProto(status.node().role());
  node.state = status.state();
  node.address = status.node().address();
  node.version = status.node().version();
  node.since_heartbeat = absl::Milliseconds(status.last_heartbeat_ms());
  node.memory_bytes = status.load().memory_bytes();
  node.partitions = status.load().partitions();
  node.rows = status.load().rows();
  node.ranks = status.load().ranks();
  node.primaries = status.primaries();
  node.backups = status.backups();
  return node;
}

}  // namespace

CheckpointView FromProto(const v1::CheckpointStatus& status) {
  return {.path = status.path(),
          .time = status.time(),
          .epoch = status.epoch(),
          .step = status.step(),
          .bytes = status.bytes()};
}

JobView FromProto(const v1::JobStatus& status) {
  JobView job;
  job.id = status.id();
  job.name = status.name();
  job.state = FromProto(status.state());
  job.error = status.error();
  job.phase = status.phase();
  job.submitted = status.submitted();
  job.started = status.started();
  job.ended = status.ended();
  for (const v1::EpochStatus& epoch : status.epochs()) {
    job.epochs.push_back(FromProto(epoch));
  }
  job.epochs_total = status.epochs_total();
  job.epoch_examples = status.epoch_examples();
  job.epoch_examples_total = status.epoch_examples_total();
  job.examples_per_second = status.examples_per_second();
  job.phase_fraction = status.phase_fraction();
  job.model_path = status.model_path();
  job.model_digest = status.model_digest();
  job.records_read = status.records_read();
  job.records_bad = status.records_bad();
  job.recoveries = status.recoveries();
  job.ranks = status.ranks();
  job.waiting_for = status.waiting_for();
  job.replicas = status.replicas();
  job.least_in_sync = status.least_in_sync();
  if (status.has_checkpoint()) job.checkpoint = FromProto(status.checkpoint());
  job.warnings.assign(status.warnings().begin(), status.warnings().end());
  return job;
}

LogLine FromProto(const v1::JobLogLine& line) {
  return {line.time(), line.text()};
}

ClusterView FromProto(const v1::DescribeClusterReply& reply) {
  ClusterView cluster;
  cluster.name = reply.cluster();
  cluster.version = reply.version();
  for (const v1::NodeStatus& node : reply.nodes()) {
    cluster.nodes.push_back(FromProto(node));
  }
  cluster.running_jobs = reply.running_jobs();
  cluster.pending_jobs = reply.pending_jobs();
  cluster.degraded_partitions = reply.degraded_partitions();
  return cluster;
}

}  // namespace seraph
