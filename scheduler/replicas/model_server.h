// A server's side of one partition, as docs/fault-tolerance.md has it and in as
// few lines as it takes: what the scheduler's side is tested against.
#ifndef SERAPH_SCHEDULER_REPLICAS_MODEL_SERVER_H_
#define SERAPH_SCHEDULER_REPLICAS_MODEL_SERVER_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "common/cluster/replica.h"

namespace seraph {

struct ModelEntry {
  uint64_t epoch = 0;
  uint64_t id = 0;

  friend bool operator==(const ModelEntry&, const ModelEntry&) = default;
};

using ModelLog = std::vector<ModelEntry>;  // Number n is at n - 1.

struct ModelMessage {
  enum class Kind { kAsk, kTell, kForward, kConfirm, kSnapshot };

  Kind kind = Kind::kAsk;
  uint64_t epoch = 0;
  uint64_t from = 0;  // Incarnations.
  uint64_t to = 0;
  LogPosition last;   // Of a forward: of the record before it.
  bool holds = true;  // kTell.
  ModelLog log;       // The snapshot, or the one record that is forwarded.
};

// One incarnation; one that is started anew is another object.
class ModelServer {
 public:
  enum class Answer { kNotYet, kDone, kRefused };

  explicit ModelServer(uint64_t incarnation) : incarnation_(incarnation) {}

  uint64_t incarnation() const { return incarnation_; }
  uint64_t epoch() const { return epoch_; }
  const ModelLog& log() const { return log_; }
  bool leads() const { return duty_ == ReplicaDuty::kLead; }
  bool holds() const { return holds_; }

  // A member's last position is not in this primary's log, so that one of the
  // two copies is worth nothing.
  bool has_divergent() const { return has_divergent_; }

  // Orders.
  void Create(const ReplicaOrder& order);
  ReplicaState Configure(const ReplicaOrder& order);
  Answer Recruit(uint64_t epoch, uint64_t recruit);
  Answer HandOver(uint64_t epoch);
  void EndHold() { holding_ = false; }

  // False if it leads nothing, or holds pushes back.
  bool Push(uint64_t id);

  // Up to this number everything is acknowledged.
  uint64_t Acknowledged() const;

  void Take(const ModelMessage& message, std::vector<ModelMessage>* out);

  // Asks, forwards and sends again whatever is not confirmed.
  void Tick(std::vector<ModelMessage>* out) const;

  // Those that it waits for, and that lack something.
  std::vector<uint64_t> Awaited() const;

 private:
  struct Peer {
    bool verified = false;  // Its last position is in this log.
    uint64_t confirmed = 0;
    bool awaited = true;  // False: a recruit on its way.
  };

  LogPosition Last() const;
  bool Contains(LogPosition position) const;
  void Lead(const ModelMessage& message, std::vector<ModelMessage>* out);
  void Follow(const ModelMessage& message, std::vector<ModelMessage>* out);
  ModelMessage To(uint64_t peer, ModelMessage::Kind kind) const;

  const uint64_t incarnation_;
  uint64_t epoch_ = 0;  // The highest seen.
  ReplicaDuty duty_ = ReplicaDuty::kDrop;
  bool holds_ = false;
  ModelLog log_;
  uint64_t primary_ = 0;
  std::map<uint64_t, Peer> peers_;  // Of a primary.
  bool holding_ = false;
  bool has_divergent_ = false;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_REPLICAS_MODEL_SERVER_H_
