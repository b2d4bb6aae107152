// One replica of a partition of a table.
#ifndef SERAPH_SERVER_CORE_PARTITION_H_
#define SERAPH_SERVER_CORE_PARTITION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/core/chunk_stage.h"
#include "server/core/cut_hold.h"
#include "server/core/log_tail.h"
#include "server/core/partition_messages.h"
#include "server/core/partition_state.h"
#include "server/core/peer_link.h"
#include "server/core/snapshot_intake.h"

namespace seraph {

struct ReplicaSetup {
  uint64_t self = 0;  // This server's incarnation.
  absl::Duration lease = absl::Seconds(5);
  uint32_t min_in_sync = 1;
  // What may be on its way to a peer, records and pieces, unconfirmed.
  size_t window_bytes = 8 << 20;
  size_t piece_bytes = 1 << 20;
};

// A state machine without IO: messages, orders and the time go in; answers and
// messages to other replicas come out, some of them later and on another call.
// As the primary it refuses what does not fit, stages chunks, appends to the
// log, forwards, and parks pulls until they may be answered; as a backup it
// folds what it is sent. docs/fault-tolerance.md has the rules.
//
// What it promises, whatever is lost, repeated or reordered on the way:
//   * The log takes a rank's entries in order and without gaps, each once. A
//     push, repeats of it too, is acknowledged when every member has it.
//   * An entry is one unit: its chunks become it when the last is there, and
//     all of them are answered with it.
//   * A refused message changes nothing.
//   * A pull at a clock is answered as PartitionState says, in ssp and asp
//     when all that it has seen is confirmed, else it waits; a wait costs
//     memory only. A repeat waits in the place of the one before it.
//   * Alone (no other member, no recruit) it copies no record and keeps none.
//
// Time: `now` is monotonic, of this process, and never goes back.
// Threads: one at a time.
class Partition {
 public:
  // A store of the partition's range: initial rows. Errors: ResourceExhausted.
  using MakeStore = std::function<absl::StatusOr<std::unique_ptr<RowStore>>()>;

  // `state`: the start of the log, empty or at a cut; null: a replica that
  // holds nothing and can only join. `make_store` is for snapshots.
  //
  // Until the first Configure it takes nothing (duty kCollect, epoch 0).
  Partition(PartitionOptions options, ReplicaSetup replica,
            MakeStore make_store, std::unique_ptr<PartitionState> state);

  // Orders: at any time, in any duty ---------------------------------------

  // A duty in a new epoch. An epoch that is not higher than the replica's
  // changes nothing: the answer says how it stands. What cannot be (to lead or
  // follow with nothing held) ends as kDrop. kDrop, and kJoin, free what is
  // held. Ends cuts, hand-overs and recruiting of the epoch before; where the
  // replica no longer leads, its clients are answered kStaleEpoch.
  ReplicaState Configure(const ReplicaOrder& order, absl::Duration now,
                         Effects* effects);

  // Messages of clients: at any time ----------------------------------------

  // Each is answered exactly once, now or later. Where the replica does not
  // lead: kNotHere, or kStaleEpoch if the message names another epoch.
  void Push(PushMessage&& message, absl::Duration now, Effects* effects);
  void Pull(PullMessage message, absl::Duration now, Effects* effects);

  // Begins attempt `rank.attempt` of a rank: from its log record on older ones
  // are refused; their staged chunks and waiting pulls end with kStaleAttempt.
  // Done when the record is confirmed, of a repeat no earlier.
  //
  // Errors, which leave everything as it was: InvalidArgument (no such rank),
  // Aborted (a later attempt has begun), Unavailable (not led here, or not any
  // more: ask the primary).
  void BeginAttempt(RankName rank, Ticket ticket, absl::Duration now,
                    Effects* effects);

  // Rows for a start from a saved model, keys mixed, in any order. Done when
  // confirmed. Errors: as RowStore::Load; FailedPrecondition once the log has
  // another record; Unavailable as BeginAttempt.
  void Load(std::vector<Key> keys, std::vector<float> values, Ticket ticket,
            absl::Duration now, Effects* effects);

