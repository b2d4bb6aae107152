// A rank on a thread of its own.
#ifndef SERAPH_WORKER_TRAIN_RANK_RUNNER_H_
#define SERAPH_WORKER_TRAIN_RANK_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/concurrent/mutex.h"
#include "common/time/clock.h"
#include "worker/client/table_client.h"
#include "worker/client/table_router.h"
#include "worker/train/attempt_beginning.h"
#include "worker/train/mailbox.h"
#include "worker/train/rank_machine.h"
#include "worker/train/rank_peers.h"

namespace seraph {

struct RankRunnerOptions {
  RankOptions rank;
  TableClientOptions client;
};

// Begins the attempt in every partition, feeds replies to the RankMachine and
// does what it asks for, until the rank has ended and the scheduler knows it.
// Whatever may pass is tried again until Stop, through changes of placements
// and restarts of the scheduler. A rank that somebody else goes on with ends
// without a report.
//
// All ranks of a process run side by side, each on a thread: one that waits
// for others never keeps them from running.
//
// Threads: Start, Join and the destructor belong to the owner; the others may
// be called from any thread.
class RankRunner {
 public:
  // `clock` and what `peers` refers to must outlive this.
  RankRunner(const RankRunnerOptions& options, const MonotonicClock* clock,
             std::shared_ptr<const TableRouter> router,
             std::unique_ptr<RankPeers> peers, std::unique_ptr<Model> model,
             std::unique_ptr<BatchStream> train,
             std::unique_ptr<BatchStream> validation);

  // As Stop and Join.
  ~RankRunner();

  void Start();

  // The placements have changed. Older ones than the last are ignored.
  void UpdateRouter(std::shared_ptr<const TableRouter> router)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Another scheduler leads: a call to the one before is made anew.
  void AskSchedulerAnew() { peers_->AskSchedulerAnew(); }

  // Makes the rank end without a report, wherever it is. Returns at once.
  void Stop();
  // Likewise, but not before the entries that it has begun to send are
  // acknowledged by all partitions: whoever goes on, or saves the job without
  // it, finds all of them at one clock.
  void WindDown();
  void Join();

  // Whether it has not ended yet.
  bool running() const { return running_.load(); }

 private:
  // A reply, or without a message only a reason to look around.
  struct Event {
    uint64_t message = 0;
    absl::StatusOr<WithBulk<v1::ExchangeReply>> reply;
  };

  void Run();
  std::shared_ptr<const TableRouter> router() const ABSL_LOCKS_EXCLUDED(mu_);
  // Waits for this time, a change of placements, or the end. Requires: nothing
  // is out.
  void Pause(absl::Duration time);
  // Repeats a call to the scheduler until it is answered for good.
  template <typename Result>
  Result Persist(absl::FunctionRef<Result()> call);
  // Nullopt: stopped, or it cannot begin, which was reported.
  std::optional<RankStart> Begin();
  // All return false when the rank has ended.
  bool Handle(TableClient::Output output);
  bool Do(RankActions actions, TableClient::Output* output);
  void End(const absl::Status& status);
  void Send(const std::vector<TableClient::Outgoing>& outgoing);
  // Of the client, until Stop or the next event, which it takes; nothing is
  // left to be sent then.
  void Await(TableClient::Output* output);
  // Until they are acknowledged.
  void FinishEntries();
  bool ending() const { return winding_down_ || mailbox_->closed(); }

  const RankRunnerOptions options_;
  const MonotonicClock& clock_;
  const std::unique_ptr<RankPeers> peers_;
  const std::unique_ptr<Model> model_;
  const std::unique_ptr<BatchStream> train_;
  const std::unique_ptr<BatchStream> validation_;

  mutable Mutex mu_;
  std::shared_ptr<const TableRouter> router_ ABSL_GUARDED_BY(mu_);

  // Of the rank's thread.
  RankMachine machine_;
  TableClient client_;
  std::map<uint64_t, uint64_t> step_ids_;  // The client's step -> machine's.

  std::atomic<bool> running_ = true;
  std::atomic<bool> winding_down_ = false;
  // Replies hold it: a late one may come after the runner has gone.
  const std::shared_ptr<Mailbox<Event>> mailbox_;
  std::thread thread_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_TRAIN_RANK_RUNNER_H_
