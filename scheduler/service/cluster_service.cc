#include "scheduler/service/cluster_service.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/log/log.h"
#include "common/rpc/grpc_status.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/version/version.h"
#include "common/wire/cluster_codec.h"
#include "scheduler/service/finish_epoch_call.h"
#include "scheduler/service/order_codec.h"

namespace seraph {
namespace {

grpc::ServerUnaryReactor* FinishNow(grpc::CallbackServerContext* context,
                                    const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// Major and minor: what daemons of one cluster have in common.
std::string CommonVersion(absl::string_view version) {
  const std::vector<std::string> parts = absl::StrSplit(version, '.');
  return parts.size() < 2 ? std::string(version.data(), version.size())
                          : absl::StrCat(parts[0], ".", parts[1]);
}

absl::string_view StateName(const NodeRecord& record) {
  switch (record.state) {
    case NodeState::kAlive:
      return record.draining ? "DRAINING" : "ALIVE";
    case NodeState::kDead:
      return "DEAD";
    case NodeState::kLeft:
      return "LEFT";
  }
  return "";
}

}  // namespace

grpc::ServerUnaryReactor* ClusterService::HandleLater(
    grpc::CallbackServerContext* context, const Event& event) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  engine_.Handle(event, [reactor](const SchedulerEngine::Answer& answer) {
    reactor->Finish(ToGrpcStatus(answer.status));
  });
  return reactor;
}

absl::StatusOr<NodeRegistered> ClusterService::CheckRegistration(
    const v1::RegisterRequest& request) {
  if (request.cluster() != options_.cluster) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "this is the scheduler of cluster '",
                          options_.cluster, "', not of '", request.cluster(),
                          "'; check cluster.name and cluster.scheduler")),
                      "OTHER_CLUSTER");
  }
  if (CommonVersion(request.node().version()) != CommonVersion(kVersion)) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "the scheduler is of version ", kVersion, ", the node of version '",
            request.node().version(), "'; run the same on all nodes")),
        "OTHER_VERSION");
  }
  NodeRegistered event;
  SERAPH_ASSIGN_OR_RETURN(event.node, FromProto(request.node()));
  if (request.term() > options_.term) {
    const absl::Status old = WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "node ", event.node.name, " has heard of term ", request.term(),
            ", and this scheduler is of term ", options_.term,
            ": its state is an old copy, or another one's. Start it with the "
            "newest state; or, to give up all jobs, stop all servers and "
            "workers before it starts")),
        "OLD_STATE");
    engine_.Halt(old);
    return absl::UnavailableError("the scheduler stops");
  }
  for (const v1::HeldPartition& held : request.held()) {
    event.held.push_back({.job = held.job().id(),
                          .generation = held.job().generation(),
                          .table = held.table(),
                          .partition = held.partition(),
                          .epoch = held.epoch()});
  }
  return event;
}

grpc::ServerUnaryReactor* ClusterService::Register(
    grpc::CallbackServerContext* context, const v1::RegisterRequest* request,
    v1::RegisterReply* reply) {
  reply->set_heartbeat_interval_ms(
      absl::ToInt64Milliseconds(options_.heartbeat_interval));
  reply->set_heartbeat_timeout_ms(
      absl::ToInt64Milliseconds(options_.heartbeat_timeout));
  reply->set_scheduler_incarnation(options_.incarnation);
  reply->set_term(options_.term);
  const absl::StatusOr<NodeRegistered> event = CheckRegistration(*request);
  if (!event.ok()) {
    spdlog::warn("node.refused node={} status={}",
                 LogValue(request->node().name()), LogValue(event.status()));
    return FinishNow(context, event.status());
  }
  const Node& node = event->node;
  spdlog::info(
      "node.registered node={} role={} address={} arithmetic={} held={}",
      node.name, node.role == NodeRole::kServer ? "server" : "worker",
      node.address, LogValue(node.arithmetic), event->held.size());
  return HandleLater(context, *event);
}

