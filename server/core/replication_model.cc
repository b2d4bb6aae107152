#include "server/core/replication_model.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "common/base/planted_bug.h"
#include "server/core/partition_harness.h"
#include "server/core/partition_snapshot.h"

namespace seraph::testing {
namespace {

constexpr uint32_t kRanks = 2;
constexpr uint32_t kStaleness = 1;
constexpr absl::Duration kLease = absl::Milliseconds(400);
constexpr int kMaxSteps = 60'000;

struct Server {
  Node node;
  std::unique_ptr<Partition> partition;
  bool paused = false;
};

// What the scheduler has stored.
struct Placement {
  uint64_t epoch = 1;
  std::vector<Node> members;
  std::optional<Node> primary;
  std::optional<Node> recruit;
};

struct Rank {
  uint32_t attempt = 1;
  bool begun = false;
  uint32_t next = 0;    // The clock that it works on.
  uint32_t acked = 0;   // Clocks below are acknowledged.
  uint32_t sent = 0;    // Clocks below were sent, by any attempt.
  bool pulled = false;  // The parameters of `next` are here.
  absl::Duration asked_at = -absl::InfiniteDuration();
  uint64_t seen_epoch = 0;
  std::vector<float> seen = std::vector<float>(kRanks);  // By its pulls.
};

class Model {
 public:
  explicit Model(const ModelOptions& options) : options_(options) {
    TableSpec table = SumTable();
    table.width = kRanks;
    partition_ = OptionsFor(options.mode, kRanks, table);
    partition_.sync.spec.staleness = kStaleness;
  }

  ModelResult Run() {
    for (int s = 0; s < options_.servers; ++s) {
      Node node{.name = absl::StrCat("s", s), .incarnation = NewIncarnation()};
      const bool member = s < options_.replicas;
      servers_.push_back({node, Make(node, member)});
      if (member) placement_.members.push_back(node);
    }
    placement_.primary = placement_.members[0];
    ranks_.resize(kRanks);
    for (steps_ = 0; steps_ < kMaxSteps && result_.violation.empty();
         ++steps_) {
      if (IsDone()) break;
      Step();
    }
    if (result_.violation.empty() && !IsDone()) Violated("it is stuck");
    if (result_.violation.empty()) CheckEnd();
    return result_;
  }

 private:
  using Event = std::function<void()>;

  // Randomness ----------------------------------------------------------

  uint64_t Below(uint64_t n) {
    return ToBelow(Draw(options_.seed, {draws_++}), n);
  }
  bool Happens(double share) {
    return ToUnit(Draw(options_.seed, {draws_++})) < share;
  }
  uint64_t NewIncarnation() { return 1000 + ++incarnations_; }
  bool Calm() const { return faults_ >= options_.faults; }

  void Violated(const std::string& what) {
    if (result_.violation.empty()) {
      result_.violation = absl::StrCat(what, " (step ", steps_, ", epoch ",
                                       placement_.epoch, ")");
    }
  }

  // The world -----------------------------------------------------------

  std::unique_ptr<Partition> Make(const Node& node, bool holds) {
    return MakePartition(partition_,
                         {.self = node.incarnation,
                          .lease = kLease,
                          .window_bytes = 2000,
                          .piece_bytes = options_.seed % 2 ? 200u : 2000u},
                         {0, kMaxKey}, holds);
  }

  Server* Find(uint64_t incarnation) {
    for (Server& server : servers_) {
      if (server.node.incarnation == incarnation) return &server;
    }
    return nullptr;
  }
  bool IsAlive(const Node& node) { return Find(node.incarnation) != nullptr; }

  // Sends something to an incarnation; it may get lost, or come twice.
  void Post(uint64_t to, std::function<void(Server*)> work) {
    const Event event = [this, to, work] {
      Server* server = Find(to);
      if (server == nullptr) return;
      if (server->paused) return Requeue(to, work);
      work(server);
    };
    if (!Calm() && Happens(options_.lose)) {
      ++result_.lost;
      return;
    }
    if (!Calm() && Happens(options_.repeat)) {
      ++result_.repeated;
      late_.push_back(event);
    }
    events_.push_back(event);
  }
  void Requeue(uint64_t to, std::function<void(Server*)> work) {
    events_.push_back([this, to, work] {
      Server* server = Find(to);
      if (server == nullptr) return;
      if (server->paused) return Requeue(to, work);
      work(server);
    });
  }
  // To a client or the scheduler.
  void PostBack(Event event) {
    if (!Calm() && Happens(options_.lose)) {
      ++result_.lost;
      return;
    }
    events_.push_back(std::move(event));
  }

