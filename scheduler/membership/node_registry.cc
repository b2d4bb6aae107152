#include "scheduler/membership/node_registry.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace seraph {

NodeRegistry::NodeRegistry(absl::Duration timeout, absl::Duration start)
    : timeout_(timeout),
      nobody_dies_until_(start + timeout),
      last_tick_(start) {}

std::vector<LostNode> NodeRegistry::Register(const Node& node,
                                             absl::Duration now) {
  std::vector<LostNode> lost;
  for (auto& [name, record] : nodes_) {
    if (record.state != NodeState::kAlive) continue;
    if (record.node.incarnation == node.incarnation) continue;
    if (name == node.name || record.node.address == node.address) {
      record.state = NodeState::kDead;
      lost.push_back({record.node, LossReason::kRestarted});
    }
  }
  NodeRecord& record = nodes_[node.name];
  const bool is_repeat = record.state == NodeState::kAlive &&
                         record.node.incarnation == node.incarnation;
  if (!is_repeat) record.load = NodeLoad();
  record.node = node;
  record.state = NodeState::kAlive;
  record.last_heard = now;
  ForgetOldest();
  return lost;
}

absl::Status NodeRegistry::Heartbeat(absl::string_view name,
                                     uint64_t incarnation, const NodeLoad& load,
                                     absl::Duration now) {
  NodeRecord* record = FindAlive(name, incarnation);
  if (record == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        "node '", name, "' is not registered in this incarnation; it must ",
        "register again"));
  }
  record->last_heard = now;
  record->load = load;
  return absl::OkStatus();
}

std::optional<LostNode> NodeRegistry::Leave(absl::string_view name,
                                            uint64_t incarnation) {
  NodeRecord* record = FindAlive(name, incarnation);
  if (record == nullptr) return std::nullopt;
  record->state = NodeState::kLeft;
  return LostNode{record->node, LossReason::kLeft};
}

std::vector<LostNode> NodeRegistry::Tick(absl::Duration now) {
  if (now - last_tick_ > timeout_ / 2) {
    // This process was not running, so heartbeats may lie unread.
    nobody_dies_until_ = now + timeout_;
  }
  last_tick_ = now;
  std::vector<LostNode> lost;
  if (now <= nobody_dies_until_) return lost;
  for (auto& [name, record] : nodes_) {
    if (record.state != NodeState::kAlive) continue;
    if (now - record.last_heard <= timeout_) continue;
    record.state = NodeState::kDead;
    lost.push_back({record.node, LossReason::kSilent});
  }
  return lost;
}

std::vector<Node> NodeRegistry::Alive(NodeRole role) const {
  std::vector<Node> alive;
  for (const auto& [name, record] : nodes_) {
    if (record.state == NodeState::kAlive && record.node.role == role) {
      alive.push_back(record.node);
    }
  }
  return alive;
}

bool NodeRegistry::IsAlive(absl::string_view name, uint64_t incarnation) const {
  const auto it = nodes_.find(name);
  return it != nodes_.end() && it->second.state == NodeState::kAlive &&
         it->second.node.incarnation == incarnation;
}

std::vector<NodeRecord> NodeRegistry::Records() const {
  std::vector<NodeRecord> records;
  for (const auto& [name, record] : nodes_) records.push_back(record);
  return records;
}

NodeRecord* NodeRegistry::FindAlive(absl::string_view name,
                                    uint64_t incarnation) {
  const auto it = nodes_.find(name);
  if (it == nodes_.end() || it->second.state != NodeState::kAlive ||
      it->second.node.incarnation != incarnation) {
    return nullptr;
  }
  return &it->second;
}

void NodeRegistry::ForgetOldest() {
  size_t gone = 0;
  auto oldest = nodes_.end();
  for (auto it = nodes_.begin(); it != nodes_.end(); ++it) {
    if (it->second.state == NodeState::kAlive) continue;
    ++gone;
    if (oldest == nodes_.end() ||
        it->second.last_heard < oldest->second.last_heard) {
      oldest = it;
    }
  }
  if (gone > kMaxGone) nodes_.erase(oldest);
}

}  // namespace seraph
