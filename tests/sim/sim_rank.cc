#include "tests/sim/sim_rank.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace seraph::testing {

SimRank::SimRank(SimLoop* loop, int machine, const WitnessJob* job,
                 WitnessChecker* checker, WitnessChecker::Who who,
                 PartitionPlacement placement, SimRankPeers peers)
    : loop_(*loop),
      machine_(machine),
      job_(*job),
      checker_(*checker),
      who_(who),
      placement_(std::move(placement)),
      peers_(std::move(peers)) {}

void SimRank::Start() { BeginAttempt(); }

void SimRank::Update(const PartitionPlacement& placement) {
  if (placement.epoch > placement_.epoch) placement_ = placement;
}

void SimRank::FindPlacement(void (SimRank::*then)()) {
  const uint64_t wait = ++waits_;
  peers_.placement([this, then, wait](auto placement) {
    if (wait != waits_ || ended_) return;
    if (placement.ok()) Update(*placement);
    Again(then);
  });
}

void SimRank::Again(void (SimRank::*what)()) {
  const uint64_t wait = ++waits_;
  loop_.After(loop_.Between(absl::Milliseconds(2), absl::Milliseconds(15)),
              machine_, "again", [this, what, wait] {
                if (wait != waits_ || ended_) return;
                if (placement_.primary.name.empty()) return FindPlacement(what);
                (this->*what)();
              });
}

void SimRank::BeginAttempt() {
  if (ended_) return;
  if (placement_.primary.name.empty()) {
    return FindPlacement(&SimRank::BeginAttempt);
  }
  const uint64_t wait = ++waits_;
  peers_.begin_attempt(
      placement_.primary, who_.generation, {who_.rank, who_.attempt},
      [this, wait](absl::StatusOr<Done> done) {
        if (wait != waits_ || ended_) return;
        if (done.ok() && absl::IsAborted(done->status)) {
          ended_ = true;  // A later one lives.
          return;
        }
        if (!done.ok() || !done->status.ok()) {
          return FindPlacement(&SimRank::BeginAttempt);
        }
        epoch_seen_ = std::max(epoch_seen_, done->epoch);
        loop_.Tell(machine_, [&] {
          return absl::StrCat("rank ", who_.rank, ", attempt ", who_.attempt,
                              ", begins at ", ToString(done->progress.next));
        });
        NextClock(done->progress.next);
      });
}

void SimRank::NextClock(Clock clock) {
  clock_ = clock;
  if (clock_.epoch >= job_.epochs) {
    ended_ = true;
    loop_.Tell(machine_,
               [&] { return absl::StrCat("rank ", who_.rank, " is done"); });
    return peers_.done();
  }
  acked_.clear();
  if (EndsEpoch()) return SendChunks();
  checker_.PullStarts(who_, clock_);
  SendPull();
}

void SimRank::SendPull() {
  if (placement_.primary.name.empty()) {
    return FindPlacement(&SimRank::SendPull);
  }
  PullMessage pull{.epoch = placement_.epoch,
                   .rank = RankName{who_.rank, who_.attempt},
                   .clock = clock_};
  keys_.clear();
  for (Key key : job_.Pulled(who_.rank, clock_.step, 0)) {
    keys_.push_back(ToMixedKey(job_.tables[0], key));
  }
  std::sort(keys_.begin(), keys_.end());
  pull.keys = keys_;
  const uint64_t wait = ++waits_;
  peers_.pull(placement_.primary, who_.generation, std::move(pull),
              [this, wait](absl::StatusOr<Answer> answer) {
                if (wait == waits_ && !ended_) OnPull(std::move(answer));
              });
}

