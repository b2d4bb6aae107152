// What one step of a partition overwrote.
#ifndef SERAPH_SERVER_STORE_OVERWRITTEN_H_
#define SERAPH_SERVER_STORE_OVERWRITTEN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/key_set.h"
#include "server/update/lazy_terms.h"

namespace seraph {

// A rank that runs clock c again reads the parameters before clock c although
// the partition has already applied it; until clock c + 1 is applied, this is
// where they are. Plain data, and part of a partition's snapshots.
// Functions that run after the step write rows, too; then those that the step
// did not push are there as well.
struct Overwritten {
  KeySet keys;                // [n], mixed, strictly increasing: all written.
  std::vector<float> values;  // [n * width]: what Read gave before the step.
  std::vector<uint8_t> existed;  // [n]: 0 for a key that the step created.
  LazySums sums;                 // The partition's sums before the step.
};

// Adds the rows of `more` to `into`, whose sums stay. Requires: no key in both.
void MergeOverwritten(const Overwritten& more, size_t width, Overwritten* into);

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_OVERWRITTEN_H_
