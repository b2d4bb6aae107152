// Where the row of a key lies.
#ifndef SERAPH_SERVER_STORE_KEY_INDEX_H_
#define SERAPH_SERVER_STORE_KEY_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/hash/hash.h"
#include "common/base/key.h"

namespace seraph {

// Keys and the numbers of their rows: a hash table of open addressing, probed
// linearly, at most three quarters full. Rows are looked up in batches, so what
// counts is that a key's place is known without reading memory, and that it is
// one place: it is prefetched while other keys are looked up.
//
// Threads: const methods may run side by side; any other alone.
class KeyIndex {
 public:
  static constexpr uint32_t kMissing = ~uint32_t{0};

  KeyIndex();

  // Fetches what Find(key) reads first.
  void Prefetch(Key key) const { __builtin_prefetch(&entries_[Home(key)]); }

  // The row of `key`, or kMissing.
  uint32_t Find(Key key) const {
    for (size_t i = Home(key);; i = (i + 1) & mask_) {
      const Entry& entry = entries_[i];
      // A free entry has a key like any other, so rows tell.
      if (entry.key == key || entry.row == kMissing) return entry.row;
    }
  }

  // Requires: Find(key) == kMissing, row != kMissing.
  void Insert(Key key, uint32_t row);

  size_t size() const { return size_; }
  size_t bytes() const { return (mask_ + 1) * sizeof(Entry); }

 private:
  // Without padding, since there are up to three for each key.
  struct __attribute__((packed, aligned(4))) Entry {
    Key key = 0;
    uint32_t row = kMissing;
  };

  // Its place, if that is free: the upper bits of a hash that is another one in
  // each process.
  size_t Home(Key key) const { return absl::Hash<Key>()(key) >> shift_; }

  void Place(Key key, uint32_t row);
  void Grow();

  std::unique_ptr<Entry[]> entries_;
  size_t mask_;  // Entries, a power of two, less one.
  int shift_;
  size_t size_ = 0;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_KEY_INDEX_H_
