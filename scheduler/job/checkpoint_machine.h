// One cut through all partitions of a job after another, each on its way to
// disk. docs/fault-tolerance.md, "Cuts and checkpoints".
#ifndef SERAPH_SCHEDULER_JOB_CHECKPOINT_MACHINE_H_
#define SERAPH_SCHEDULER_JOB_CHECKPOINT_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/cluster/node.h"
#include "common/cluster/replica.h"
#include "scheduler/job/order.h"

namespace seraph {

// Who leads which partitions.
struct PrimaryOf {
  Node server;
  std::vector<ReplicaOrder> partitions;
};

// What follows from an event: the orders first, then the rest.
struct CheckpointSteps {
  // To a server, or to the shell.
  std::vector<std::pair<std::optional<Node>, OrderBody>> orders;
  // The copies are taken, or will not be: ranks may go on.
  bool ranks_may_go_on = false;
  bool written = false;   // All but the manifest: see WriteManifest.
  bool complete = false;  // See manifest(), clocks() ...
  // The cut was given up: it is void, or could not be written.
  std::optional<absl::Status> given_up;
};

// idle -> [begin] -> take -> write -> manifest -> prune -> idle
//
// One at a time. A cut that fails at any step is dropped on all servers.
// Whatever goes wrong is an outcome here, never an error. Of one generation:
// after a rollback there is a new one.
//
// Threads: one at a time.
class CheckpointMachine {
 public:
  struct Options {
    std::string directory;  // Absolute; of the job's checkpoints.
    uint32_t keep = 3;
    bool one_clock = true;  // bsp: all ranks stand at the same one.
  };

  static constexpr int kIncrements = 9;  // Between two whole ones.

  explicit CheckpointMachine(Options options) : options_(std::move(options)) {}

  bool idle() const { return stage_ == Stage::kIdle; }
  // Partitions are to copy themselves: their epochs should stay as they are.
  bool taking() const {
    return stage_ == Stage::kBegin || stage_ == Stage::kTake;
  }
  const std::string& directory() const { return options_.directory; }

  // A cut at clocks that no rank has passed. `cut`: from 1, never used before.
  // Requires: idle().
  void TakeAt(uint64_t cut, std::vector<PrimaryOf> primaries,
              std::vector<Clock> clocks, CheckpointSteps* steps);

  // A cut wherever the ranks are; `a_rank_waits` for a worker: under bsp at the
  // slowest rank's clock, since none can be asked to go on. Requires: idle().
  void TakeNow(uint64_t cut, std::vector<PrimaryOf> primaries,
               bool a_rank_waits, CheckpointSteps* steps);

  // The answer to one of our orders. Others are ignored.
  void Take(const Order& order, const absl::Status& status,
            const ReplyBody& body, CheckpointSteps* steps);

  // After `written`: the last file. `manifest` has what the cut does not know.
  void SendManifest(WriteManifest manifest, CheckpointSteps* steps);
  bool wants_manifest() const { return stage_ == Stage::kManifest && !asked_; }

  // Primaries have changed. A cut that is not copied everywhere is void.
  void PlacementsChanged(CheckpointSteps* steps);

  // The server is gone: so are its copies.
  void LoseServer(const Node& server, CheckpointSteps* steps);

  // Of the cut under way, once `ranks_may_go_on`.
  uint64_t cut() const { return cut_; }
  const std::vector<Clock>& clocks() const { return clocks_; }
  // Once `complete`.
  const std::string& manifest() const { return manifest_; }
  uint64_t bytes() const { return bytes_; }

 private:
  enum class Stage { kIdle, kBegin, kTake, kWrite, kManifest, kPrune };

  void SendTake(CheckpointSteps* steps);
  void TookAll(CheckpointSteps* steps);
  void WroteAll(CheckpointSteps* steps);
  void Drop(CheckpointSteps* steps);
  void GiveUp(const absl::Status& why, CheckpointSteps* steps);

  const Options options_;
  Stage stage_ = Stage::kIdle;
  uint64_t cut_ = 0;
  bool at_rest_ = false;
  std::vector<PrimaryOf> primaries_;
  std::set<uint64_t> awaited_;  // Incarnations.
  std::vector<Clock> clocks_;
  // What each answered to BeginCut, by incarnation.
  std::map<uint64_t, std::vector<Clock>> begun_at_;
  std::vector<CutPart> parts_;
  bool asked_ = false;  // For the manifest.
  std::string manifest_;
  uint64_t bytes_ = 0;

  // Of the last complete cut.
  uint64_t base_ = 0;
  int increments_ = 0;
  std::set<std::string> base_files_;
};

// Whether the order is one of a checkpoint's.
bool IsOfCheckpoint(const OrderBody& body);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_CHECKPOINT_MACHINE_H_