  // Orders for a primary in exactly this epoch; else Aborted -----------------

  // Brings `recruit`, which was ordered to join in this epoch, up to date and
  // begins to wait for it; done when it has the whole log. Aborted when the
  // epoch ends before. May be repeated.
  void Recruit(uint64_t epoch, const Node& recruit, Ticket ticket,
               absl::Duration now, Effects* effects);

  // Holds new pushes back; done (with `last`) when all members have the whole
  // log. Void after a lease: Aborted, and pushes go on. May be repeated.
  void HandOver(uint64_t epoch, Ticket ticket, absl::Duration now,
                Effects* effects);

  // Cuts, of a primary; else Aborted. A cut that is void stays so ------------

  // Stages new entries from now on. By rank, the clock that this partition
  // says: docs/fault-tolerance.md; `at_rest`: the entry that is next. The hold
  // ends by itself after a lease.
  absl::StatusOr<std::vector<Clock>> BeginCut(uint64_t cut, bool at_rest,
                                              absl::Duration now,
                                              Effects* effects);

  // Lets entries below `clocks` pass, copies itself when every rank stands
  // there, is done then, and goes on. Begins the hold where that was not done,
  // for clocks that no rank has passed. `since`: layout and version of an
  // earlier copy, to copy what changed after it alone; {0, 0}, and another
  // replica's: all.
  //
  // `at_rest` (bsp; one clock for all ranks): it copies itself when the slowest
  // rank stands there, without the entries of others that wait for that one.
  struct Since {
    uint64_t layout = 0;
    uint64_t version = 0;
  };
  void TakeCut(uint64_t cut, std::vector<Clock> clocks, bool at_rest,
               Since since, Ticket ticket, absl::Duration now,
               Effects* effects);

  // The copy, once, after TakeCut was done. Errors: NotFound.
  absl::StatusOr<PartitionCopy> MoveCopy(uint64_t cut);

  // Ends the hold, frees the copy; the cut, and older ones, are void from now
  // on. Changes nothing where it is not known.
  void DropCut(uint64_t cut, absl::Duration now, Effects* effects);

  // Other replicas, and time: at any time ------------------------------------

  // Whatever does not fit (epoch, incarnations, place) is ignored.
  void OnPeerMessage(PeerMessage message, absl::Duration now, Effects* effects);

  // What was sent to that incarnation since the last call may be lost.
  void OnLinkBroken(uint64_t peer, absl::Duration now, Effects* effects);

  // Call it about ten times in a lease, with a peer or without: it sends
  // again, pings, and ends what has a time.
  void OnTick(absl::Duration now, Effects* effects);

  // Members and recruits that a primary has waited for in vain for a lease,
  // or that are divergent: for the scheduler to leave out.
  std::vector<Node> Complaints(absl::Duration now) const;

  // Ends -----------------------------------------------------------------

  // Ends all waiting pulls, and whatever comes later, with kFailed and this
  // reason: the server cannot go on with the partition.
  void Fail(std::string reason, absl::Duration now, Effects* effects);

  // Why the partition cannot go on; empty while all is well.
  const std::string& failure() const;

  // Answers everything that waits with kNotHere: the partition goes away.
  void Close(Effects* effects);

  // Looking ----------------------------------------------------------------

  ReplicaState State() const;
  ReplicaDuty duty() const { return duty_; }
  bool leads() const { return duty_ == ReplicaDuty::kLead; }
  uint64_t epoch() const { return epoch_; }
  // Whether there is a state: not while it joins, and not after kDrop.
  bool holds() const { return state_ != nullptr; }
  // Requires: holds().
  const PartitionState& state() const { return *state_; }
  const PartitionOptions& options() const { return options_; }
  // Of the log: what all members have, as far as is known here.
  uint64_t commit() const { return tail_.commit(); }
  // Members that a primary waits for, without itself; the recruit too, once it
  // does.
  size_t awaited() const;
  size_t parked() const { return parked_.size(); }
  // Answers that wait until something is confirmed, or until somebody else may
  // answer no more.
  size_t pending() const { return pending_.size(); }
  // Whether a message would bring about its own work alone: no pull, entry or
  // answer waits, and no cut or hand-over is under way.
  bool IsFree() const;
  // Repeats under bsp whose bytes differed from their original's: a model or
  // reader that is not deterministic.
  uint64_t differing_repeats() const { return differing_repeats_; }
  // Rows, index, and everything that waits.
  size_t bytes() const;

