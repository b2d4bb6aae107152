// A job on servers and ranks in one thread.
#ifndef SERAPH_TESTS_SIM_TRAINING_SIM_H_
#define SERAPH_TESTS_SIM_TRAINING_SIM_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "common/base/draw.h"
#include "common/concurrent/executor.h"
#include "common/table/table_spec.h"
#include "server/core/sync_policy.h"
#include "server/service/job_directory.h"
#include "server/service/parameter_calls.h"
#include "worker/client/table_client.h"
#include "worker/model/model.h"
#include "worker/train/rank_machine.h"

namespace seraph::testing {

// The shape of the cluster and the weather on its network. All choices follow
// from `seed`: which message is delivered next, what is lost or duplicated.
struct SimWeather {
  uint64_t seed = 1;
  int servers = 1;
  double lose = 0;       // Of requests, and of replies.
  double duplicate = 0;  // Of requests.
  // The last server is slow: so many of the requests to it wait, each time it
  // is their turn, for another one. The others run ahead as far as they may.
  double slow = 0;
  // At most so many workers crash, each time with this chance at a step of the
  // simulation, and their ranks are handed out anew. Half of them are only
  // thought dead and go on beside their successors. What a dead one had sent
  // still arrives.
  int crashes = 0;
  double crash = 0.01;
  size_t max_message_bytes = size_t{16} << 20;
};

struct SimJob {
  ModelSpec model;
  std::vector<TableSpec> tables;
  SyncPolicy sync;
  uint32_t epochs = 2;
  size_t batch_size = 4;
  // By rank: its records, the same in every epoch.
  std::vector<Batch> data;
};

struct SimResult {
  bool ended = false;  // Every rank is done.
  std::string digest;
  int lost = 0;  // Requests and replies.
  int duplicated = 0;
  int crashes = 0;
  // Repeated entries (bsp) whose bytes were not those of the first.
  uint64_t differing_repeats = 0;
  std::vector<MetricSums> sums;  // Of the last epoch, by rank.
};

// Runs the job until every rank has ended or nothing moves any more.
SimResult RunSim(const SimJob& job, const SimWeather& weather);

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_TRAINING_SIM_H_