  void Do(Server* server, std::function<void(Partition&, Effects*)> work) {
    Effects effects;
    work(*server->partition, &effects);
    ExpireAnswers(now_, absl::MakeSpan(effects.answers));
    for (Answer& answer : effects.answers) {
      auto waiting = answers_.extract(answer.ticket);
      if (waiting.empty()) return Violated("an answer came twice");
      PostBack([on = std::move(waiting.mapped()), answer] { on(answer); });
    }
    for (Done& done : effects.done) {
      auto waiting = done_.extract(done.ticket);
      if (waiting.empty()) return Violated("an order was done twice");
      PostBack([on = std::move(waiting.mapped()), done] { on(done); });
    }
    for (PeerMessage& message : effects.messages) {
      Post(message.to, [this, message](Server* to) {
        Do(to, [&](Partition& p, Effects* effects) {
          p.OnPeerMessage(message, now_, effects);
        });
      });
    }
    Remember(server);
  }

  // Two replicas at one position hold the same bytes.
  void Remember(Server* server) {
    if (!server->partition->holds() || !Happens(0.1)) return;
    const Snapshot snapshot = EncodeSnapshot(server->partition->state());
    const auto [at, is_new] =
        snapshots_.try_emplace(snapshot.position, snapshot.bytes);
    if (is_new) return;
    ++result_.compared;
    if (at->second != snapshot.bytes) {
      Violated(absl::StrCat("two replicas differ at (", snapshot.position.epoch,
                            ", ", snapshot.position.number, ")"));
    }
  }

  void Step() {
    now_ += absl::Milliseconds(Below(4));
    const uint64_t dice = Below(100);
    if (dice < 70 && !events_.empty()) {
      // Not in order, but the old ones have their turn.
      const size_t place = Below(std::min<size_t>(events_.size(), 12));
      const Event event = std::move(events_[place]);
      events_.erase(events_.begin() + place);
      event();
    } else if (dice < 72 && !late_.empty()) {
      const size_t place = Below(late_.size());
      const Event event = std::move(late_[place]);
      late_.erase(late_.begin() + place);
      event();
    } else if (dice < 80) {
      Server& server = servers_[Below(servers_.size())];
      if (!server.paused) {
        Do(&server,
           [&](Partition& p, Effects* effects) { p.OnTick(now_, effects); });
      }
    } else if (dice < 92) {
      StepRank(Below(kRanks));
    } else if (dice < 97) {
      StepScheduler();
    } else if (!Calm() && Happens(0.08)) {
      Fault();
    } else if (Calm() || Happens(0.1)) {
      Server& server = servers_[Below(servers_.size())];
      server.paused = false;
    }
  }

  void Fault() {
    ++faults_;
    Server& server = servers_[Below(servers_.size())];
    const bool is_member =
        std::any_of(placement_.members.begin(), placement_.members.end(),
                    [&](const Node& node) { return node == server.node; });
    const int alive =
        std::count_if(placement_.members.begin(), placement_.members.end(),
                      [&](const Node& node) { return IsAlive(node); });
    switch (Below(4)) {
      case 0:  // A crash; the scheduler finds out later.
        if (is_member && alive < 2) return;
        ++result_.crashes;
        server.node.incarnation = NewIncarnation();
        server.partition = Make(server.node, /*holds=*/false);
        server.paused = false;
        break;
      case 1:  // It is thought dead.
        if (!is_member || alive < 2 || placement_.members.size() < 2) return;
        ++result_.suspicions;
        LeaveOut(server.node);
        break;
      case 2:
        if (!placement_.primary.has_value()) return;
        ++result_.moves;
        HandOver();
        break;
      case 3:
        ++result_.pauses;
        server.paused = true;
        break;
    }
  }

  // The scheduler -------------------------------------------------------

  void NextEpoch() {
    ++placement_.epoch;
    states_.clear();
    ordered_.clear();
    recruiting_ = false;
  }

  void LeaveOut(const Node& node) {
    const bool was_recruit = placement_.recruit == node;
    NextEpoch();
    placement_.recruit.reset();
    if (was_recruit) return;
    std::erase(placement_.members, node);
    if (placement_.primary == node || !placement_.primary.has_value()) {
      placement_.primary.reset();
      if (!options_.collects ||
          IsPlanted(PlantedBug::kPromoteWithoutCollecting)) {
        placement_.primary =
            placement_.members[Below(placement_.members.size())];
        ++result_.promotions;
      }
    }
  }

