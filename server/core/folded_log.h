// What a log prefix determines, apart from the rows.
#ifndef SERAPH_SERVER_CORE_FOLDED_LOG_H_
#define SERAPH_SERVER_CORE_FOLDED_LOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "server/core/log_record.h"
#include "server/core/rank_progress.h"
#include "server/core/sightings.h"
#include "server/store/overwritten.h"
#include "server/update/lazy_terms.h"

namespace seraph {

// Plain data: with the rows, the state of a partition at one log position, and
// so what a snapshot holds. Maps, so that its order is one.
struct FoldedLog {
  uint64_t records = 0;  // Folded so far: the number of the last one.
  // The first record of each epoch that has one, ascending. They say whether a
  // position lies in the log.
  std::vector<LogPosition> epoch_starts;
  bool trained = false;  // It has a record other than rows of a saved model.

  std::vector<RankProgress> ranks;
  std::map<uint64_t, uint64_t> sessions;  // Last number of each.
  LazySums sums;
  uint64_t skipped_rows = 0;
  // In snapshots; PartitionState has them in another form.
  Sightings sightings;
  // Table, key, clock and rank of the first value that was not finite.
  std::string failure;

  // bsp: entries of clocks that are not complete, by rank.
  std::map<Clock, std::map<uint32_t, RecordPtr>> waiting;
  // bsp: everything below `applied` is applied; `previous` is the clock applied
  // last, and `overwritten` what that changed.
  Clock applied;
  std::optional<Clock> previous;
  Overwritten overwritten;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_FOLDED_LOG_H_
