// What a server holds, as it tells the scheduler when it registers.
#ifndef SERAPH_COMMON_CLUSTER_HELD_PARTITION_H_
#define SERAPH_COMMON_CLUSTER_HELD_PARTITION_H_

#include <cstdint>
#include <string>

namespace seraph {

// Plain data; proto/cluster.proto has the same fields.
struct HeldPartition {
  std::string job;
  uint64_t generation = 0;
  uint32_t table = 0;
  uint32_t partition = 0;
  uint64_t epoch = 0;  // The highest seen.

  friend bool operator==(const HeldPartition&, const HeldPartition&) = default;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CLUSTER_HELD_PARTITION_H_