  void HandOver() {
    const uint64_t epoch = placement_.epoch;
    Post(placement_.primary->incarnation, [=, this](Server* server) {
      const Ticket ticket = ++tickets_;
      done_[ticket] = [this, epoch](const Done& done) {
        if (!done.status.ok() || epoch != placement_.epoch) return;
        NextEpoch();
        placement_.primary.reset();
        placement_.recruit.reset();
      };
      Do(server, [&](Partition& p, Effects* effects) {
        p.HandOver(epoch, ticket, now_, effects);
      });
    });
  }

  void StepScheduler() {
    // Who is dead is found out sooner or later.
    if (Happens(0.2)) {
      for (const Node& node : std::vector<Node>(placement_.members)) {
        if (!IsAlive(node) && placement_.members.size() > 1) {
          return LeaveOut(node);
        }
      }
      if (placement_.recruit.has_value() && !IsAlive(*placement_.recruit)) {
        return LeaveOut(*placement_.recruit);
      }
    }
    SendOrders();
    if (!placement_.primary.has_value()) {
      if (states_.size() == placement_.members.size()) Promote();
      return;
    }
    HearComplaints();
    if (!placement_.recruit.has_value() &&
        static_cast<int>(placement_.members.size()) < options_.replicas &&
        Happens(0.3)) {
      ChooseRecruit();
    } else if (placement_.recruit.has_value() && !recruiting_) {
      AskToRecruit();
    }
  }

  void SendOrders() {
    for (Server& server : servers_) {
      const Node& node = server.node;
      // Heartbeats tell which epoch it knows.
      if (ordered_.contains(node.incarnation)) continue;
      ReplicaOrder order{.epoch = placement_.epoch,
                         .members = placement_.members};
      const bool member =
          std::find(placement_.members.begin(), placement_.members.end(),
                    node) != placement_.members.end();
      if (placement_.primary.has_value()) order.primary = *placement_.primary;
      if (placement_.recruit == node) {
        order.duty = ReplicaDuty::kJoin;
      } else if (!member) {
        order.duty = ReplicaDuty::kDrop;
      } else if (!placement_.primary.has_value()) {
        order.duty = ReplicaDuty::kCollect;
      } else {
        order.duty = placement_.primary == node ? ReplicaDuty::kLead
                                                : ReplicaDuty::kFollow;
      }
      Post(node.incarnation, [this, order](Server* to) {
        ReplicaState state;
        Do(to, [&](Partition& p, Effects* effects) {
          state = p.Configure(order, now_, effects);
        });
        PostBack([this, state, from = to->node] { OnState(from, state); });
      });
    }
  }

  void OnState(const Node& from, const ReplicaState& state) {
    if (state.epoch != placement_.epoch) return;
    ordered_.insert(from.incarnation);
    if (state.duty == ReplicaDuty::kCollect) {
      states_[from.incarnation] = state.last;
    } else if (state.duty == ReplicaDuty::kDrop &&
               std::count(placement_.members.begin(), placement_.members.end(),
                          from) > 0) {
      Violated("a member holds nothing");
    }
  }

  void Promote() {
    const Node* best = nullptr;
    for (const Node& node : placement_.members) {
      if (!states_.contains(node.incarnation)) return;
      if (best == nullptr ||
          states_[node.incarnation] > states_[best->incarnation]) {
        best = &node;
      }
    }
    const Node chosen = *best;
    NextEpoch();
    placement_.primary = chosen;
    ++result_.promotions;
  }

  void HearComplaints() {
    Server* primary = Find(placement_.primary->incarnation);
    if (primary == nullptr || primary->paused ||
        primary->partition->epoch() != placement_.epoch) {
      return;
    }
    for (const Node& node : primary->partition->Complaints(now_)) {
      if (!Happens(0.2)) continue;
      if (placement_.recruit == node || placement_.members.size() > 1) {
        return LeaveOut(node);
      }
    }
  }

  void ChooseRecruit() {
    const Server& server = servers_[Below(servers_.size())];
    if (std::count(placement_.members.begin(), placement_.members.end(),
                   server.node) > 0) {
      return;
    }
    NextEpoch();
    placement_.recruit = server.node;
  }

