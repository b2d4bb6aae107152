// Several replicas of a partition in a test: servers that can crash, messages
// that can be held up, lost and repeated, orders, and a clock.
#ifndef SERAPH_SERVER_CORE_REPLICA_HARNESS_H_
#define SERAPH_SERVER_CORE_REPLICA_HARNESS_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/core/partition_harness.h"
#include "server/core/partition_snapshot.h"

namespace seraph::testing {

// Servers are 0, 1, 2, ...; server s has the incarnation 100 + s, until it is
// restarted. Messages arrive in order when Flow is called, never before.
class ReplicaSet {
 public:
  static constexpr absl::Duration kLease = absl::Seconds(5);

  // `holders` begin with the start of the log, the others with nothing.
  ReplicaSet(PartitionOptions options, int servers, std::set<int> holders,
             ReplicaSetup replica = {})
      : options_(std::move(options)), replica_(replica) {
    replica_.lease = kLease;
    for (int s = 0; s < servers; ++s) {
      nodes_.push_back(MakeNode(s, 100 + s));
      partitions_.push_back(Make(s, holders.contains(s)));
    }
  }

  Partition& at(int server) { return *partitions_[server]; }
  const Node& node(int server) const { return nodes_[server]; }

  // A new incarnation that holds nothing.
  void Restart(int server) {
    nodes_[server] = MakeNode(server, nodes_[server].incarnation + 1000);
    partitions_[server] = Make(server, /*holds=*/false);
  }

  ReplicaState Configure(int server, uint64_t epoch, ReplicaDuty duty,
                         int primary, const std::set<int>& members) {
    ReplicaOrder order{.epoch = epoch, .duty = duty};
    if (primary >= 0) order.primary = nodes_[primary];
    for (int member : members) order.members.push_back(nodes_[member]);
    ReplicaState state;
    Do(server, [&](Partition& p, Effects* effects) {
      state = p.Configure(order, now_, effects);
    });
    return state;
  }

  // `primary` leads, the other members follow; -1: all collect.
  void Epoch(uint64_t epoch, int primary, const std::set<int>& members) {
    for (int server : members) {
      const ReplicaDuty duty = primary < 0         ? ReplicaDuty::kCollect
                               : server == primary ? ReplicaDuty::kLead
                                                   : ReplicaDuty::kFollow;
      Configure(server, epoch, duty, primary, members);
    }
  }

  // Tickets; what came of them is in Of and DoneOf.
  Ticket Push(int server, PushMessage message) {
    message.ticket = ++last_;
    if (message.epoch == 0) message.epoch = at(server).epoch();
    Do(server, [&](Partition& p, Effects* effects) {
      p.Push(std::move(message), now_, effects);
    });
    return last_;
  }
  Ticket Push(int server, uint32_t rank, Clock clock, float value = 1,
              uint32_t attempt = 1) {
    PushMessage message;
    message.rank = RankName{rank, attempt};
    message.clock = clock;
    message.examples = 1;
    message.keys = {5};
    message.values = {value};
    return Push(server, std::move(message));
  }
  Ticket EndEpoch(int server, uint32_t rank, Clock clock) {
    PushMessage message;
    message.rank = RankName{rank, 1};
    message.clock = clock;
    message.ends_epoch = true;
    return Push(server, std::move(message));
  }
  Ticket Pull(int server, uint32_t rank, Clock clock) {
    return Order(server, [&](Partition& p, Ticket ticket, Effects* effects) {
      p.Pull({.ticket = ticket,
              .epoch = p.epoch(),
              .rank = RankName{rank, 1},
              .clock = clock,
              .keys = {5}},
             now_, effects);
    });
  }
  Ticket PullNow(int server) {
    return Order(server, [&](Partition& p, Ticket ticket, Effects* effects) {
      p.Pull({.ticket = ticket, .epoch = p.epoch(), .keys = {5}}, now_,
             effects);
    });
  }
  Ticket Begin(int server, uint32_t rank, uint32_t attempt = 1) {
    return Order(server, [&](Partition& p, Ticket ticket, Effects* effects) {
      p.BeginAttempt({rank, attempt}, ticket, now_, effects);
    });
  }
  Ticket Recruit(int server, int recruit) {
    return Order(server, [&](Partition& p, Ticket ticket, Effects* effects) {
      p.Recruit(p.epoch(), nodes_[recruit], ticket, now_, effects);
    });
  }
  Ticket HandOver(int server) {
    return Order(server, [&](Partition& p, Ticket ticket, Effects* effects) {
      p.HandOver(p.epoch(), ticket, now_, effects);
    });
  }
  absl::StatusOr<std::vector<Clock>> BeginCut(int server, uint64_t cut,
                                              bool at_rest = false) {
    absl::StatusOr<std::vector<Clock>> clocks;
    Do(server, [&](Partition& p, Effects* effects) {
      clocks = p.BeginCut(cut, at_rest, now_, effects);
    });
    return clocks;
  }
  Ticket TakeCut(int server, uint64_t cut, std::vector<Clock> clocks,
                 bool at_rest = false) {
    return Order(server, [&](Partition& p, Ticket ticket, Effects* effects) {
      p.TakeCut(cut, clocks, at_rest, {}, ticket, now_, effects);
    });
  }
  Ticket Order(int server,
               std::function<void(Partition&, Ticket, Effects*)> work) {
    const Ticket ticket = ++last_;
    Do(server,
       [&](Partition& p, Effects* effects) { work(p, ticket, effects); });
    return ticket;
  }

