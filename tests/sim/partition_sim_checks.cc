#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/partition_snapshot.h"
#include "tests/sim/partition_sim_run.h"

namespace seraph::testing {
namespace {

using absl::Milliseconds;
using absl::Seconds;

}  // namespace

bool PartitionSim::AllDone() const {
  return stored_.done.size() == job_.ranks();
}

std::string PartitionSim::Standing() {
  std::string text =
      absl::StrCat("generation ", stored_.generation, ", ranks done ",
                   absl::StrJoin(stored_.done, " "), ", sessions ",
                   SessionsAreDone() ? "" : "not ", "done; epoch ",
                   stored_.group.has_value() ? stored_.group->epoch : 0);
  for (auto& [machine, server] : servers_) {
    const Partition* partition = server.host->partition();
    if (partition == nullptr) continue;
    const ReplicaState state = partition->State();
    absl::StrAppend(&text, "; ", server.node.name, " duty ",
                    static_cast<int>(state.duty), " epoch ", state.epoch,
                    " at ", state.last.epoch, ":", state.last.number,
                    state.divergent ? " divergent" : "", " parked ",
                    partition->parked());
  }
  return text;
}

void PartitionSim::RememberMembers() {
  members_of_[{stored_.generation, stored_.group->epoch}] =
      stored_.group->members.size();
}

template <typename Held>
void PartitionSim::CheckMembers(const std::string& what, uint64_t generation,
                                Held held) {
  if (generation != stored_.generation || !stored_.group.has_value()) return;
  for (const Node& member : stored_.group->members) {
    const ReplicaHost* host = HostOn(MachineOf(member));
    if (host == nullptr || host->node().incarnation != member.incarnation ||
        host->generation() != generation || !host->partition()->holds()) {
      continue;
    }
    if (held(host->partition()->state())) continue;
    checker_->Report(absl::StrCat(what, ", and is not in the log of ",
                                  member.name, ", a member of epoch ",
                                  stored_.group->epoch));
  }
}

void PartitionSim::CheckHeld(const char* how, uint64_t generation,
                             uint32_t rank, Clock clock) {
  CheckMembers(
      absl::StrCat("entry ", ToString(clock), " of rank ", rank, " is ", how),
      generation, [&](const PartitionState& state) {
        return state.rank(rank).next > clock;
      });
}

void PartitionSim::CheckSessionHeld(uint64_t generation, uint64_t session,
                                    uint64_t number) {
  CheckMembers(absl::StrCat("push ", number, " of a session is acknowledged"),
               generation, [&](const PartitionState& state) {
                 return state.session(session) >= number;
               });
}

void PartitionSim::CheckEnough(const std::string& what, uint64_t generation,
                               uint64_t epoch) {
  const auto members = members_of_.find({generation, epoch});
  if (members == members_of_.end() || members->second >= world_.min_in_sync) {
    return;
  }
  checker_->Report(absl::StrCat(what, " is acknowledged in epoch ", epoch,
                                ", which has ", members->second, " members"));
}

void PartitionSim::CompareReplicas() {
  if (whole_ && stored_.group.has_value()) {
    for (const Node& member : stored_.group->members) {
      const Server& server = servers_.at(MachineOf(member));
      if (server.host == nullptr || !loop_.IsUp(MachineOf(member)) ||
          server.host->node().incarnation != member.incarnation ||
          server.host->generation() != stored_.generation) {
        continue;
      }
      if (!server.host->partition()->holds()) {
        checker_->Report(
            absl::StrCat(member.name, " is in sync and holds nothing"));
      } else if (server.host->partition()->State().divergent) {
        checker_->Report(
            absl::StrCat(member.name, " is in sync and divergent"));
      }
    }
  }
  for (auto& [machine, server] : servers_) {
    if (server.host == nullptr) continue;
    const Partition* partition = server.host->partition();
    if (partition == nullptr || !partition->holds()) continue;
    const LogPosition last = partition->State().last;
    // Where it stands still one look in six is enough to see it change.
    Compared& compared = server.compared;
    if (compared.generation == server.host->generation() &&
        compared.last == last && ++compared.skipped < 6) {
      continue;
    }
    compared = {server.host->generation(), last};
    const Snapshot snapshot = EncodeSnapshot(partition->state());
    const uint64_t content = std::hash<std::string>()(snapshot.bytes);
    const auto [it, is_new] = content_.emplace(
        std::tuple(server.host->generation(), last.epoch, last.number),
        content);
    if (!is_new) ++counts_["replicas compared"];
    if (it->second != content) {
      checker_->Report(absl::StrCat(server.node.name, " at ", last.epoch, ":",
                                    last.number,
                                    " holds other bytes than another did"));
    }
  }
}

void PartitionSim::Export() {
  if (exporting_ || exported_.has_value() || !AllDone() || !SessionsAreDone()) {
    return;
  }
  const PartitionPlacement placement = Placement();
  if (placement.primary.name.empty()) return;
  exporting_ = true;
  const uint64_t generation = stored_.generation;
  const int to = MachineOf(placement.primary);
  using Rows = std::map<Key, std::vector<float>>;
  network_.Call<Rows>(
      scheduler_, to, "export", kCallTimeout,
      [this, to, generation](auto answer) {
        ReplicaHost* host = HostOn(to);
        if (host == nullptr) return;
        const Partition* partition = host->partition();
        if (partition == nullptr || host->generation() != generation ||
            !partition->leads()) {
          return answer(absl::NotFoundError("not led here"));
        }
        answer(RowsOf(*partition));
      },
      [this, generation](absl::StatusOr<Rows> rows) {
        exporting_ = false;
        if (rows.ok() && generation == stored_.generation) {
          exported_ = *std::move(rows);
        }
      });
}

std::map<Key, std::vector<float>> PartitionSim::RowsOf(
    const Partition& partition) const {
  const PartitionState& state = partition.state();
  const auto cursor = state.store().Cursor();
  std::map<Key, std::vector<float>> rows;
  const size_t width = job_.width();
  while (true) {
    std::vector<Key> keys;
    std::vector<float> values;
    cursor->Next(100, state.sums(), &keys, &values);
    if (keys.empty()) return rows;
    for (size_t i = 0; i < keys.size(); ++i) {
      rows[keys[i]].assign(values.begin() + i * width,
                           values.begin() + (i + 1) * width);
    }
  }
}

void PartitionSim::Finish() {
  checker_->Final(stored_.generation, 0, job_.epochs, *exported_);
  for (auto& session : sessions_) session->End();
  // What is under way comes to rest; then all replicas have it all.
  const uint64_t generation = stored_.generation;
  const absl::Duration end = std::max(loop_.now(), plan_.until) + Seconds(2);
  while (loop_.now() < end) {
    loop_.RunUntil(loop_.now() + Milliseconds(20));
    CompareReplicas();
  }
  if (stored_.generation != generation) return;  // Nobody runs it again.
  const PartitionPlacement placement = Placement();
  if (placement.primary.name.empty()) {
    return checker_->Report("no primary at the end");
  }
  for (const Node& node : stored_.group->members) {
    ReplicaHost* host = HostOn(MachineOf(node));
    if (host == nullptr || host->partition() == nullptr ||
        !host->partition()->holds()) {
      checker_->Report(
          absl::StrCat("a member holds nothing at the end: ", Standing()));
      continue;
    }
    checker_->Final(stored_.generation, 0, job_.epochs,
                    RowsOf(*host->partition()));
    if (host->partition()->differing_repeats() > 0) {
      checker_->Report("a repeat in bsp had other bytes");
    }
  }
  if (static_cast<int>(stored_.group->members.size()) < replicas_) {
    checker_->Report(
        absl::StrCat("replicas are missing at the end: ", Standing()));
  }
}

}  // namespace seraph::testing
