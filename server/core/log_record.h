// What the log of a partition is made of.
#ifndef SERAPH_SERVER_CORE_LOG_RECORD_H_
#define SERAPH_SERVER_CORE_LOG_RECORD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/base/clock.h"
#include "common/base/float_buffer.h"
#include "common/base/key.h"
#include "common/base/key_set.h"
#include "common/cluster/replica.h"
#include "common/functions/function_call.h"

namespace seraph {

// Which life of which rank speaks.
struct RankName {
  uint32_t rank = 0;
  uint32_t attempt = 0;

  friend bool operator==(const RankName&, const RankName&) = default;
};

// What a rank tells the job's ledger with an entry. All values run from the
// epoch's start, so that taking one twice, or going back, stays right.
struct LedgerRecord {
  Clock clock;                  // Of the entry that carried it.
  uint32_t position_epoch = 0;  // Where the rank's data stand after it ...
  uint64_t position_record = 0;
  std::vector<double> sums;  // ... and its metrics, as MetricSums lists them.

  friend bool operator==(const LedgerRecord&, const LedgerRecord&) = default;
};

// "Attempt n of rank r begins": from here on older attempts are refused.
struct AttemptRecord {
  RankName rank;
};

// All that a rank does to the partition in one clock: the push of its keys
// there (possibly none), its function calls, and the mark that the clock is
// finished.
struct EntryRecord {
  RankName rank;
  Clock clock;
  bool ends_epoch = false;  // No records left: the rank goes to (epoch+1, 0).
  uint64_t examples = 0;    // In the rank's minibatch.
  KeySet keys;              // [n], strictly increasing, of the store's order.
  FloatBuffer values;       // [n * width], row-major.
  LedgerRecord ledger;      // Kept by the ledger partition alone.
  // Built-in functions that write, over this partition's rows alone: each
  // replica runs them, after the entry's step (bsp: the clock's).
  std::vector<FunctionCall> calls;
};

// A push of a client that is no rank, named (session, number). ssp, asp only.
struct SessionRecord {
  uint64_t session = 0;
  uint64_t number = 0;  // 1, 2, 3, ... in each session.
  KeySet keys;
  FloatBuffer values;
};

// A session's call of a function that writes, named like its pushes and counted
// with them. ssp, asp only.
struct CallRecord {
  uint64_t session = 0;
  uint64_t number = 0;
  FunctionCall call;
  // The rows that the primary has computed, once, and their values: it need not
  // be that another replica would compute the same. Else each runs the call.
  bool has_effect = false;
  std::vector<Key> keys;
  std::vector<float> values;
};

// Rows of a saved model that the job starts from; before any entry.
struct LoadRecord {
  std::vector<Key> keys;  // [n], strictly increasing.
  std::vector<float> values;
};

using LogRecord = std::variant<AttemptRecord, EntryRecord, SessionRecord,
                               LoadRecord, CallRecord>;

// Records never change: the log, what is kept of them, and messages to other
// replicas share them.
using RecordPtr = std::shared_ptr<const LogRecord>;

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_LOG_RECORD_H_
