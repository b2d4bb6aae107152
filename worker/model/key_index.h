// The distinct keys of a batch, ascending, and where each entry's key is.
#ifndef SERAPH_WORKER_MODEL_KEY_INDEX_H_
#define SERAPH_WORKER_MODEL_KEY_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/base/key_sorter.h"

namespace seraph {

// Work and memory for nnz keys, n of them distinct, the largest one k:
//   a bitmap over [0, k]        O(nnz + k / 64), when k is at most 256 nnz;
//   hashing, then a sort        else: see KeySorter.
// The result is a function of the keys alone, whichever way is taken.
//
// Threads: one at a time; the memory is kept for the next call.
class KeyIndex {
 public:
  // Sets `distinct` [n] to the keys, strictly increasing, and `positions` [nnz]
  // so that (*distinct)[positions[i]] == keys[i].
  //
  // Requires: fewer than 2^32 keys.
  void Build(absl::Span<const Key> keys, std::vector<Key>* distinct,
             std::vector<uint32_t>* positions);

 private:
  struct Slot {
    Key key = 0;
    uint32_t id = 0;     // In the order of the first occurrence.
    uint32_t build = 0;  // The call that filled it; others count as free.
  };
  void BuildByBitmap(absl::Span<const Key> keys, Key largest,
                     std::vector<Key>* distinct,
                     std::vector<uint32_t>* positions);
  void BuildByHash(absl::Span<const Key> keys, std::vector<Key>* distinct,
                   std::vector<uint32_t>* positions);

  std::vector<uint64_t> bits_;   // A bit for each key; all 0 between calls.
  std::vector<uint32_t> below_;  // Keys before each word of bits_.

  std::vector<Slot> slots_;  // A power of two, at least twice the keys.
  uint32_t build_ = 0;
  std::vector<NumberedKey> numbered_;  // By id.
  KeySorter sorter_;
  std::vector<uint32_t> position_of_id_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_MODEL_KEY_INDEX_H_