  void AskToRecruit() {
    recruiting_ = Happens(0.5);
    const uint64_t epoch = placement_.epoch;
    const Node recruit = *placement_.recruit;
    Post(placement_.primary->incarnation, [=, this](Server* server) {
      const Ticket ticket = ++tickets_;
      done_[ticket] = [this, epoch, recruit](const Done& done) {
        if (epoch != placement_.epoch) return;
        if (!done.status.ok()) {
          recruiting_ = false;
          return;
        }
        NextEpoch();
        placement_.recruit.reset();
        placement_.members.push_back(recruit);
        ++result_.recruits;
      };
      Do(server, [&](Partition& p, Effects* effects) {
        p.Recruit(epoch, recruit, ticket, now_, effects);
      });
    });
    if (Calm()) recruiting_ = true;
  }

  // Clients -------------------------------------------------------------

  bool IsDone() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [&](const Rank& rank) {
      return rank.acked >= options_.clocks;
    });
  }

  void StepRank(uint32_t number) {
    Rank& rank = ranks_[number];
    if (!Calm() && Happens(0.004)) {
      ++rank.attempt;
      ++result_.attempts;
      rank.begun = rank.pulled = false;
      rank.asked_at = -absl::InfiniteDuration();
    }
    if (!placement_.primary.has_value()) return;
    if (now_ - rank.asked_at < kLease / 4 ||
        (rank.begun && rank.next >= options_.clocks)) {
      return;
    }
    rank.asked_at = now_;
    if (!rank.begun) return Begin(number);
    if (!rank.pulled) return Pull(number);
    Push(number);
  }

  void Begin(uint32_t number) {
    const uint32_t attempt = ranks_[number].attempt;
    ToPrimary([=, this](Server* server, uint64_t epoch) {
      const Ticket ticket = ++tickets_;
      done_[ticket] = [=, this](const Done& done) {
        Rank& rank = ranks_[number];
        if (!done.status.ok() || rank.attempt != attempt || rank.begun) return;
        rank.begun = true;
        rank.next = done.progress.next.step;
        if (rank.next < rank.acked) {
          Violated("a new attempt is told less than was acknowledged");
        }
        rank.acked = rank.next;
        if (rank.next > 0 && rank.sent == rank.next && Happens(0.5)) {
          // Another partition has not got its last entry: it runs it again.
          --rank.next;
        }
        rank.pulled = false;
        rank.asked_at = -absl::InfiniteDuration();
      };
      Do(server, [&](Partition& p, Effects* effects) {
        p.BeginAttempt({number, attempt}, ticket, now_, effects);
      });
    });
  }

