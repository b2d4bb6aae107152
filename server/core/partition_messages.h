// What goes into a partition and what comes out of it.
#ifndef SERAPH_SERVER_CORE_PARTITION_MESSAGES_H_
#define SERAPH_SERVER_CORE_PARTITION_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/key.h"
#include "server/core/log_record.h"

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
};

struct PartOutcome {
  PartCode code = PartCode::kOk;
  std::string message;          // Empty with kOk.
  Clock expected;               // With kExpectedClock.
  uint32_t retry_after_ms = 0;  // With kRetryAfter.
};

// Names a request to whoever sent it; the partition hands it back.
using Ticket = uint64_t;

struct PullMessage {
  Ticket ticket = 0;
  uint64_t epoch = 0;
  std::optional<RankName> rank;  // Absent: a client that is no rank.
  std::optional<Clock> clock;    // Absent: the last applied state.
  std::vector<Key> keys;         // Mixed keys.
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
  std::vector<Key> keys;      // Mixed keys.
  std::vector<float> values;  // [n * width].
  LedgerRecord ledger;
};

struct Answer {
  Ticket ticket = 0;
  PartOutcome outcome;
  uint64_t epoch = 0;         // The partition's.
  uint64_t position = 0;      // Log records that the answer reflects.
  std::vector<float> values;  // Of a pull that is kOk.
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_PARTITION_MESSAGES_H_
