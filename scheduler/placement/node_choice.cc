#include "scheduler/placement/node_choice.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

uint32_t SlotsLeft(const WorkerRoom& worker) {
  if (worker.node.slots == 0) return std::numeric_limits<uint32_t>::max();
  return worker.node.slots - std::min(worker.taken, worker.node.slots);
}

uint64_t SlotsLeft(absl::Span<const WorkerRoom> workers) {
  uint64_t left = 0;
  for (const WorkerRoom& worker : workers) left += SlotsLeft(worker);
  return left;
}

std::string Count(uint64_t n, absl::string_view what) {
  return absl::StrCat(n, " ", what, n == 1 ? "" : "s");
}

// Nodes that may work together.
struct Group {
  std::vector<Node> servers;
  std::vector<WorkerRoom> workers;
};

absl::Status CheckRoom(const Group& group, uint32_t ranks) {
  if (group.servers.empty()) {
    return absl::UnavailableError("no server has registered");
  }
  if (group.workers.empty()) {
    return absl::UnavailableError("no worker has registered");
  }
  const uint64_t left = SlotsLeft(group.workers);
  if (left >= ranks) return absl::OkStatus();
  uint64_t taken = 0;
  for (const WorkerRoom& worker : group.workers) taken += worker.taken;
  return absl::UnavailableError(absl::StrCat(
      "all ", Count(ranks, "rank"), " start together, but ",
      Count(group.workers.size(), "worker"), " with ",
      Count(left + taken, "slot"), " ",
      group.workers.size() == 1 ? "has" : "have", " ", left,
      " free; wait for other jobs, add workers or raise worker.slots"));
}

NodeChoice Choose(Group group, uint32_t ranks) {
  std::sort(group.servers.begin(), group.servers.end(),
            [](const Node& a, const Node& b) { return a.name < b.name; });
  std::sort(group.workers.begin(), group.workers.end(),
            [](const WorkerRoom& a, const WorkerRoom& b) {
              return std::tie(a.taken, a.node.name) <
                     std::tie(b.taken, b.node.name);
            });
  NodeChoice choice;
  choice.servers = std::move(group.servers);
  size_t next = 0;
  while (choice.worker_of_rank.size() < ranks) {
    WorkerRoom& worker = group.workers[next];
    next = (next + 1) % group.workers.size();
    if (SlotsLeft(worker) == 0) continue;
    ++worker.taken;
    choice.worker_of_rank.push_back(worker.node);
  }
  return choice;
}

}  // namespace

absl::StatusOr<NodeChoice> ChooseNodes(absl::Span<const Node> servers,
                                       absl::Span<const WorkerRoom> workers,
                                       uint32_t ranks, bool same_arithmetic) {
  Group all;
  all.servers.assign(servers.begin(), servers.end());
  all.workers.assign(workers.begin(), workers.end());
  if (absl::Status room = CheckRoom(all, ranks); !room.ok()) return room;
  if (!same_arithmetic) return Choose(std::move(all), ranks);

  std::map<std::string, Group> groups;  // By arithmetic id.
  for (const Node& server : servers) {
    groups[server.arithmetic].servers.push_back(server);
  }
  for (const WorkerRoom& worker : workers) {
    groups[worker.node.arithmetic].workers.push_back(worker);
  }
  Group* best = nullptr;
  for (auto& [arithmetic, group] : groups) {
    if (!CheckRoom(group, ranks).ok()) continue;
    if (best == nullptr ||
        SlotsLeft(group.workers) > SlotsLeft(best->workers)) {
      best = &group;
    }
  }
  if (best == nullptr) {
    return absl::UnavailableError(absl::StrCat(
        "a bsp job runs on nodes of the same build and architecture, but of ",
        "the ", Count(groups.size(), "kind"), " of nodes here none has a ",
        "server and ", Count(ranks, "free slot"), " of its own"));
  }
  return Choose(std::move(*best), ranks);
}

WorkerRoom* FindRoom(absl::Span<WorkerRoom> workers,
                     const std::string& arithmetic, uint64_t not_to) {
  const auto rank = [&](const WorkerRoom& room) {
    return std::tuple(room.node.incarnation == not_to, room.taken,
                      absl::string_view(room.node.name));
  };
  WorkerRoom* best = nullptr;
  for (WorkerRoom& room : workers) {
    if (SlotsLeft(room) == 0) continue;
    if (!arithmetic.empty() && room.node.arithmetic != arithmetic) continue;
    if (best == nullptr || rank(room) < rank(*best)) best = &room;
  }
  return best;
}

}  // namespace seraph
