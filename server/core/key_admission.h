// Which pushes of missing keys count.
#ifndef SERAPH_SERVER_CORE_KEY_ADMISSION_H_
#define SERAPH_SERVER_CORE_KEY_ADMISSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/table/table_spec.h"
#include "server/core/sightings.h"
#include "server/store/row_store.h"

namespace seraph {

// Counts how often missing keys of a partition are pushed, until they are
// admitted. Counts are exact, 15 bytes a key that waits: nothing depends on
// which other keys there are, and so on how the table is cut into partitions.
//
// Threads: one at a time.
class KeyAdmission {
 public:
  // For a table with admit_after above 1; `range` is the partition's.
  KeyAdmission(const TableSpec& table, const KeyRange& range);

  // Before the first Admit: goes on from these.
  // Requires: keys strictly increase, inside the range.
  void Restore(const Sightings& sightings);

  // Counts `times` [keys] (empty: once each) for the keys that do not exist in
  // `store`, and returns the indices of those that exist or are admitted,
  // ascending.
  std::vector<size_t> Admit(const RowStore& store, absl::Span<const Key> keys,
                            absl::Span<const uint8_t> times);

  // Forgets what was admitted: from now on a key that goes is counted anew.
  void EndEpoch();

  Sightings sightings() const;
  size_t bytes() const { return counts_->bytes(); }

 private:
  const float admit_after_;
  // A table of the optimizer sum, one value a key: the count.
  const std::unique_ptr<RowStore> counts_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_KEY_ADMISSION_H_
