// How a rank stands in a partition.
#ifndef SERAPH_SERVER_CORE_RANK_PROGRESS_H_
#define SERAPH_SERVER_CORE_RANK_PROGRESS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/clock.h"
#include "server/core/log_record.h"

namespace seraph {

struct RankProgress {
  uint32_t attempt = 0;             // The last one begun; 0: none yet.
  Clock next;                       // The entry that the log takes next.
  std::optional<Clock> last_entry;  // Of the entry before that.
  uint64_t last_checksum = 0;       // bsp: of last_entry's keys and values.
  // The ledger partition alone: the last records, newest first, at most
  // pipeline + 2 of them, and one record for the end of each finished epoch.
  std::vector<LedgerRecord> ledger;
  std::vector<LedgerRecord> epoch_ends;

  friend bool operator==(const RankProgress&, const RankProgress&) = default;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_RANK_PROGRESS_H_
