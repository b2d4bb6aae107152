// Where the rows of a list of keys lie.
#ifndef SERAPH_SERVER_STORE_RESOLVED_ROWS_H_
#define SERAPH_SERVER_STORE_RESOLVED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/key.h"

namespace seraph {

// The rows of keys [n], ascending, in one state of one store. What a store
// fills in and others only hand on.
struct ResolvedRows {
  static constexpr uint32_t kMissing = 0xffffffff;

  // Rows side by side in one block of the store: of the keys from where the run
  // before it ends. Missing keys are of any run.
  struct Run {
    uint32_t end = 0;
    uint32_t block = 0;
    float* rows = nullptr;
  };

  uint64_t places = 0;  // RowStore::places() that the rest is of; 0: none.
  uint64_t asked = 0;   // ... at the last time that it was asked for.
  std::vector<uint32_t> slots;  // [n] index of the row in its run's block.
  std::vector<Run> runs;        // Empty where all keys are missing.
};

// Keys of one partition that come again and again, with what its store
// remembers of them.
class KeyList {
 public:
  // `keys`: as RowStore::CheckKeys wants them.
  explicit KeyList(std::vector<Key> keys) : keys_(std::move(keys)) {}

  KeyList(const KeyList&) = delete;
  KeyList& operator=(const KeyList&) = delete;

  // Threads: any.
  const std::vector<Key>& keys() const { return keys_; }
  // Threads: one at a time: whoever has the partition's turn.
  ResolvedRows* rows() { return &rows_; }

  // With everything that it ever holds.
  static size_t BytesOf(size_t keys) {
    return sizeof(KeyList) + keys * (sizeof(Key) + sizeof(uint32_t));
  }

 private:
  const std::vector<Key> keys_;
  ResolvedRows rows_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_RESOLVED_ROWS_H_
