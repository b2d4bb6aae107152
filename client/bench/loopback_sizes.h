// What one measured request moves over the network.
#ifndef SERAPH_CLIENT_BENCH_LOOPBACK_SIZES_H_
#define SERAPH_CLIENT_BENCH_LOOPBACK_SIZES_H_

#include <cstdint>

#include "absl/time/time.h"

namespace seraph {

// Of bare exchanges that move as much, as often.
struct LoopbackLoad {
  uint64_t request_bytes = 1;  // >= 1
  uint64_t reply_bytes = 1;    // >= 1
  uint32_t in_flight = 1;      // On each connection.
  uint32_t connections = 1;
  absl::Duration duration;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_LOOPBACK_SIZES_H_
