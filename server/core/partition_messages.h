// What goes into a replica of a partition and what comes out of it.
#ifndef SERAPH_SERVER_CORE_PARTITION_MESSAGES_H_
#define SERAPH_SERVER_CORE_PARTITION_MESSAGES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/clock.h"
#include "common/base/float_buffer.h"
#include "common/base/key_set.h"
#include "common/functions/partial_result.h"
#include "server/core/log_record.h"
#include "server/core/peer_message.h"
#include "server/core/rank_progress.h"
#include "server/functions/function.h"
#include "server/store/resolved_rows.h"

namespace seraph {

// The outcome of a request at one partition; proto/parameters.proto has the
// same codes with their meaning for a client.
enum class PartCode {
  kOk,
  kNotHere,
  kStaleEpoch,
  kStaleAttempt,
  kUnknownAttempt,
  kExpectedClock,
  kInvalid,
  kRetryAfter,
  kFailed,
  kReplaced,
  kFunctionFailed,
  kUnknownList,
};

// Its order is that of the least bytes: glibc keeps the answers to a request
// of eight parts at hand, but no larger piece of memory.
struct PartOutcome {
  PartCode code = PartCode::kOk;
  uint32_t retry_after_ms = 0;  // With kRetryAfter.
  std::string message;          // Empty with kOk.
  Clock expected;               // With kExpectedClock.
};

// Names a request to whoever sent it; the partition hands it back.
using Ticket = uint64_t;

struct PullMessage {
  Ticket ticket = 0;
  uint64_t epoch = 0;
  std::optional<RankName> rank;  // Absent: a client that is no rank.
  std::optional<Clock> clock;    // Absent: the last applied state.
  uint64_t number = 0;           // Of the attempt's pulls; 0: it has none.
  KeySet keys;                   // Mixed keys.
  // In place of keys: ones that have been checked and come again.
  std::shared_ptr<KeyList> list;
  // In place of keys: a function that reads the rows as this pull would.
  std::shared_ptr<const PlannedCall> call;

  KeySpan Keys() const {
    return list == nullptr ? keys.span() : KeySpan(list->keys());
  }
};

// A whole entry, or one chunk of it.
struct PushMessage {
  Ticket ticket = 0;
  uint64_t epoch = 0;
  std::optional<RankName> rank;
  Clock clock;           // With a rank.
  uint64_t session = 0;  // Without one ...
  uint64_t number = 0;   // ... and the push's number in the session.
  bool ends_epoch = false;
  uint64_t examples = 0;
  uint32_t chunk = 0;  // Of `chunks`; keys ascend over all chunks.
  uint32_t chunks = 1;
  KeySet keys;         // Mixed keys.
  FloatBuffer values;  // [n * width].
  // Values before this one are known to be finite.
  size_t known_finite = 0;
  // Null, or the keys once more: they have been checked and come again.
  std::shared_ptr<KeyList> list;
  LedgerRecord ledger;
  std::vector<FunctionCall> calls;  // With a rank; see EntryRecord.
  // With a session, in place of keys: a function that writes.
  std::shared_ptr<const PlannedCall> call;
};

// To a push or a pull.
struct Answer {
  Ticket ticket = 0;
  PartOutcome outcome;
  uint64_t epoch = 0;     // The partition's.
  uint64_t position = 0;  // Log records that the answer reflects.
  FloatBuffer values;     // Of a pull that is kOk.
  std::shared_ptr<const PartialResult> result;  // ... of a function.
  // A lease ends then: whoever sends the answer looks at the clock AFTER the
  // call that gave it, and sends kRetryAfter in its place when it is later.
  absl::Duration valid_until = absl::InfiniteDuration();
};

// To anything else: BeginAttempt, Load, Recruit, HandOver, TakeCut.
struct Done {
  Ticket ticket = 0;
  absl::Status status;
  uint64_t epoch = 0;         // The replica's.
  RankProgress progress;      // BeginAttempt: of the rank.
  LogPosition last;           // HandOver: confirmed by all members.
  std::vector<Clock> clocks;  // TakeCut: by rank, where each stood.
};

// What a call brings about. Methods append to it.
struct Effects {
  absl::InlinedVector<Answer, 1> answers;
  std::vector<Done> done;
  // In the order in which each receiver must get them; what gets lost is sent
  // again by the replicas themselves.
  std::vector<PeerMessage> messages;
};

// Turns answers whose lease is over at `now` into kRetryAfter.
void ExpireAnswers(absl::Duration now, absl::Span<Answer> answers);

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_PARTITION_MESSAGES_H_
