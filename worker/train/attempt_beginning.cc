#include "worker/train/attempt_beginning.h"

#include <algorithm>

#include "common/table/partitioning.h"

namespace seraph {

std::vector<size_t> AttemptBeginning::ServersToAsk(
    const TableRouter& router) const {
  std::vector<size_t> servers;
  for (size_t i = 0; i < begun_.size(); ++i) {
    const size_t server = router.ServerOf(i);
    if (!begun_[i] && server != TableRouter::kNoServer) {
      servers.push_back(server);
    }
  }
  std::sort(servers.begin(), servers.end());
  servers.erase(std::unique(servers.begin(), servers.end()), servers.end());
  return servers;
}

void AttemptBeginning::OnReply(const TableRouter& router,
                               const v1::BeginAttemptReply& reply) {
  bool is_new = false;
  for (const v1::BegunPartition& one : reply.partitions()) {
    if (one.table() >= router.tables().size() ||
        one.partition() >=
            Partitioning(router.tables()[one.table()]).partitions()) {
      continue;
    }
    const size_t place = router.PlacementOf(one.table(), one.partition());
    if (begun_[place]) continue;
    begun_[place] = true;
    ++begun_count_;
    is_new = true;
  }
  if (!is_new) return;
  const Clock least{reply.clock().epoch(), reply.clock().step()};
  const Clock furthest{reply.furthest().epoch(), reply.furthest().step()};
  start_.clock = any_ ? std::min(start_.clock, least) : least;
  start_.furthest = any_ ? std::max(start_.furthest, furthest) : furthest;
  any_ = true;
  start_.ledger.insert(start_.ledger.end(), reply.ledger().begin(),
                       reply.ledger().end());
}

}  // namespace seraph
