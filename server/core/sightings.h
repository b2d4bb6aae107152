// Keys that wait to be admitted.
#ifndef SERAPH_SERVER_CORE_SIGHTINGS_H_
#define SERAPH_SERVER_CORE_SIGHTINGS_H_

#include <cstdint>
#include <vector>

#include "common/base/key.h"

namespace seraph {

// Of a table with admit_after above 1: how often each key has been pushed that
// does not exist, or did not at the end of the epoch before. Plain data, part
// of snapshots and cuts.
struct Sightings {
  std::vector<Key> keys;        // Mixed, strictly increasing.
  std::vector<uint8_t> counts;  // [keys], at least 1; 255: or more.

  friend bool operator==(const Sightings&, const Sightings&) = default;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CORE_SIGHTINGS_H_
