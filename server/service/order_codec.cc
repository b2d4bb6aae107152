#include "server/service/order_codec.h"

#include <algorithm>
#include <utility>

#include "common/status/status_macros.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/replica_codec.h"
#include "common/wire/table_codec.h"

namespace seraph {

JobName JobNameOf(const v1::JobRef& job) {
  return {job.id(), job.generation()};
}

absl::StatusOr<JobSetup> SetupFromProto(const v1::JobTables& message) {
  JobSetup setup;
  setup.ranks = message.ranks();
  SERAPH_ASSIGN_OR_RETURN(setup.sync.spec, FromProto(message.sync()));
  setup.sync.epoch_barrier = message.epoch_barrier();
  setup.steps_per_epoch = message.steps_per_epoch();
  setup.epochs = message.epochs();
  setup.skip_non_finite = message.skip_non_finite();
  for (const v1::TableSpec& table : message.tables()) {
    SERAPH_ASSIGN_OR_RETURN(setup.tables.emplace_back(), FromProto(table));
  }
  setup.min_in_sync = std::max(1u, message.min_in_sync());
  if (message.lease_ms() > 0) {
    setup.lease = absl::Milliseconds(message.lease_ms());
  }
  return setup;
}

absl::StatusOr<std::vector<ReplicaOrder>> OrdersFromProto(
    const Repeated<v1::ReplicaOrder>& messages) {
  std::vector<ReplicaOrder> orders;
  for (const v1::ReplicaOrder& message : messages) {
    SERAPH_ASSIGN_OR_RETURN(orders.emplace_back(), FromProto(message));
  }
  return orders;
}

std::vector<Clock> ClocksFromProto(const Repeated<v1::Clock>& messages) {
  std::vector<Clock> clocks;
  for (const v1::Clock& message : messages) {
    clocks.push_back(FromProto(message));
  }
  return clocks;
}

void ClocksToProto(const std::vector<Clock>& clocks,
                   Repeated<v1::Clock>* messages) {
  for (const Clock clock : clocks) ToProto(clock, messages->Add());
}

}  // namespace seraph
