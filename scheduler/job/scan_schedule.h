// The pass over the data before clock 0, shared out over a job's workers.
#ifndef SERAPH_SCHEDULER_JOB_SCAN_SCHEDULE_H_
#define SERAPH_SCHEDULER_JOB_SCAN_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/cluster/node.h"
#include "common/dataset/dataset_facts.h"
#include "scheduler/job/order.h"

namespace seraph {

// Cuts files into pieces, each of about `piece_bytes` and of whole blocks; a
// file that cannot be read from its middle is one piece. In the order of the
// files. Requires: block_bytes > 0.
std::vector<ScanPiece> CutIntoPieces(const std::vector<ResolvedFile>& files,
                                     bool validation, uint64_t block_bytes,
                                     uint64_t piece_bytes);

// Which piece goes to which worker, and what has come back.
//
// Threads: one at a time.
class ScanSchedule {
 public:
  struct Next {
    Node worker;
    ScanPiece piece;
  };

  // Each worker has at most `in_flight` pieces at a time.
  ScanSchedule(std::vector<ScanPiece> pieces, std::vector<Node> workers,
               uint32_t in_flight);

  // The next piece and the least busy worker; nullopt while all are busy, and
  // when nothing is left.
  std::optional<Next> TakeNext();

  // The facts of a piece that `worker` has.
  void Finish(const ScanPiece& piece, const Node& worker, DatasetFacts facts);

  // The worker is gone: what it had and has not answered is read by others.
  void LoseWorker(const Node& worker);

  void AddWorker(const Node& worker);

  bool done() const { return finished_ == pieces_.size(); }
  double fraction() const;  // Of the bytes.

  // The parts of the training files, or of the files of data.validation.
  // Requires: done(); once each.
  std::vector<DatasetFacts> TakeParts(bool validation);

 private:
  const std::vector<ScanPiece> pieces_;
  const uint32_t in_flight_;
  std::vector<Node> workers_;
  std::vector<std::set<uint32_t>> taken_;  // [workers]: pieces, by number.
  std::vector<DatasetFacts> parts_;        // [pieces].
  std::set<uint32_t> left_;                // Pieces to be given out.
  size_t finished_ = 0;
  uint64_t bytes_ = 0;
  uint64_t finished_bytes_ = 0;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_SCAN_SCHEDULE_H_