 private:
  // What leaves when the log up to `number` is confirmed.
  struct Pending {
    uint64_t number = 0;
    std::variant<Answer, Done> what;
    std::optional<PullMessage> pull;  // Of a pull's answer.
    std::optional<uint32_t> rank;     // Of a BeginAttempt.
  };
  // A hand-over, or the end of one: new pushes are held back.
  struct HandingOver {
    absl::Duration until;
    std::vector<Ticket> tickets;  // Not answered yet.
  };
  using Body = decltype(PeerMessage::body);

  // partition.cc: duties, and what leaves when.
  void BecomePrimary(const ReplicaOrder& order, absl::Duration now,
                     Effects* effects);
  void EndEpoch(bool still_leads, Effects* effects);
  void RefuseAll(const PartOutcome& why, Effects* effects);
  void FreeState();
  // `list`: the record's keys, if they are one.
  template <typename Record>
  void Append(Record&& record, KeyList* list = nullptr) {
    static_assert(!std::is_lvalue_reference_v<Record>);
    AppendShared(std::make_shared<const LogRecord>(std::move(record)), list);
  }
  void AppendShared(RecordPtr record, KeyList* list);
  // A newer epoch was heard of, whose order has not come yet.
  bool Deaf() const { return heard_epoch_ > epoch_; }
  // What all have confirmed that are waited for; nullopt while nothing may
  // leave.
  std::optional<uint64_t> Acknowledged(absl::Duration now) const;
  // Alone, with nothing that waits: what is in the log is confirmed.
  bool LeavesAtOnce(absl::Duration now) const {
    return peers_.empty() && pending_.empty() && Acknowledged(now).has_value();
  }
  bool NeedsLease() const;
  absl::Duration LeaseEnd() const;
  // A primary's end of every call: copies, reads, forwards and answers what is
  // due.
  void Finish(absl::Duration now, Effects* effects);
  void Settle(absl::Duration now, Effects* effects);
  void Leave(Pending pending, absl::Duration now, Effects* effects);
  void Send(uint64_t to, Body body, Effects* effects);
  void SendAll(uint64_t to, PeerLink::Bodies bodies, Effects* effects);
  Answer AnswerTo(Ticket ticket, PartOutcome outcome) const;
  Done DoneWith(Ticket ticket, absl::Status status) const;
  void EndTickets(std::vector<Ticket>* tickets, const absl::Status& status,
                  Effects* effects) const;
  PartOutcome NotLedHere() const;

  // partition_clients.cc
  absl::Status CheckShape(const PushMessage& message) const;
  // Errors: as FunctionRegistry::PlanLogged.
  absl::Status CheckCall(const FunctionCall& call) const;
  // What a push is refused with; kOk for one that is new; nullopt for a repeat.
  std::optional<PartOutcome> Judge(const PushMessage& message);
  std::optional<PartOutcome> JudgeRank(const PushMessage& message);
  std::optional<PartOutcome> JudgeSession(const PushMessage& message) const;
  PartOutcome CheckRank(RankName name) const;
  PartOutcome CheckEpoch(uint64_t epoch) const;
  PartOutcome CheckPull(const PullMessage& message) const;
  uint32_t AttemptOf(uint32_t rank) const;
  // Whether a cut or a hand-over holds it back.
  bool MustHold(const PushMessage& message, const PartOutcome& verdict) const;
  void TakePush(PushMessage&& message, absl::Duration now, Effects* effects);
  void AppendPush(PushMessage&& message);
  // The record of a session's call. Errors: the function's, and
  // InvalidArgument for rows that cannot be written.
  absl::StatusOr<CallRecord> MakeCall(const PushMessage& message) const;
  // Acknowledges when everything that is in the log now is confirmed.
  void Acknowledge(Ticket ticket, absl::Duration now, Effects* effects);
  void ReleaseHeld(absl::Duration now, Effects* effects);
  void RefuseOlderAttempts(uint32_t rank, Effects* effects);
  // The answer to a pull, if its rows can be read.
  std::optional<Answer> TryPull(const PullMessage& message) const;
  Answer ReadFunction(const PullMessage& message) const;
  // Ends a waiting pull that `repeat` is a repeat of.
  void ReplaceParked(const PullMessage& repeat, Effects* effects);
  void AnswerPull(PullMessage message, absl::Duration now, Effects* effects);
  void AnswerParked(absl::Duration now, Effects* effects);
  absl::StatusOr<LoadRecord> MakeLoad(std::vector<Key> keys,
                                      std::vector<float> values) const;

