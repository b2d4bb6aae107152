// Where an attempt of a rank begins.
#ifndef SERAPH_WORKER_TRAIN_ATTEMPT_BEGINNING_H_
#define SERAPH_WORKER_TRAIN_ATTEMPT_BEGINNING_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "common/base/clock.h"
#include "proto/parameters.pb.h"
#include "worker/client/table_router.h"

namespace seraph {

// How the partitions of the job stood when the attempt had begun in all.
struct RankStart {
  Clock clock;     // The least that any of them expects.
  Clock furthest;  // The highest.
  // What the ledger has of the rank, newest first.
  std::vector<v1::LedgerRecord> ledger;
};

// Collects the answers to BeginAttempt until every partition of the job has
// begun it. A partition that has, has done so for good: its primary answers
// when all replicas have the attempt's record, and no older attempt pushes
// there any more. So placements may change meanwhile, and several answers may
// tell of one partition.
//
// Threads: one at a time.
class AttemptBeginning {
 public:
  explicit AttemptBeginning(const TableRouter& router)
      : begun_(router.placements().size()) {}

  // The servers (indices) that lead partitions which have not begun. None
  // although it is not complete: those have no primary at the moment.
  std::vector<size_t> ServersToAsk(const TableRouter& router) const;

  // Ignores partitions that the job does not have.
  void OnReply(const TableRouter& router, const v1::BeginAttemptReply& reply);

  bool complete() const { return begun_count_ == begun_.size(); }

  // Requires: complete().
  const RankStart& start() const { return start_; }

 private:
  std::vector<bool> begun_;  // By placement.
  size_t begun_count_ = 0;
  bool any_ = false;
  RankStart start_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_TRAIN_ATTEMPT_BEGINNING_H_
