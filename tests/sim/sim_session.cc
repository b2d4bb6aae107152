#include "tests/sim/sim_session.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/table/partitioning.h"

namespace seraph::testing {

SimSession::SimSession(SimLoop* loop, int machine, const WitnessJob* job,
                       WitnessChecker* checker, uint32_t index, Habits habits,
                       SimSessionPeers peers)
    : loop_(*loop),
      machine_(machine),
      job_(*job),
      checker_(*checker),
      index_(index),
      habits_(habits),
      peers_(std::move(peers)) {}

void SimSession::Start() {
  ++waits_;
  if (out_ == Out::kLook) out_ = Out::kNothing;
  FindPlace();
}

void SimSession::Update(uint64_t generation,
                        const PartitionPlacement& placement) {
  if (ended_ || generation < generation_) return;
  if (generation > generation_) {
    generation_ = generation;
    session_ = loop_.Number();
    epoch_seen_ = 0;
    acknowledged_ = 0;
    out_ = Out::kNothing;
  } else if (placement.epoch <= placement_.epoch) {
    return;
  }
  placement_ = placement;
  if (out_ == Out::kNothing || placement_.primary.name.empty()) {
    Again();
  } else {
    Send();
  }
}

void SimSession::FindPlace() {
  const uint64_t wait = ++waits_;
  peers_.place([this, wait](absl::StatusOr<SimSessionPeers::Place> place) {
    if (wait != waits_ || ended_) return;
    if (place.ok()) Update(place->first, place->second);
    if (wait == waits_) Again();
  });
}

void SimSession::Again() {
  const uint64_t wait = ++waits_;
  loop_.After(loop_.Between(absl::Milliseconds(2), habits_.think), machine_,
              "again", [this, wait] {
                if (wait != waits_ || ended_) return;
                if (placement_.primary.name.empty()) return FindPlace();
                if (out_ == Out::kNothing) return Next();
                Send();
              });
}

void SimSession::Next() {
  // Servers that nobody told may serve an older generation for ever.
  if (loop_.Happens(0.04)) return FindPlace();
  if (acknowledged_ < habits_.pushes && loop_.Happens(habits_.push_share)) {
    out_ = Out::kPush;
    number_ = acknowledged_ + 1;
    checker_.SessionPushStarts(who(), number_);
  } else if (acknowledged_ > 0 && loop_.Happens(0.1)) {
    out_ = Out::kRepeat;  // As if its answer had been lost.
    number_ = 1 + loop_.Below(acknowledged_);
    ++repeats_;
  } else {
    out_ = Out::kLook;
    keys_.clear();
    const uint32_t rank = loop_.Below(job_.ranks());
    std::vector<Key> keys = job_.KeysOfSession(loop_.Below(job_.sessions));
    for (Key key : job_.Pulled(rank, loop_.Below(job_.steps[rank]), 0)) {
      keys.push_back(key);
    }
    for (Key key : keys) keys_.push_back(ToMixedKey(job_.tables[0], key));
    std::sort(keys_.begin(), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
    checker_.LookStarts(who());
  }
  Send();
}

void SimSession::Send() {
  const uint64_t wait = ++waits_;
  const auto done = [this, wait](absl::StatusOr<Answer> answer) {
    if (wait == waits_ && !ended_) OnAnswer(answer);
  };
  if (out_ == Out::kLook) {
    PullMessage pull{.epoch = placement_.epoch};
    pull.keys = keys_;
    return peers_.pull(placement_.primary, generation_, std::move(pull), done);
  }
  PushMessage push{
      .epoch = placement_.epoch, .session = session_, .number = number_};
  std::vector<Key> keys;
  for (Key key : job_.KeysOfSession(index_)) {
    keys.push_back(ToMixedKey(job_.tables[0], key));
  }
  std::sort(keys.begin(), keys.end());
  push.keys = std::move(keys);
  push.values = job_.SessionValues(index_, number_);
  peers_.push(placement_.primary, generation_, std::move(push), done);
}

void SimSession::OnAnswer(const absl::StatusOr<Answer>& answer) {
  if (!answer.ok()) return FindPlace();
  switch (answer->outcome.code) {
    case PartCode::kOk:
      if (answer->epoch < epoch_seen_) return FindPlace();
      epoch_seen_ = answer->epoch;
      return Take(*answer);
    case PartCode::kNotHere:
    case PartCode::kStaleEpoch:
      return FindPlace();
    case PartCode::kRetryAfter:
      return Again();
    default:
      checker_.Report(
          absl::StrCat("session ", index_, ": ", answer->outcome.message));
      ended_ = true;
  }
}

void SimSession::Take(const Answer& answer) {
  loop_.Tell(machine_, [&] {
    return absl::StrCat(
        "session ", index_, " ",
        out_ == Out::kLook ? "looked" : absl::StrCat("pushed ", number_),
        " (epoch ", answer.epoch, ")");
  });
  if (out_ == Out::kLook) {
    std::vector<Key> keys;
    for (Key key : keys_) keys.push_back(ToOriginalKey(job_.tables[0], key));
    checker_.LookEnds(who(), keys, answer.values);
  } else if (out_ == Out::kPush) {
    acknowledged_ = number_;
    checker_.SessionPushEnds(who(), number_);
  }
  out_ = Out::kNothing;
  Again();
}

}  // namespace seraph::testing