  // partition_peers.cc
  PeerLink* FindPeer(uint64_t incarnation);
  void OnPeer(PeerLink* peer, const PeerMessage& message, absl::Duration now);
  void Pump(absl::Duration now, Effects* effects);
  void GiveSnapshot(PeerLink* peer, absl::Duration now);
  void ServeRecruit(absl::Duration now, Effects* effects);
  absl::Status CheckOrder(uint64_t epoch) const;
  void OnPrimary(PeerMessage message, absl::Duration now, Effects* effects);
  void OnForward(const ForwardRecord& forward, absl::Duration now,
                 Effects* effects);
  void OnPing(const PingReplica& ping, absl::Duration now, Effects* effects);
  void OnPiece(SnapshotPiece piece, absl::Duration now, Effects* effects);
  void Tell(uint64_t question, Effects* effects);
  void Confirm(LogPosition last, uint64_t sent_ms, absl::Duration now,
               Effects* effects);
  void HearCommit(uint64_t commit);
  bool Diverges(LogPosition theirs) const;
  void BecomeDivergent();
  absl::StatusOr<std::unique_ptr<PartitionState>> TakeSnapshot() const;
  absl::Status CheckRecord(const LogRecord& record) const;

  // partition_cuts.cc
  std::vector<Clock> NextClocks() const;
  bool CopyIfDue(absl::Duration now, Effects* effects);
  void LeaveCutBehind(uint64_t cut, absl::string_view why, absl::Duration now,
                      Effects* effects);
  void VoidCut(absl::string_view why, absl::Duration now, Effects* effects);

  const PartitionOptions options_;
  const ReplicaSetup replica_;
  const MakeStore make_store_;
  std::unique_ptr<PartitionState> state_;
  LogTail tail_;
  std::string failure_;  // Of this replica alone, not from the log.

  uint64_t epoch_ = 0;
  ReplicaDuty duty_ = ReplicaDuty::kCollect;
  uint64_t heard_epoch_ = 0;
  uint64_t primary_ = 0;  // Whom to follow.
  size_t members_ = 0;

  // A backup.
  bool aligned_ = false;    // The last position is known to be the primary's.
  bool divergent_ = false;  // ... or not to be.
  bool told_gap_ = false;
  std::optional<absl::Duration> last_confirmed_at_;  // To anyone.
  SnapshotIntake intake_;

  // A primary.
  std::vector<PeerLink> peers_;
  std::vector<Ticket> recruit_tickets_;
  uint64_t last_snapshot_ = 0;
  absl::Duration quiet_until_ = -absl::InfiniteDuration();
  absl::Duration last_tick_ = -absl::InfiniteDuration();
  bool promoted_ = false;  // It was no primary in the epoch before.
  std::deque<Pending> pending_;
  std::vector<PullMessage> parked_;
  std::list<PushMessage> held_;
  size_t held_bytes_ = 0;
  ChunkStage stage_;
  std::map<uint32_t, uint32_t> fenced_;  // A planted bug's.
  std::optional<HandingOver> handing_over_;
  CutHold cut_;
  Since cut_since_;
  uint64_t differing_repeats_ = 0;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_PARTITION_H_
