// What one step of a partition overwrote.
#ifndef SERAPH_SERVER_STORE_OVERWRITTEN_H_
#define SERAPH_SERVER_STORE_OVERWRITTEN_H_

#include <cstdint>
#include <vector>

#include "common/base/key.h"
#include "server/update/lazy_terms.h"

namespace seraph {

// A rank that runs clock c again reads the parameters before clock c although
// the partition has already applied it; until clock c + 1 is applied, this is
// where they are. Plain data, and part of a partition's snapshots.
struct Overwritten {
  std::vector<Key> keys;         // [n], mixed, strictly increasing: all pushed.
  std::vector<float> values;     // [n * width]: what Read gave before the step.
  std::vector<uint8_t> existed;  // [n]: 0 for a key that the step created.
  LazySums sums;                 // The partition's sums before the step.
};

}  // namespace seraph

#endif  // SERAPH_SERVER_STORE_OVERWRITTEN_H_
