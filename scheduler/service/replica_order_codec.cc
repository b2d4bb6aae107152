#include "scheduler/service/replica_order_codec.h"

#include "common/status/status_macros.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/replica_codec.h"
#include "common/wire/table_codec.h"
#include "scheduler/service/order_codec.h"

namespace seraph {
namespace {

// What every request of the service Replicas begins with.
template <typename Request>
Request Addressed(const JobRef& job, const Node& to) {
  Request request;
  ToProto(job, request.mutable_job());
  request.set_incarnation(to.incarnation);
  return request;
}

template <typename Request, typename Body>
Request OfPartition(const JobRef& job, const Node& to, const Body& order) {
  auto request = Addressed<Request>(job, to);
  request.set_table(order.table);
  request.set_partition(order.partition);
  request.set_epoch(order.epoch);
  return request;
}

template <typename Request, typename Body>
Request OfCut(const JobRef& job, const Node& to, const Body& order) {
  auto request = Addressed<Request>(job, to);
  request.set_cut(order.cut);
  return request;
}

}  // namespace

void ToProto(const JobPlan& plan, v1::JobTables* tables) {
  tables->set_ranks(plan.spec.ranks);
  ToProto(plan.spec.sync, tables->mutable_sync());
  tables->set_steps_per_epoch(plan.steps_per_epoch);
  tables->set_epochs(plan.spec.train.epochs);
  tables->set_epoch_barrier(plan.epoch_barrier);
  tables->set_skip_non_finite(plan.spec.train.on_non_finite ==
                              NonFiniteAction::kSkip);
  for (const TableSpec& table : plan.tables) {
    ToProto(table, tables->add_tables());
  }
  tables->set_replicas(plan.spec.tables.replicas);
  tables->set_min_in_sync(plan.spec.tables.min_in_sync);
  tables->set_lease_ms(absl::ToInt64Milliseconds(plan.lease));
}

v1::AssignPartitionsRequest AssignRequestOf(const JobRef& job, const Node& to,
                                            const AssignPartitions& order) {
  auto request = Addressed<v1::AssignPartitionsRequest>(job, to);
  ToProto(*order.plan, request.mutable_tables());
  for (const PartitionPlacement& placement : order.partitions) {
    ReplicaOrder replica{.table = placement.table,
                         .partition = placement.partition,
                         .epoch = placement.epoch,
                         .duty = placement.primary.name == to.name
                                     ? ReplicaDuty::kLead
                                     : ReplicaDuty::kFollow,
                         .primary = placement.primary,
                         .members = placement.backups};
    replica.members.insert(replica.members.begin(), placement.primary);
    ToProto(replica, request.add_replicas());
  }
  if (order.restore.has_value()) {
    request.mutable_restore()->set_directory(order.restore->directory);
    request.mutable_restore()->set_manifest(order.restore->manifest);
  }
  if (order.proof.has_value()) {
    request.mutable_proof()->set_directory(order.proof->directory);
    request.mutable_proof()->set_token(order.proof->token);
    request.mutable_proof()->set_read_only(order.proof->read_only);
  }
  return request;
}

v1::UpdatePlacementsRequest UpdateRequestOf(const JobRef& job, const Node& to,
                                            const UpdatePlacements& order) {
  auto request = Addressed<v1::UpdatePlacementsRequest>(job, to);
  request.set_placements_version(order.version);
  for (const PartitionPlacement& placement : *order.partitions) {
    ToProto(placement, request.add_partitions());
  }
  return request;
}

v1::ConfigureRequest ConfigureRequestOf(const JobRef& job, const Node& to,
                                        const ConfigureReplicas& order) {
  auto request = Addressed<v1::ConfigureRequest>(job, to);
  ToProto(*order.plan, request.mutable_tables());
  for (const ReplicaOrder& replica : order.replicas) {
    ToProto(replica, request.add_replicas());
  }
  return request;
}

v1::RecruitRequest RecruitRequestOf(const JobRef& job, const Node& to,
                                    const RecruitReplica& order) {
  auto request = OfPartition<v1::RecruitRequest>(job, to, order);
  ToProto(order.recruit, request.mutable_recruit());
  return request;
}

v1::HandOverRequest HandOverRequestOf(const JobRef& job, const Node& to,
                                      const HandOver& order) {
  return OfPartition<v1::HandOverRequest>(job, to, order);
}

v1::BeginCutRequest BeginCutRequestOf(const JobRef& job, const Node& to,
                                      const BeginCut& order) {
  auto request = OfCut<v1::BeginCutRequest>(job, to, order);
  request.set_at_rest(order.at_rest);
  return request;
}

v1::TakeCutRequest TakeCutRequestOf(const JobRef& job, const Node& to,
                                    const TakeCut& order) {
  auto request = OfCut<v1::TakeCutRequest>(job, to, order);
  for (const Clock clock : order.clocks) ToProto(clock, request.add_clocks());
  for (const ReplicaOrder& partition : order.partitions) {
    ToProto(partition, request.add_partitions());
  }
  request.set_base(order.base);
  request.set_at_rest(order.at_rest);
  return request;
}

v1::WriteCutRequest WriteCutRequestOf(const JobRef& job, const Node& to,
                                      const WriteCut& order) {
  auto request = OfCut<v1::WriteCutRequest>(job, to, order);
  request.set_directory(order.directory);
  request.set_base(order.base);
  return request;
}

v1::DropCutRequest DropCutRequestOf(const JobRef& job, const Node& to,
                                    const DropCut& order) {
  return OfCut<v1::DropCutRequest>(job, to, order);
}

absl::StatusOr<ReplyBody> ConfiguredOf(const v1::ConfigureReply& reply) {
  Configured configured{.incarnation = reply.incarnation(),
                        .generation = reply.generation()};
  for (const v1::ReplicaState& state : reply.replicas()) {
    SERAPH_ASSIGN_OR_RETURN(configured.replicas.emplace_back(),
                            FromProto(state));
  }
  return configured;
}

CutClocks CutClocksOf(
    const google::protobuf::RepeatedPtrField<v1::Clock>& clocks) {
  CutClocks cut;
  for (const v1::Clock& clock : clocks) cut.clocks.push_back(FromProto(clock));
  return cut;
}

CutWritten CutWrittenOf(const v1::WriteCutReply& reply) {
  CutWritten written;
  for (const v1::CutPart& message : reply.parts()) {
    CutPart& part = written.parts.emplace_back();
    part.table = message.table();
    part.partition = message.partition();
    part.range = {message.first_key(), message.last_key()};
    part.rows = message.rows();
    for (const v1::CutFile& file : message.files()) {
      part.files.push_back({file.name(), file.bytes(), file.checksum()});
    }
  }
  return written;
}

}  // namespace seraph
