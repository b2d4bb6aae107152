// A partition on a few servers that crash, stop and hear late, a scheduler of a
// few lines, and clients that check what they are told: all from one seed.
#ifndef SERAPH_SERVER_CORE_REPLICATION_MODEL_H_
#define SERAPH_SERVER_CORE_REPLICATION_MODEL_H_

#include <cstdint>
#include <string>

#include "common/job/sync_spec.h"

namespace seraph::testing {

struct ModelOptions {
  uint64_t seed = 0;
  SyncMode mode = SyncMode::kAsp;
  int servers = 4;
  int replicas = 3;
  int faults = 12;       // Crashes, suspicions, moves and pauses together.
  double lose = 0.05;    // Of each message.
  double repeat = 0.05;  // Arrives again, later.
  uint32_t clocks = 25;  // That each rank finishes.
  // The scheduler makes a primary in one epoch, without asking all.
  bool collects = true;
};

struct ModelResult {
  // The first promise that was broken; empty if all were kept.
  std::string violation;
  // That the weather was one.
  int crashes = 0;
  int suspicions = 0;
  int moves = 0;
  int pauses = 0;
  int promotions = 0;
  int recruits = 0;
  int attempts = 0;
  int lost = 0;
  int repeated = 0;
  int pulls = 0;
  int compared = 0;  // Snapshots of two replicas at one position.
};

// Runs until every rank has finished its clocks. Checks: every push counts
// once; no pull misses what was acknowledged before it was sent (asp), the own
// entries (ssp), or differs from its clock (bsp); two replicas at one position
// hold the same bytes; and it comes to an end.
ModelResult RunModel(const ModelOptions& options);

}  // namespace seraph::testing

#endif  // SERAPH_SERVER_CORE_REPLICATION_MODEL_H_
