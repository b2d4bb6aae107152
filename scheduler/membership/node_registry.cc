#include "scheduler/membership/node_registry.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"

namespace seraph {

NodeRegistry::NodeRegistry(absl::Duration timeout, absl::Duration start,
                           absl::Span<const KnownNode> expected)
    : timeout_(timeout),
      nobody_dies_until_(start + timeout),
      last_tick_(start) {
  for (const KnownNode& known : expected) {
    NodeRecord& record = nodes_[known.node.name];
    record.node = known.node;
    record.draining = known.draining;
    record.last_heard = start;
    if (IsPlanted(PlantedBug::kAllDeadAtSchedulerStart)) {
      record.last_heard = start - 2 * timeout;
      nobody_dies_until_ = start;
    }
  }
}

std::vector<LostNode> NodeRegistry::Register(const Node& node,
                                             absl::Duration now) {
  std::vector<LostNode> lost;
  for (auto& [name, record] : nodes_) {
    if (record.state != NodeState::kAlive) continue;
    if (record.node.incarnation == node.incarnation) continue;
    if (name == node.name || record.node.address == node.address) {
      record.state = NodeState::kDead;
      ++known_version_;
      lost.push_back({record.node, LossReason::kRestarted});
    }
  }
  NodeRecord& record = nodes_[node.name];
  const bool is_repeat = record.state == NodeState::kAlive &&
                         record.node.incarnation == node.incarnation;
  if (record.node.incarnation != node.incarnation) {
    record.draining = false;
    record.leaving = false;
  }
  if (!is_repeat) record.load = NodeLoad();
  if (!is_repeat || record.node != node) ++known_version_;
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
  ++known_version_;
  return LostNode{record->node, LossReason::kLeft};
}

absl::Status NodeRegistry::Drain(absl::string_view name, uint64_t incarnation,
                                 bool leaving) {
  const auto it = nodes_.find(name);
  if (it == nodes_.end() || it->second.state != NodeState::kAlive) {
    return absl::NotFoundError(
        absl::StrCat("no node '", name,
                     "' is here; seraphctl cluster lists "
                     "those that are"));
  }
  NodeRecord& record = it->second;
  if (incarnation != 0 && record.node.incarnation != incarnation) {
    return absl::NotFoundError(absl::StrCat(
        "node '", name, "' was started anew since; ask for that one"));
  }
  record.leaving = record.leaving || leaving;
  if (record.draining) return absl::OkStatus();
  const bool another =
      std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
        const NodeRecord& other = entry.second;
        return &other != &record && other.state == NodeState::kAlive &&
               other.node.role == record.node.role && !other.draining;
      });
  if (!another && !leaving) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no other ",
        record.node.role == NodeRole::kServer ? "server" : "worker",
        " can take over from '", name, "'; start one first"));
  }
  record.draining = true;
  ++known_version_;
  return absl::OkStatus();
}

bool NodeRegistry::IsDraining(uint64_t incarnation) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
    return entry.second.node.incarnation == incarnation &&
           entry.second.draining;
  });
}

size_t NodeRegistry::CountLeaving() const {
  return std::count_if(nodes_.begin(), nodes_.end(), [](const auto& entry) {
    return entry.second.state == NodeState::kAlive && entry.second.leaving;
  });
}

bool NodeRegistry::AllServersStop() const {
  bool any_leaving = false;
  for (const auto& [name, record] : nodes_) {
    if (record.state != NodeState::kAlive) continue;
    if (record.node.role != NodeRole::kServer) continue;
    if (!record.draining) return false;
    any_leaving = any_leaving || record.leaving;
  }
  return any_leaving;
}

void NodeRegistry::LookForOwnSilence(absl::Duration now) {
  if (IsPlanted(PlantedBug::kAllDeadAtSchedulerStart)) return;
  // Noticed before the first of them dies: all who fall silent with the
  // scheduler's network do so within a heartbeat of each other.
  size_t nodes = 0;
  size_t silent_nodes = 0;
  size_t servers = 0;
  size_t silent_servers = 0;
  for (const auto& [name, record] : nodes_) {
    if (record.state != NodeState::kAlive) continue;
    const bool silent = now - record.last_heard > timeout_ * 3 / 5;
    ++nodes;
    silent_nodes += silent;
    if (record.node.role != NodeRole::kServer) continue;
    ++servers;
    silent_servers += silent;
  }
  if (nodes == 0) return;
  const bool all = silent_nodes == nodes;
  const bool most = silent_servers >= 2 && 2 * silent_servers > servers;
  // Once only while it lasts: if they are dead indeed, the others are told.
  if (all || most != most_are_silent_) nobody_dies_until_ = now + timeout_;
  most_are_silent_ = most;
}

std::vector<LostNode> NodeRegistry::Tick(absl::Duration now) {
  if (now - last_tick_ > timeout_ / 2) {
    // This process was not running, so heartbeats may lie unread.
    nobody_dies_until_ = now + timeout_;
  }
  last_tick_ = now;
  LookForOwnSilence(now);
  std::vector<LostNode> lost;
  if (now <= nobody_dies_until_) return lost;
  for (auto& [name, record] : nodes_) {
    if (record.state != NodeState::kAlive) continue;
    if (now - record.last_heard <= timeout_) continue;
    record.state = NodeState::kDead;
    ++known_version_;
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

std::vector<KnownNode> NodeRegistry::Known() const {
  std::vector<KnownNode> known;
  for (const auto& [name, record] : nodes_) {
    if (record.state != NodeState::kAlive) continue;
    known.push_back({record.node, record.draining});
  }
  return known;
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