grpc::ServerUnaryReactor* ClusterService::Heartbeat(
    grpc::CallbackServerContext* context, const v1::HeartbeatRequest* request,
    v1::HeartbeatReply* reply) {
  NodeHeartbeat event;
  event.name = request->name();
  event.incarnation = request->incarnation();
  event.load.memory_bytes = request->load().memory_bytes();
  event.load.partitions = request->load().partitions();
  event.load.rows = request->load().rows();
  event.load.ranks = request->load().ranks();
  event.silent_peers.assign(request->silent_peers().begin(),
                            request->silent_peers().end());
  reply->set_scheduler_incarnation(options_.incarnation);
  reply->set_term(options_.term);
  return HandleLater(context, event);
}

grpc::ServerUnaryReactor* ClusterService::Drain(
    grpc::CallbackServerContext* context, const v1::DrainRequest* request,
    v1::DrainReply* reply) {
  spdlog::log(request->leaving() ? spdlog::level::debug : spdlog::level::info,
              "node.drain node={} leaving={}", LogValue(request->name()),
              request->leaving());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  engine_.Handle(
      NodeDrained{request->name(), request->incarnation(), request->leaving()},
      [reactor, reply](const SchedulerEngine::Answer& answer) {
        reply->set_drained(answer.drained);
        reply->set_all_servers_stop(answer.all_servers_stop);
        reactor->Finish(ToGrpcStatus(answer.status));
      });
  return reactor;
}

grpc::ServerUnaryReactor* ClusterService::Leave(
    grpc::CallbackServerContext* context, const v1::LeaveRequest* request,
    v1::LeaveReply* reply) {
  return HandleLater(context,
                     NodeLeft{request->name(), request->incarnation()});
}

grpc::ServerUnaryReactor* ClusterService::ReportRank(
    grpc::CallbackServerContext* context, const v1::ReportRankRequest* request,
    v1::ReportRankReply* reply) {
  RankEnded event;
  event.job = FromProto(request->job());
  event.rank = FromProto(request->rank());
  event.incarnation = request->incarnation();
  if (request->code() != 0) {
    event.status = absl::Status(static_cast<absl::StatusCode>(request->code()),
                                request->message());
  }
  return HandleLater(context, event);
}

grpc::ServerReadReactor<v1::FinishEpochRequest>* ClusterService::FinishEpoch(
    grpc::CallbackServerContext* context, v1::FinishEpochReply* reply) {
  return new FinishEpochCall({.waiters = &waiters_,
                              .engine = &engine_,
                              .spool_path =
                                  [this] {
                                    return absl::StrCat(
                                        options_.spool_folder, "/scores-",
                                        spool_files_.fetch_add(1));
                                  }},
                             reply);
}

grpc::ServerUnaryReactor* ClusterService::DescribeCluster(
    grpc::CallbackServerContext* context,
    const v1::DescribeClusterRequest* request,
    v1::DescribeClusterReply* reply) {
  reply->set_cluster(options_.cluster);
  reply->set_version(kVersion);
  for (const SchedulerEngine::NodeView& view : engine_.Nodes()) {
    v1::NodeStatus* node = reply->add_nodes();
    ToProto(view.record.node, node->mutable_node());
    const absl::string_view state = StateName(view.record);
    node->set_state(state.data(), state.size());
    node->set_last_heartbeat_ms(absl::ToInt64Milliseconds(view.silent_for));
    node->mutable_load()->set_memory_bytes(view.record.load.memory_bytes);
    node->mutable_load()->set_partitions(view.record.load.partitions);
    node->mutable_load()->set_rows(view.record.load.rows);
    node->mutable_load()->set_ranks(view.record.load.ranks);
    node->set_primaries(view.held.primaries);
    node->set_backups(view.held.backups);
  }
  reply->set_running_jobs(engine_.CountJobs(JobState::kRunning));
  reply->set_pending_jobs(engine_.CountJobs(JobState::kPending));
  reply->set_degraded_partitions(engine_.CountDegraded());
  return FinishNow(context, absl::OkStatus());
}

}  // namespace seraph
