#include "common/wire/replica_codec.h"

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "common/wire/cluster_codec.h"

namespace seraph {
namespace {

absl::StatusOr<Node> ServerFromProto(const v1::Node& message) {
  SERAPH_ASSIGN_OR_RETURN(Node node, FromProto(message));
  if (node.role != NodeRole::kServer) {
    return absl::InvalidArgumentError(
        absl::StrCat("replica: ", node.name, " is no server"));
  }
  return node;
}

}  // namespace

void ToProto(const LogPosition& position, v1::LogPosition* message) {
  message->set_epoch(position.epoch);
  message->set_number(position.number);
}

LogPosition FromProto(const v1::LogPosition& message) {
  return {message.epoch(), message.number()};
}

v1::ReplicaDuty ToProto(ReplicaDuty duty) {
  switch (duty) {
    case ReplicaDuty::kCollect:
      return v1::REPLICA_DUTY_COLLECT;
    case ReplicaDuty::kLead:
      return v1::REPLICA_DUTY_LEAD;
    case ReplicaDuty::kFollow:
      return v1::REPLICA_DUTY_FOLLOW;
    case ReplicaDuty::kJoin:
      return v1::REPLICA_DUTY_JOIN;
    case ReplicaDuty::kDrop:
      return v1::REPLICA_DUTY_DROP;
  }
  return v1::REPLICA_DUTY_UNSPECIFIED;
}

absl::StatusOr<ReplicaDuty> FromProto(v1::ReplicaDuty duty) {
  switch (duty) {
    case v1::REPLICA_DUTY_COLLECT:
      return ReplicaDuty::kCollect;
    case v1::REPLICA_DUTY_LEAD:
      return ReplicaDuty::kLead;
    case v1::REPLICA_DUTY_FOLLOW:
      return ReplicaDuty::kFollow;
    case v1::REPLICA_DUTY_JOIN:
      return ReplicaDuty::kJoin;
    case v1::REPLICA_DUTY_DROP:
      return ReplicaDuty::kDrop;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("replica.duty: unknown value ", duty));
  }
}

void ToProto(const ReplicaOrder& order, v1::ReplicaOrder* message) {
  message->set_table(order.table);
  message->set_partition(order.partition);
  message->set_epoch(order.epoch);
  message->set_duty(ToProto(order.duty));
  if (!order.primary.name.empty()) {
    ToProto(order.primary, message->mutable_primary());
  }
  for (const Node& member : order.members) {
    ToProto(member, message->add_members());
  }
}

absl::StatusOr<ReplicaOrder> FromProto(const v1::ReplicaOrder& message) {
  ReplicaOrder order;
  order.table = message.table();
  order.partition = message.partition();
  order.epoch = message.epoch();
  if (order.epoch == 0) {
    return absl::InvalidArgumentError("replica.epoch: is missing");
  }
  SERAPH_ASSIGN_OR_RETURN(order.duty, FromProto(message.duty()));
  if (message.has_primary()) {
    SERAPH_ASSIGN_OR_RETURN(order.primary, ServerFromProto(message.primary()));
  }
  for (const v1::Node& member : message.members()) {
    SERAPH_ASSIGN_OR_RETURN(order.members.emplace_back(),
                            ServerFromProto(member));
  }
  return order;
}

void ToProto(const ReplicaState& state, v1::ReplicaState* message) {
  message->set_table(state.table);
  message->set_partition(state.partition);
  message->set_epoch(state.epoch);
  message->set_duty(ToProto(state.duty));
  ToProto(state.last, message->mutable_last());
  message->set_divergent(state.divergent);
}

absl::StatusOr<ReplicaState> FromProto(const v1::ReplicaState& message) {
  ReplicaState state;
  state.table = message.table();
  state.partition = message.partition();
  state.epoch = message.epoch();
  SERAPH_ASSIGN_OR_RETURN(state.duty, FromProto(message.duty()));
  state.last = FromProto(message.last());
  state.divergent = message.divergent();
  return state;
}

}  // namespace seraph
