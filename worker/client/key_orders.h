// The orders in which a rank's latest keys travel.
#ifndef SERAPH_WORKER_CLIENT_KEY_ORDERS_H_
#define SERAPH_WORKER_CLIENT_KEY_ORDERS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/base/key_sorter.h"
#include "common/table/table_spec.h"

namespace seraph {

// Keys of a scrambled table by mixed key, and where each came from.
struct KeyOrder {
  std::vector<Key> given;        // [n] original, strictly increasing.
  std::vector<Key> mixed;        // [n] ascending.
  std::vector<uint32_t> origin;  // [n] mixed[i] is given[origin[i]], mixed.
};

// A batch's keys are pulled, and some clocks later pushed: mixing and sorting
// them, the most of what a message costs its sender, is done once. Whether keys
// are the same is seen by comparing them.
//
// Threads: one at a time.
class KeyOrders {
 public:
  // Of these all that a pipeline has under way should find place; and so many
  // bytes, which only the latest one may exceed.
  static constexpr size_t kMost = 16;
  static constexpr size_t kMostBytes = size_t{32} << 20;

  // The order of `keys` (original, strictly increasing), the one from before if
  // they are those of one of the latest calls for the table.
  std::shared_ptr<const KeyOrder> Of(uint32_t table, const TableSpec& spec,
                                     absl::Span<const Key> keys);

  size_t bytes() const { return bytes_; }
  uint64_t found() const { return found_; }  // Calls that sorted nothing.

 private:
  struct Known {
    uint32_t table = 0;
    std::shared_ptr<const KeyOrder> order;
  };

  std::shared_ptr<const KeyOrder> Sort(const TableSpec& spec,
                                       absl::Span<const Key> keys);

  std::list<Known> latest_;  // The last one that was used comes first.
  size_t bytes_ = 0;         // Of `latest_`.
  uint64_t found_ = 0;
  std::vector<NumberedKey> numbered_;
  KeySorter sorter_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_KEY_ORDERS_H_
