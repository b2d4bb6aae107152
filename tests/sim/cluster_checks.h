// What must hold in a simulated cluster, beside what a witness sees.
#ifndef SERAPH_TESTS_SIM_CLUSTER_CHECKS_H_
#define SERAPH_TESTS_SIM_CLUSTER_CHECKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/checkpoint/manifest.h"
#include "common/io/blob_folder.h"
#include "scheduler/job/job_ref.h"
#include "scheduler/job/order.h"

namespace seraph::testing {

struct ClusterJob;
class WitnessChecker;

// Rules of docs/fault-tolerance.md that can be seen from outside: at the
// scheduler's door, and in the folder of checkpoints. Of one job.
class ClusterChecks {
 public:
  ClusterChecks(const ClusterJob* job, WitnessChecker* witness)
      : job_(*job), witness_(*witness) {}

  // Ends of epochs ----------------------------------------------------------

  // A share is taken by a scheduler of `term`. `saw_later`: it was computed
  // from parameters that had moved on.
  void ShareTaken(uint64_t term, const JobRef& job, uint32_t rank,
                  uint32_t epoch, bool saw_later);
  // A rank is told to go on, or to stop: only after all have shared, and all
  // are told the same.
  void Decided(const JobRef& job, uint32_t epoch, bool stop);

  // Checkpoints -------------------------------------------------------------

  // A cut is complete: a manifest was written. Reads it, and of a witness job
  // its rows, which must be the entries before the cut and no others.
  void CutWritten(BlobFolder* folder, const std::string& manifest,
                  const CheckpointManifest& written);
  // The scheduler has stored that it was. From now on it counts.
  void CutStored(const std::string& manifest) { newest_ = manifest; }
  // A generation begins from this cut: the newest one.
  void BeginsFrom(uint64_t generation, const std::optional<CutName>& cut);
  // After a machine has died: what has its name is whole.
  void CheckFolder(BlobFolder* folder);
  // Files were damaged on purpose: an older cut may be used.
  void FilesWereDamaged() { damaged_ = true; }

  // By manifest.
  const std::map<std::string, std::vector<Clock>>& cuts() const {
    return cuts_;
  }

 private:
  void Report(std::string problem);

  const ClusterJob& job_;
  WitnessChecker& witness_;
  // By term, generation and epoch: ranks.
  std::map<std::tuple<uint64_t, uint64_t, uint32_t>, std::set<uint32_t>>
      shares_;
  std::map<uint32_t, bool> decided_;  // By epoch: whether to stop.
  std::map<std::string, std::vector<Clock>> cuts_;
  std::optional<std::string> newest_;
  // By generation: the first epoch whose end was not behind the cut that it
  // began from.
  std::map<uint64_t, uint32_t> begun_;
  bool damaged_ = false;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_CLUSTER_CHECKS_H_
