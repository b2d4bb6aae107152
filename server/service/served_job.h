// A job as a server holds it.
#ifndef SERAPH_SERVER_SERVICE_SERVED_JOB_H_
#define SERAPH_SERVER_SERVICE_SERVED_JOB_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/table/table_spec.h"
#include "server/core/sync_policy.h"
#include "server/service/admission.h"
#include "server/service/key_list_cache.h"
#include "server/service/partition_actor.h"

namespace seraph {

// What all partitions of a job need to know.
struct JobSetup {
  uint32_t ranks = 1;
  SyncPolicy sync;
  uint64_t steps_per_epoch = 1;
  uint64_t epochs = 1;
  bool skip_non_finite = false;
  std::vector<TableSpec> tables;
  uint32_t min_in_sync = 1;
  absl::Duration lease = absl::Seconds(5);
};

// One generation of a job on this server, with the replicas that are here now.
// Immutable but for what its actors guard: when replicas come and go another
// one takes its place, with the same actors. Shared with the requests that run.
struct ServedJob {
  using Place = std::pair<uint32_t, uint32_t>;  // Table, partition.

  JobName name;
  std::shared_ptr<const JobSetup> setup;
  std::shared_ptr<JobAdmission> admission;
  std::shared_ptr<KeyListCache> lists;
  std::map<Place, std::shared_ptr<PartitionActor>> partitions;
  // The highest epoch of each that was seen, also of those that are gone.
  std::map<Place, uint64_t> epochs;

  const std::vector<TableSpec>& tables() const { return setup->tables; }

  // Null where this server does not hold it.
  PartitionActor* Find(uint32_t table, uint32_t partition) const {
    const auto it = partitions.find({table, partition});
    return it == partitions.end() ? nullptr : it->second.get();
  }
  // 0: none.
  uint64_t EpochSeen(uint32_t table, uint32_t partition) const {
    const auto it = epochs.find({table, partition});
    return it == epochs.end() ? 0 : it->second;
  }
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_SERVED_JOB_H_