  // Time ----------------------------------------------------------------

  absl::Duration now() const { return now_; }
  void Advance(absl::Duration time) { now_ += time; }
  void Tick(int server) {
    Do(server,
       [&](Partition& p, Effects* effects) { p.OnTick(now_, effects); });
  }
  // In steps of a tenth of a lease, each with ticks, and messages.
  void Pass(absl::Duration time) {
    const absl::Duration end = now_ + time;
    while (now_ < end) {
      now_ += std::min(end - now_, kLease / 10);
      for (size_t s = 0; s < partitions_.size(); ++s) {
        if (!stopped.contains(s)) Tick(s);
      }
      Flow();
    }
  }

  // Messages ------------------------------------------------------------

  std::deque<PeerMessage> messages;
  std::set<std::pair<int, int>> cut_links;  // (from, to): lost.
  std::set<int> stopped;                    // They run nothing.
  // They cannot join.
  std::shared_ptr<std::set<int>> no_memory = std::make_shared<std::set<int>>();
  // Looks at what is delivered; false: it is lost.
  std::function<bool(const PeerMessage&)> filter;

  // Until nothing is under way.
  void Flow() {
    while (!messages.empty()) {
      PeerMessage message = std::move(messages.front());
      messages.pop_front();
      Deliver(std::move(message));
    }
  }
  void Deliver(PeerMessage message) {
    const int from = ServerOf(message.from), to = ServerOf(message.to);
    if (from < 0 || to < 0 || cut_links.contains({from, to})) return;
    if (stopped.contains(to) || (filter && !filter(message))) return;
    Do(to, [&](Partition& p, Effects* effects) {
      p.OnPeerMessage(std::move(message), now_, effects);
    });
  }

  // Answers ---------------------------------------------------------------

  bool Waits(Ticket ticket) const {
    return !answers_.contains(ticket) && !done_.contains(ticket);
  }
  PartCode Code(Ticket ticket) const {
    return answers_.at(ticket).outcome.code;
  }
  bool Acked(Ticket ticket) const {
    return answers_.contains(ticket) && Code(ticket) == PartCode::kOk;
  }
  const Answer& Of(Ticket ticket) const { return answers_.at(ticket); }
  const Done& DoneOf(Ticket ticket) const { return done_.at(ticket); }
  // The value of key 5.
  float Value(Ticket ticket) const { return answers_.at(ticket).values.at(0); }
  float ValueAt(int server) const {
    float value = 0;
    partitions_[server]->state().ReadLatest({5}, absl::MakeSpan(&value, 1));
    return value;
  }

  std::string SnapshotOf(int server) {
    return EncodeSnapshot(at(server).state()).bytes;
  }

  void Do(int server, std::function<void(Partition&, Effects*)> work) {
    Effects effects;
    work(*partitions_[server], &effects);
    for (Answer& answer : effects.answers) {
      if (!answers_.emplace(answer.ticket, answer).second) std::abort();
    }
    for (Done& done : effects.done) {
      if (!done_.emplace(done.ticket, done).second) std::abort();
    }
    for (PeerMessage& message : effects.messages) {
      messages.push_back(std::move(message));
    }
  }

 private:
  static Node MakeNode(int server, uint64_t incarnation) {
    return {.name = std::to_string(server), .incarnation = incarnation};
  }
  std::unique_ptr<Partition> Make(int server, bool holds) {
    ReplicaSetup replica = replica_;
    replica.self = nodes_[server].incarnation;
    const auto start = [table = options_.table] {
      return MakeRowStore(table, {0, kMaxKey});
    };
    auto make_store =
        [start, server,
         no_memory = no_memory]() -> absl::StatusOr<std::unique_ptr<RowStore>> {
      if (no_memory->contains(server)) {
        return absl::ResourceExhaustedError("no memory");
      }
      return start();
    };
    auto state =
        holds ? std::make_unique<PartitionState>(options_, *start()) : nullptr;
    return std::make_unique<Partition>(options_, replica, make_store,
                                       std::move(state));
  }
  int ServerOf(uint64_t incarnation) const {
    for (size_t s = 0; s < nodes_.size(); ++s) {
      if (nodes_[s].incarnation == incarnation) return s;
    }
    return -1;
  }

  const PartitionOptions options_;
  ReplicaSetup replica_;
  std::vector<Node> nodes_;
  std::vector<std::unique_ptr<Partition>> partitions_;
  // Long after the start of the machine.
  absl::Duration now_ = absl::Hours(1);
  Ticket last_ = 0;
  std::map<Ticket, Answer> answers_;
  std::map<Ticket, Done> done_;
};

}  // namespace seraph::testing

#endif  // SERAPH_SERVER_CORE_REPLICA_HARNESS_H_
