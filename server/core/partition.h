// One partition of a table as its primary serves it.
#ifndef SERAPH_SERVER_CORE_PARTITION_H_
#define SERAPH_SERVER_CORE_PARTITION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/core/partition_messages.h"
#include "server/core/partition_state.h"

namespace seraph {

// A state machine without IO: messages go in, answers come out, some of them
// later and on another message's call. It refuses what does not fit, stages
// chunks, appends to the log, and parks pulls until they may be answered.
//
// What it promises, whatever is lost, repeated or reordered on the way:
//   * The log takes a rank's entries in order and without gaps, each once. A
//     repeat is acknowledged when its original would be, and changes nothing.
//   * An entry is one unit: its chunks become it when the last is there.
//   * A refused message changes nothing.
//   * A pull at a clock is answered as PartitionState says, else it waits; a
//     wait costs memory only.
//
// Threads: one at a time.
class Partition {
 public:
  Partition(uint64_t epoch, PartitionOptions options,
            std::unique_ptr<RowStore> store);

  // Begins attempt `rank.attempt` of a rank: fences older ones, drops their
  // staged chunks, answers their waiting pulls with kStaleAttempt. A repeat
  // changes nothing.
  //
  // Errors, which leave everything as it was: InvalidArgument (no such rank),
  // Aborted (a later attempt has begun).
  absl::Status BeginAttempt(RankName rank, std::vector<Answer>* answers);

  // Each message is answered exactly once, now or later; `answers` takes all
  // that became due.
  void Push(PushMessage message, std::vector<Answer>* answers);
  void Pull(PullMessage message, std::vector<Answer>* answers);

  // Ends all waiting pulls, and whatever comes later, with kFailed and this
  // reason: the server cannot go on with the partition.
  void Fail(std::string reason, std::vector<Answer>* answers);

  // Why the partition cannot go on; empty while all is well.
  const std::string& failure() const {
    return failure_.empty() ? state_.failure() : failure_;
  }

  // Ends all waiting pulls with kNotHere: the partition goes away.
  void Close(std::vector<Answer>* answers);

  // Rows for a start from a saved model, keys mixed, in any order.
  // Errors: as RowStore; FailedPrecondition once the log has a record.
  absl::Status Load(std::vector<Key> keys, std::vector<float> values);

  const PartitionState& state() const { return state_; }
  uint64_t epoch() const { return epoch_; }
  size_t parked() const { return parked_.size(); }
  // Repeats under bsp whose bytes differed from their original's: a model or
  // reader that is not deterministic.
  uint64_t differing_repeats() const { return differing_repeats_; }
  size_t bytes() const { return state_.bytes() + staged_bytes_; }

 private:
  // The chunks of an entry that is not whole yet.
  struct Staged {
    RankName rank;
    Clock clock;
    std::vector<std::optional<PushMessage>> chunks;
    size_t missing = 0;
  };

  absl::Status CheckShape(const PushMessage& message) const;
  // What a push is refused with; kOk for one that is new; nullopt for a repeat.
  std::optional<PartOutcome> Judge(const PushMessage& message);
  std::optional<PartOutcome> JudgeRank(const PushMessage& message);
  std::optional<PartOutcome> JudgeSession(const PushMessage& message) const;
  // Whether `name` may speak at all.
  PartOutcome CheckRank(RankName name) const;
  // Adds a chunk; the whole entry when it was the last one missing.
  absl::StatusOr<std::optional<PushMessage>> Stage(PushMessage message);
  void DropStaged(uint32_t rank);
  void Append(PushMessage message);

  Answer AnswerTo(Ticket ticket, PartOutcome outcome) const;
  PartOutcome StaleEpoch(uint64_t epoch) const;
  // Whether a pull can be answered at any time.
  PartOutcome CheckPull(const PullMessage& message) const;
  // The answer to a pull, if it is due.
  std::optional<Answer> TryPull(const PullMessage& message) const;
  void AnswerParked(std::vector<Answer>* answers);

  const uint64_t epoch_;
  PartitionState state_;
  std::map<uint32_t, Staged> staged_;  // By rank.
  size_t staged_bytes_ = 0;
  std::vector<PullMessage> parked_;
  uint64_t differing_repeats_ = 0;
  std::string failure_;  // Of this replica alone, not from the log.
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_PARTITION_H_
