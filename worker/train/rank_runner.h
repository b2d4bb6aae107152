// A rank on a thread of its own.
#ifndef SERAPH_WORKER_TRAIN_RANK_RUNNER_H_
#define SERAPH_WORKER_TRAIN_RANK_RUNNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/time/clock.h"
#include "worker/client/table_client.h"
#include "worker/train/mailbox.h"
#include "worker/train/rank_machine.h"
#include "worker/train/rank_peers.h"

namespace seraph {

struct RankRunnerOptions {
  RankOptions rank;
  TableClientOptions client;
};

// Begins the attempt at every server, feeds replies to the RankMachine and
// does what it asks for, until the rank has ended and the scheduler knows it.
// Calls that fail for a passing reason are repeated until Stop.
//
// All ranks of a process run side by side, each on a thread: one that waits
// for others never keeps them from running.
class RankRunner {
 public:
  // `clock`, `router` and what `peers` refers to must outlive this.
  RankRunner(const RankRunnerOptions& options, const MonotonicClock* clock,
             const TableRouter* router, std::unique_ptr<RankPeers> peers,
             std::unique_ptr<Model> model, std::unique_ptr<BatchStream> train,
             std::unique_ptr<BatchStream> validation);

  // As Stop and Join.
  ~RankRunner();

  void Start();

  // Makes the rank end without a report, wherever it is. Returns at once.
  void Stop();
  void Join();

 private:
  struct Reply {
    uint64_t message = 0;
    absl::StatusOr<v1::ExchangeReply> reply;
  };

  void Run();
  // Repeats `call` while it fails for a passing reason and nobody stops us.
  template <typename Result>
  Result Persist(absl::FunctionRef<Result()> call);
  void Begin(RankActions* actions);
  // Does what the machine asks for; false when the rank has ended.
  bool Do(RankActions actions);
  void Send(std::vector<TableClient::Outgoing> outgoing);
  void SendNow(const TableClient::Outgoing& outgoing);

  const RankRunnerOptions options_;
  const MonotonicClock& clock_;
  const TableRouter& router_;
  const std::unique_ptr<RankPeers> peers_;
  const std::unique_ptr<Model> model_;
  const std::unique_ptr<BatchStream> train_;
  const std::unique_ptr<BatchStream> validation_;

  // Of the rank's thread.
  RankMachine machine_;
  TableClient client_;
  std::map<uint64_t, uint64_t> step_ids_;  // The client's step -> machine's.
  std::multimap<absl::Duration, TableClient::Outgoing> delayed_;  // By time.

  // Replies hold it: a late one may come after the runner has gone.
  const std::shared_ptr<Mailbox<Reply>> mailbox_;
  std::thread thread_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_TRAIN_RANK_RUNNER_H_
