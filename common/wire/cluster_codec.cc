#include "common/wire/cluster_codec.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

std::vector<const Node*> Servers(const PartitionPlacement& placement) {
  std::vector<const Node*> servers;
  if (!placement.primary.name.empty()) servers.push_back(&placement.primary);
  for (const Node& backup : placement.backups) servers.push_back(&backup);
  return servers;
}

}  // namespace

void ToProto(Clock clock, v1::Clock* message) {
  message->set_epoch(clock.epoch);
  message->set_step(clock.step);
}

Clock FromProto(const v1::Clock& message) {
  return Clock{message.epoch(), message.step()};
}

void ToProto(const Node& node, v1::Node* message) {
  message->set_name(node.name);
  message->set_role(node.role == NodeRole::kServer ? v1::NODE_ROLE_SERVER
                                                   : v1::NODE_ROLE_WORKER);
  message->set_address(node.address);
  message->set_incarnation(node.incarnation);
  message->set_host(node.host);
  message->set_arithmetic(node.arithmetic);
  message->set_version(node.version);
  message->set_slots(node.slots);
}

absl::StatusOr<Node> FromProto(const v1::Node& message) {
  Node node;
  node.name = message.name();
  switch (message.role()) {
    case v1::NODE_ROLE_SERVER:
      node.role = NodeRole::kServer;
      break;
    case v1::NODE_ROLE_WORKER:
      node.role = NodeRole::kWorker;
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("node.role: unknown value ", message.role()));
  }
  node.address = message.address();
  node.incarnation = message.incarnation();
  node.host = message.host();
  node.arithmetic = message.arithmetic();
  node.version = message.version();
  node.slots = message.slots();
  if (node.name.empty()) {
    return absl::InvalidArgumentError("node.name: is missing");
  }
  if (node.address.empty()) {
    return absl::InvalidArgumentError("node.address: is missing");
  }
  if (node.incarnation == 0) {
    return absl::InvalidArgumentError("node.incarnation: is missing");
  }
  return node;
}

void ToProto(const PartitionPlacement& placement,
             v1::PartitionPlacement* message) {
  message->set_table(placement.table);
  message->set_partition(placement.partition);
  message->set_first_key(placement.range.first);
  message->set_last_key(placement.range.last);
  message->set_epoch(placement.epoch);
  if (!placement.primary.name.empty()) {
    ToProto(placement.primary, message->mutable_primary());
  }
  for (const Node& backup : placement.backups) {
    ToProto(backup, message->add_backups());
  }
}

absl::StatusOr<PartitionPlacement> FromProto(
    const v1::PartitionPlacement& message) {
  PartitionPlacement placement;
  placement.table = message.table();
  placement.partition = message.partition();
  placement.range = {message.first_key(), message.last_key()};
  placement.epoch = message.epoch();
  if (placement.range.first > placement.range.last) {
    return absl::InvalidArgumentError(
        absl::StrCat("placement: keys ", placement.range.first, "..",
                     placement.range.last, " are no range"));
  }
  if (placement.epoch == 0) {
    return absl::InvalidArgumentError("placement.epoch: is missing");
  }
  if (message.has_primary()) {
    SERAPH_ASSIGN_OR_RETURN(placement.primary, FromProto(message.primary()));
  }
  for (const v1::Node& backup : message.backups()) {
    SERAPH_ASSIGN_OR_RETURN(placement.backups.emplace_back(),
                            FromProto(backup));
  }
  for (const Node* node : Servers(placement)) {
    if (node->role == NodeRole::kServer) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("placement: ", node->name, " is no server"));
  }
  return placement;
}

}  // namespace seraph