bool SimRank::Judge(const absl::StatusOr<Answer>& answer,
                    void (SimRank::*again)()) {
  if (!answer.ok()) {
    FindPlacement(again);
    return false;
  }
  switch (answer->outcome.code) {
    case PartCode::kOk:
      if (answer->epoch >= epoch_seen_) {
        epoch_seen_ = answer->epoch;
        return true;
      }
      FindPlacement(again);
      return false;
    case PartCode::kStaleAttempt:
      ended_ = true;
      return false;
    case PartCode::kNotHere:
    case PartCode::kStaleEpoch:
    case PartCode::kUnknownAttempt:
    case PartCode::kExpectedClock:
      FindPlacement(again);
      return false;
    case PartCode::kRetryAfter:
    case PartCode::kReplaced:
      Again(again);
      return false;
    case PartCode::kInvalid:
    case PartCode::kFailed:
    case PartCode::kFunctionFailed:
    case PartCode::kUnknownList:
      checker_.Report(
          absl::StrCat("rank ", who_.rank, ": ", answer->outcome.message));
      ended_ = true;
      return false;
  }
  return false;
}

void SimRank::OnPull(absl::StatusOr<Answer> answer) {
  if (!Judge(answer, &SimRank::SendPull)) return;
  std::vector<Key> keys;
  for (Key key : keys_) keys.push_back(ToOriginalKey(job_.tables[0], key));
  loop_.Tell(machine_, [&] {
    std::string text =
        absl::StrCat("rank ", who_.rank, ".", who_.attempt, " pulled ",
                     ToString(clock_), " (epoch ", answer->epoch, ")");
    return text;
  });
  const absl::Span<const float> rows = answer->values;
  checker_.PullEnds(who_, clock_, {keys}, {&rows, 1});
  checker_.PushStarts(who_, clock_);
  SendChunks();
}

void SimRank::SendChunks() {
  if (placement_.primary.name.empty()) {
    return FindPlacement(&SimRank::SendChunks);
  }
  PushMessage whole{.epoch = placement_.epoch,
                    .rank = RankName{who_.rank, who_.attempt},
                    .clock = clock_,
                    .ends_epoch = EndsEpoch()};
  if (!whole.ends_epoch) {
    whole.examples = 1;
    std::vector<Key> keys;
    for (Key key : job_.Pushed(who_.rank, clock_, who_.attempt, 0)) {
      keys.push_back(ToMixedKey(job_.tables[0], key));
    }
    std::sort(keys.begin(), keys.end());
    whole.keys = std::move(keys);
    whole.values =
        job_.Values(who_.rank, clock_, who_.attempt, whole.keys.size());
  }
  whole.ledger.clock = clock_;
  // By a number of its own, so that it is the same each time.
  const size_t chunks =
      whole.keys.size() > 1 && (who_.rank + clock_.step) % 2 == 1
          ? whole.keys.size()
          : 1;
  acked_.assign(chunks, false);
  const uint64_t wait = ++waits_;
  for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
    PushMessage part = whole;
    part.chunk = chunk;
    part.chunks = chunks;
    if (chunks > 1) {
      part.keys = {whole.keys[chunk]};
      part.values = job_.Values(who_.rank, clock_, who_.attempt, 1);
    }
    peers_.push(placement_.primary, who_.generation, std::move(part),
                [this, wait, chunk](absl::StatusOr<Answer> answer) {
                  if (wait == waits_ && !ended_) {
                    OnChunk(chunk, std::move(answer));
                  }
                });
  }
}

void SimRank::OnChunk(uint32_t chunk, absl::StatusOr<Answer> answer) {
  if (!Judge(answer, &SimRank::SendChunks)) return;
  acked_[chunk] = true;
  if (std::find(acked_.begin(), acked_.end(), false) != acked_.end()) return;
  loop_.Tell(machine_, [&] {
    return absl::StrCat("rank ", who_.rank, ".", who_.attempt, " pushed ",
                        ToString(clock_));
  });
  if (EndsEpoch()) return NextClock(clock_.NextEpoch());
  checker_.PushEnds(who_, clock_);
  NextClock(clock_.NextStep());
}

}  // namespace seraph::testing
