#include "scheduler/replicas/model_server.h"

#include <algorithm>

namespace seraph {

using Kind = ModelMessage::Kind;

void ModelServer::Create(const ReplicaOrder& order) {
  if (epoch_ > 0) return;
  holds_ = true;
  Configure(order);
}

ReplicaState ModelServer::Configure(const ReplicaOrder& order) {
  if (order.epoch > epoch_) {
    epoch_ = order.epoch;
    duty_ = order.duty;
    primary_ = order.primary.incarnation;
    peers_.clear();
    holding_ = false;
    if (duty_ == ReplicaDuty::kJoin || duty_ == ReplicaDuty::kDrop) {
      holds_ = false;
      log_.clear();
    } else if (!holds_) {
      duty_ = ReplicaDuty::kDrop;
    }
    if (duty_ == ReplicaDuty::kLead) {
      for (const Node& member : order.members) {
        if (member.incarnation != incarnation_) peers_[member.incarnation];
      }
    }
  }
  ReplicaState state;
  state.epoch = epoch_;
  state.duty = duty_;
  state.last = Last();
  return state;
}

ModelServer::Answer ModelServer::Recruit(uint64_t epoch, uint64_t recruit) {
  if (epoch != epoch_ || !leads()) return Answer::kRefused;
  const auto [it, is_new] = peers_.emplace(recruit, Peer());
  Peer& peer = it->second;
  if (is_new) peer.awaited = false;
  if (!peer.awaited && peer.verified && peer.confirmed == log_.size()) {
    peer.awaited = true;
  }
  return peer.awaited ? Answer::kDone : Answer::kNotYet;
}

ModelServer::Answer ModelServer::HandOver(uint64_t epoch) {
  if (epoch != epoch_ || !leads()) return Answer::kRefused;
  holding_ = true;
  return Acknowledged() == log_.size() ? Answer::kDone : Answer::kNotYet;
}

bool ModelServer::Push(uint64_t id) {
  if (!leads() || holding_) return false;
  log_.push_back({epoch_, id});
  return true;
}

uint64_t ModelServer::Acknowledged() const {
  if (!leads()) return 0;
  uint64_t least = log_.size();
  for (const auto& [incarnation, peer] : peers_) {
    if (!peer.awaited) continue;
    least = std::min(least, peer.verified ? peer.confirmed : 0);
  }
  return least;
}

std::vector<uint64_t> ModelServer::Awaited() const {
  std::vector<uint64_t> awaited;
  if (!leads()) return awaited;
  for (const auto& [incarnation, peer] : peers_) {
    if (!peer.verified || peer.confirmed < log_.size()) {
      awaited.push_back(incarnation);
    }
  }
  return awaited;
}

void ModelServer::Take(const ModelMessage& message,
                       std::vector<ModelMessage>* out) {
  if (message.to != incarnation_ || message.epoch != epoch_) return;
  if (leads()) {
    Lead(message, out);
  } else if (message.from == primary_ &&
             (duty_ == ReplicaDuty::kFollow || duty_ == ReplicaDuty::kJoin)) {
    Follow(message, out);
  }
}

void ModelServer::Lead(const ModelMessage& message,
                       std::vector<ModelMessage>* out) {
  const auto it = peers_.find(message.from);
  if (it == peers_.end()) return;
  Peer& peer = it->second;
  if (message.kind == Kind::kTell && !message.holds) {
    ModelMessage snapshot = To(message.from, Kind::kSnapshot);
    snapshot.log = log_;
    out->push_back(snapshot);
  } else if (message.kind == Kind::kTell && !Contains(message.last)) {
    has_divergent_ = true;
  } else if (message.kind == Kind::kTell) {
    peer.verified = true;
    peer.confirmed = std::max(peer.confirmed, message.last.number);
  } else if (message.kind == Kind::kConfirm && peer.verified) {
    peer.confirmed = std::max(peer.confirmed, message.last.number);
  }
}

void ModelServer::Follow(const ModelMessage& message,
                         std::vector<ModelMessage>* out) {
  switch (message.kind) {
    case Kind::kAsk: {
      ModelMessage tell = To(message.from, Kind::kTell);
      tell.holds = holds_;
      tell.last = Last();
      out->push_back(tell);
      break;
    }
    case Kind::kSnapshot:
      if (duty_ != ReplicaDuty::kJoin || holds_) break;
      holds_ = true;
      log_ = message.log;
      break;
    case Kind::kForward: {
      if (!holds_) break;
      if (message.last == Last()) log_.push_back(message.log.front());
      const uint64_t number = message.last.number + 1;
      if (number > log_.size() || log_[number - 1] != message.log.front()) {
        break;
      }
      ModelMessage confirm = To(message.from, Kind::kConfirm);
      confirm.last = {log_[number - 1].epoch, number};
      out->push_back(confirm);
      break;
    }
    case Kind::kTell:
    case Kind::kConfirm:
      break;
  }
}

void ModelServer::Tick(std::vector<ModelMessage>* out) const {
  if (!leads()) return;
  for (const auto& [incarnation, peer] : peers_) {
    if (!peer.verified) {
      out->push_back(To(incarnation, Kind::kAsk));
    } else if (peer.confirmed < log_.size()) {
      ModelMessage forward = To(incarnation, Kind::kForward);
      const uint64_t n = peer.confirmed;
      forward.last = {n == 0 ? 0 : log_[n - 1].epoch, n};
      forward.log = {log_[n]};
      out->push_back(forward);
    }
  }
}

LogPosition ModelServer::Last() const {
  if (log_.empty()) return {};
  return {log_.back().epoch, log_.size()};
}

bool ModelServer::Contains(LogPosition position) const {
  if (position.number == 0) return true;
  return position.number <= log_.size() &&
         log_[position.number - 1].epoch == position.epoch;
}

ModelMessage ModelServer::To(uint64_t peer, Kind kind) const {
  ModelMessage message;
  message.kind = kind;
  message.epoch = epoch_;
  message.from = incarnation_;
  message.to = peer;
  return message;
}

}  // namespace seraph
