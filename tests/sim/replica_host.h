// A server that holds one partition of one job: replicas in each life.
#ifndef SERAPH_TESTS_SIM_REPLICA_HOST_H_
#define SERAPH_TESTS_SIM_REPLICA_HOST_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/cluster/node.h"
#include "scheduler/job/order.h"
#include "server/core/partition.h"
#include "tests/sim/sim_loop.h"
#include "tests/sim/sim_network.h"

namespace seraph::testing {

// What all hosts of a simulation share.
struct ReplicaWorld {
  SimLoop* loop = nullptr;
  SimNetwork* network = nullptr;
  PartitionOptions options;
  absl::Duration lease = absl::Milliseconds(200);
  uint32_t min_in_sync = 1;
  // Messages between replicas come in order, as on a stream, which breaks when
  // one is lost; else in any order, repeatedly, and lost without a word.
  bool streams = true;
  size_t piece_bytes = 256;
  // By incarnation; also of lives that are over.
  std::map<uint64_t, int> machine_of;
  std::function<void(int machine, uint64_t generation, PeerMessage message)>
      deliver;
  // After a record was forwarded: a good moment to die.
  std::function<void(int machine)> dies;

  // For the checks: what a primary is about to say, and what is wrong.
  std::function<void(uint64_t generation, uint64_t epoch, uint32_t rank,
                     Clock clock)>
      acknowledged;
  std::function<void(uint64_t generation, uint64_t epoch, uint64_t session,
                     uint64_t number)>
      session_acknowledged;
  std::function<void(uint64_t generation, absl::Span<const float> rows)>
      answered;
  std::function<void(std::string problem)> report;
};

// One life of the server. Does what the shell of a server does around a
// Partition: generations, incarnations, tickets, the clock.
class ReplicaHost {
 public:
  template <typename T>
  using Then = std::function<void(absl::StatusOr<T>)>;

  ReplicaHost(ReplicaWorld* world, int machine, Node node);

  const Node& node() const { return node_; }
  uint64_t generation() const { return generation_; }
  Partition* partition() { return partition_.get(); }
  const Partition* partition() const { return partition_.get(); }

  // Orders; `incarnation` is of the host that is meant.
  absl::StatusOr<Placed> Assign(uint64_t generation, uint64_t incarnation,
                                const ReplicaOrder& order);
  absl::StatusOr<Configured> Configure(uint64_t generation,
                                       uint64_t incarnation,
                                       const ReplicaOrder& order);
  void Recruit(uint64_t generation, uint64_t incarnation,
               const RecruitReplica& order, Then<Recruited> then);
  void HandOver(uint64_t generation, uint64_t incarnation, uint64_t epoch,
                Then<HandedOver> then);
  absl::Status Drop(uint64_t generation);

  // Clients.
  void Push(uint64_t generation, PushMessage message, Then<Answer> then);
  void Pull(uint64_t generation, PullMessage message, Then<Answer> then);
  void BeginAttempt(uint64_t generation, RankName rank, Then<Done> then);

  void OnPeerMessage(uint64_t generation, PeerMessage message);
  void OnLinkBroken(uint64_t peer);
  std::vector<uint64_t> Tick();  // Complaints.

 private:
  absl::Duration now() const { return clock_->Now(); }
  absl::Status Check(uint64_t generation) const;
  absl::Status CheckOrder(uint64_t generation, uint64_t incarnation) const;
  void Make(uint64_t generation, bool empty);
  void Do(Effects effects);
  // What a replica holds is never set back but by an order.
  void CheckPosition();
  void Send(PeerMessage message);

  ReplicaWorld& world_;
  const int machine_;
  const Node node_;
  const MonotonicClock* const clock_;
  uint64_t generation_ = 0;  // Of partition_; the highest one heard of.
  bool assigned_ = false;
  std::unique_ptr<Partition> partition_;
  uint64_t heard_epoch_ = 0;  // The highest of a message.
  // As it stood last, in its epoch.
  uint64_t stood_epoch_ = 0;
  LogPosition stood_;
  std::vector<uint32_t> stood_attempts_;
  Ticket last_ticket_ = 0;
  std::map<Ticket, Then<Answer>> answers_;
  std::map<Ticket, Then<Done>> done_;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_REPLICA_HOST_H_