  // Keys 5 and 6 get the same, at times in a chunk each.
  void Push(uint32_t number) {
    Rank& rank = ranks_[number];
    rank.sent = std::max(rank.sent, rank.next + 1);
    const uint32_t chunks = (rank.next + rank.attempt) % 3 == 0 ? 2 : 1;
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      PushMessage message;
      message.rank = RankName{number, rank.attempt};
      message.clock = {0, rank.next};
      message.examples = 1;
      message.chunk = chunk;
      message.chunks = chunks;
      if (chunk == 0) message.keys.Append({5});
      if (chunk + 1 == chunks) message.keys.Append({6});
      message.values.assign(message.keys.size() * kRanks, 0.0f);
      for (size_t i = 0; i < message.keys.size(); ++i) {
        message.values[i * kRanks + number] = 1;
      }
      SendPush(std::move(message));
    }
  }

  void SendPush(PushMessage push) {
    ToPrimary([this, push](Server* server, uint64_t epoch) {
      PushMessage message = push;
      message.epoch = epoch;
      message.ticket = ++tickets_;
      answers_[message.ticket] = [this, name = *push.rank,
                                  clock = push.clock.step](const Answer& a) {
        OnPushed(name, clock, a);
      };
      Do(server, [&](Partition& p, Effects* effects) {
        p.Push(std::move(message), now_, effects);
      });
    });
  }

  void OnPushed(RankName name, uint32_t clock, const Answer& answer) {
    Rank& rank = ranks_[name.rank];
    if (answer.outcome.code != PartCode::kOk) {
      if (rank.attempt == name.attempt) {
        rank.asked_at = -absl::InfiniteDuration();
      }
      return;
    }
    rank.acked = std::max(rank.acked, clock + 1);
    if (rank.attempt != name.attempt || rank.next != clock) return;
    rank.next = clock + 1;
    rank.pulled = false;
    rank.asked_at = -absl::InfiniteDuration();
  }

  void Pull(uint32_t number) {
    const uint32_t attempt = ranks_[number].attempt;
    const uint32_t clock = ranks_[number].next;
    std::vector<float> least;
    for (uint32_t of = 0; of < kRanks; ++of) {
      least.push_back(Least(number, clock, of));
    }
    ToPrimary([=, this](Server* server, uint64_t epoch) {
      const Ticket ticket = ++tickets_;
      answers_[ticket] = [=, this](const Answer& answer) {
        Rank& rank = ranks_[number];
        if (answer.epoch < rank.seen_epoch) return;
        rank.seen_epoch = answer.epoch;
        if (rank.attempt != attempt || rank.next != clock || rank.pulled) {
          return;
        }
        rank.asked_at = -absl::InfiniteDuration();
        if (answer.outcome.code != PartCode::kOk) return;
        rank.pulled = true;
        CheckPull(number, clock, least, answer.values);
      };
      Do(server, [&](Partition& p, Effects* effects) {
        p.Pull({.ticket = ticket,
                .epoch = epoch,
                .rank = RankName{number, attempt},
                .clock = Clock{0, clock},
                .keys = {5, 6}},
               now_, effects);
      });
    });
  }

  // What a pull that is sent now has to show of another rank.
  float Least(uint32_t number, uint32_t clock, uint32_t of) const {
    switch (options_.mode) {
      case SyncMode::kBsp:
        return clock;
      case SyncMode::kSsp: {
        const uint32_t bound = clock > kStaleness ? clock - kStaleness : 0;
        // Its own clocks, and never less than it has seen.
        return std::max<float>(of == number ? clock : bound,
                               ranks_[number].seen[of]);
      }
      case SyncMode::kAsp: {
        // Whatever was acknowledged, or seen by anybody.
        float least = ranks_[of].acked;
        for (const Rank& rank : ranks_) least = std::max(least, rank.seen[of]);
        return least;
      }
    }
    return 0;
  }

  void CheckPull(uint32_t number, uint32_t clock,
                 const std::vector<float>& least,
                 absl::Span<const float> values) {
    ++result_.pulls;
    for (uint32_t of = 0; of < kRanks; ++of) {
      const float most =
          options_.mode == SyncMode::kBsp ? clock : ranks_[of].sent;
      if (values[of] < least[of] || values[of] > most) {
        Violated(absl::StrCat("rank ", number, " pulls clock ", clock,
                              " and sees ", values[of], " of rank ", of,
                              ", not ", least[of], " to ", most));
      }
      if (values[of] != values[kRanks + of]) {
        Violated(
            absl::StrCat("rank ", number, " sees half of a push of rank ", of));
      }
      float& seen = ranks_[number].seen[of];
      seen = std::max(seen, values[of]);
    }
  }

  // With the placement that is known now, or by somebody slow: the one before.
  void ToPrimary(std::function<void(Server*, uint64_t)> work) {
    if (Happens(0.9) || !known_.has_value()) {
      known_ = {placement_.primary->incarnation, placement_.epoch};
    }
    Post(known_->first, [work, epoch = known_->second](Server* server) {
      work(server, epoch);
    });
  }

  void CheckEnd() {
    Server* primary = placement_.primary.has_value()
                          ? Find(placement_.primary->incarnation)
                          : nullptr;
    for (Server& server : servers_) {
      Partition& p = *server.partition;
      if (&server != primary || !p.leads()) continue;
      std::vector<float> values(kRanks);
      p.state().ReadLatest({5}, absl::MakeSpan(values));
      for (uint32_t r = 0; r < kRanks; ++r) {
        if (values[r] != options_.clocks) {
          Violated(absl::StrCat("rank ", r, " counts ", values[r], " times"));
        }
      }
    }
  }

  const ModelOptions options_;
  PartitionOptions partition_;
  ModelResult result_;
  uint64_t draws_ = 0;
  uint64_t incarnations_ = 0;
  int faults_ = 0;
  int steps_ = 0;
  absl::Duration now_ = absl::Hours(1);
  std::vector<Server> servers_;
  std::vector<Event> events_;
  std::vector<Event> late_;  // Repeats, that come when they come.
  Ticket tickets_ = 0;
  std::map<Ticket, std::function<void(const Answer&)>> answers_;
  std::map<Ticket, std::function<void(const Done&)>> done_;
  std::map<LogPosition, std::string> snapshots_;

  Placement placement_;
  std::map<uint64_t, LogPosition> states_;  // Of collecting members.
  std::set<uint64_t> ordered_;              // Who knows the epoch.
  bool recruiting_ = false;
  std::optional<std::pair<uint64_t, uint64_t>> known_;
  std::vector<Rank> ranks_;
};

}  // namespace

ModelResult RunModel(const ModelOptions& options) {
  return Model(options).Run();
}

}  // namespace seraph::testing
