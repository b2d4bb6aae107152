// A partition and its clients: what it refuses, appends and answers.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/finite.h"
#include "common/base/planted_bug.h"
#include "common/status/status_macros.h"
#include "common/table/partitioning.h"
#include "server/core/partition.h"
#include "server/functions/function_registry.h"

namespace seraph {
namespace {

// Sessions of clients that are no ranks, remembered for the partition's life.
constexpr size_t kMaxSessions = 4096;
constexpr uint32_t kMaxChunks = 1 << 16;

PartOutcome Invalid(const absl::Status& status) {
  return {.code = PartCode::kInvalid, .message = std::string(status.message())};
}

PartOutcome Failed(const absl::Status& status) {
  return {.code = PartCode::kFunctionFailed,
          .message = std::string(status.message())};
}

}  // namespace

PartOutcome Partition::CheckRank(RankName name) const {
  if (name.rank >= state_->ranks()) {
    return {.code = PartCode::kInvalid,
            .message = absl::StrCat("rank ", name.rank, ": the job has ",
                                    state_->ranks())};
  }
  const uint32_t current = AttemptOf(name.rank);
  if (name.attempt < current) {
    return {.code = PartCode::kStaleAttempt,
            .message = absl::StrCat("rank ", name.rank,
                                    " was handed out anew "
                                    "as attempt ",
                                    current)};
  }
  if (name.attempt > current) {
    return {.code = PartCode::kUnknownAttempt,
            .message = absl::StrCat("rank ", name.rank, " attempt ",
                                    name.attempt, " has not begun here")};
  }
  return {};
}

uint32_t Partition::AttemptOf(uint32_t rank) const {
  const auto fenced = fenced_.find(rank);
  return std::max(state_->rank(rank).attempt,
                  fenced == fenced_.end() ? 0 : fenced->second);
}

PartOutcome Partition::CheckEpoch(uint64_t epoch) const {
  if (epoch != epoch_ && !IsPlanted(PlantedBug::kSkipEpochCheck)) {
    return {.code = PartCode::kStaleEpoch,
            .message =
                absl::StrCat("epoch ", epoch, ", the partition's is ", epoch_)};
  }
  if (leads()) return {};
  return {.code = PartCode::kNotHere, .message = NotLedHere().message};
}

absl::Status Partition::CheckShape(const PushMessage& message) const {
  const uint32_t width = options_.table.width;
  if (message.values.size() != message.keys.size() * width) {
    return absl::InvalidArgumentError(
        absl::StrCat(message.values.size(), " values for ", message.keys.size(),
                     " keys of width ", width));
  }
  if (message.ends_epoch && !message.keys.empty()) {
    return absl::InvalidArgumentError(
        "the entry that ends an epoch carries no keys");
  }
  if (message.ends_epoch && !message.calls.empty()) {
    return absl::InvalidArgumentError(
        "the entry that ends an epoch carries no function calls");
  }
  for (const FunctionCall& call : message.calls) {
    if (absl::Status status = CheckCall(call); !status.ok()) return status;
  }
  if (message.chunks == 0 || message.chunks > kMaxChunks ||
      message.chunk >= message.chunks) {
    return absl::InvalidArgumentError(
        absl::StrCat("chunk ", message.chunk, " of ", message.chunks));
  }
  if (message.list == nullptr) {
    if (absl::Status keys = state_->store().CheckKeys(message.keys);
        !keys.ok()) {
      return keys;
    }
  }
  const absl::Span<const float> values = message.values;
  if (const size_t i = message.known_finite +
                       FirstNotFinite(values.subspan(message.known_finite));
      i < values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("table '", options_.table.name, "', key ",
                     ToOriginalKey(options_.table, message.keys[i / width]),
                     ": the pushed value is not finite"));
  }
  return absl::OkStatus();
}

std::optional<PartOutcome> Partition::JudgeRank(const PushMessage& message) {
  if (PartOutcome rank = CheckRank(*message.rank); rank.code != PartCode::kOk) {
    return rank;
  }
  const RankProgress& progress = state_->rank(message.rank->rank);
  if (message.clock == progress.next) return PartOutcome{};
  if (progress.last_entry.has_value() &&
      message.clock <= *progress.last_entry) {
    if (IsPlanted(PlantedBug::kForgetAppliedAtPromotion) && promoted_ &&
        options_.sync.spec.mode != SyncMode::kBsp) {
      return PartOutcome{};
    }
    if (options_.sync.spec.mode == SyncMode::kBsp && message.chunks == 1 &&
        message.clock == *progress.last_entry &&
        EntryChecksum(message.keys, message.values) != progress.last_checksum) {
      ++differing_repeats_;
    }
    return std::nullopt;
  }
  return PartOutcome{
      .code = PartCode::kExpectedClock,
      .message = absl::StrCat("rank ", message.rank->rank, ": entry ",
                              ToString(message.clock), " came where ",
                              ToString(progress.next), " is next"),
      .expected = progress.next};
}

std::optional<PartOutcome> Partition::JudgeSession(
    const PushMessage& message) const {
  if (options_.sync.spec.mode == SyncMode::kBsp) {
    return PartOutcome{.code = PartCode::kInvalid,
                       .message =
                           "the tables of a bsp job take pushes from "
                           "its ranks only"};
  }
  if (message.session == 0 || message.number == 0 || message.chunks != 1 ||
      message.ends_epoch || !message.calls.empty()) {
    return PartOutcome{.code = PartCode::kInvalid,
                       .message =
                           "a push without a rank is named by a session "
                           "and a number from 1, and comes whole"};
  }
  const uint64_t last = state_->session(message.session);
  if (message.number <= last) {
    if (IsPlanted(PlantedBug::kRepeatSessionPush)) return PartOutcome{};
    return std::nullopt;
  }
  if (message.number > last + 1) {
    return PartOutcome{.code = PartCode::kInvalid,
                       .message = absl::StrCat("push ", message.number,
                                               " of a session came where ",
                                               last + 1, " is next")};
  }
  if (last == 0 && state_->sessions() >= kMaxSessions) {
    return PartOutcome{
        .code = PartCode::kInvalid,
        .message = absl::StrCat("more than ", kMaxSessions, " sessions")};
  }
  return PartOutcome{};
}

std::optional<PartOutcome> Partition::Judge(const PushMessage& message) {
  if (PartOutcome epoch = CheckEpoch(message.epoch);
      epoch.code != PartCode::kOk) {
    return epoch;
  }
  if (!failure().empty()) {
    return PartOutcome{.code = PartCode::kFailed, .message = failure()};
  }
  if (absl::Status shape = CheckShape(message); !shape.ok()) {
    return Invalid(shape);
  }
  return message.rank.has_value() ? JudgeRank(message) : JudgeSession(message);
}

bool Partition::MustHold(const PushMessage& message,
                         const PartOutcome& verdict) const {
  if (!handing_over_.has_value() && !cut_.holding()) return false;
  // A clock that is ahead of what is held has its turn after that.
  const bool ahead = verdict.code == PartCode::kExpectedClock &&
                     message.clock > verdict.expected;
  if (verdict.code != PartCode::kOk && !ahead) return false;
  return handing_over_.has_value() ||
         (message.rank.has_value() &&
          cut_.Holds(message.rank->rank, message.clock));
}

void Partition::Push(PushMessage&& message, absl::Duration now,
                     Effects* effects) {
  TakePush(std::move(message), now, effects);
  Finish(now, effects);
}

void Partition::TakePush(PushMessage&& message, absl::Duration now,
                         Effects* effects) {
  const Ticket ticket = message.ticket;
  const std::optional<PartOutcome> verdict = Judge(message);
  if (!verdict.has_value()) {
    if (IsPlanted(PlantedBug::kAcknowledgeRepeatAtOnce)) {
      effects->answers.push_back(AnswerTo(ticket, {}));
    } else {
      // Not before its original, which is in the log.
      Acknowledge(ticket, now, effects);
    }
    return;
  }
  if (MustHold(message, *verdict)) {
    held_bytes_ += BytesOf(message);
    held_.push_back(std::move(message));
    return;
  }
  if (verdict->code != PartCode::kOk) {
    effects->answers.push_back(AnswerTo(ticket, *verdict));
    return;
  }
  if (message.call != nullptr) {
    absl::StatusOr<CallRecord> record = MakeCall(message);
    if (record.ok()) {
      Append(*std::move(record));
      Acknowledge(ticket, now, effects);
    } else {
      effects->answers.push_back(AnswerTo(ticket, Failed(record.status())));
    }
    return;
  }
  if (message.chunks == 1 || IsPlanted(PlantedBug::kMarkBeforePush)) {
    // Chunks of the same entry, in another cut, become it too.
    const std::vector<Ticket> staged = message.rank.has_value()
                                           ? stage_.Drop(message.rank->rank)
                                           : std::vector<Ticket>();
    AppendPush(std::move(message));
    Acknowledge(ticket, now, effects);
    for (const Ticket one : staged) Acknowledge(one, now, effects);
    return;
  }
  absl::StatusOr<std::optional<ChunkStage::Whole>> whole =
      stage_.Add(std::move(message));
  if (!whole.ok()) {
    effects->answers.push_back(AnswerTo(ticket, Invalid(whole.status())));
    return;
  }
  if (!whole->has_value()) return;
  if (absl::Status shape = CheckShape((*whole)->entry); !shape.ok()) {
    for (const Ticket one : (*whole)->tickets) {
      effects->answers.push_back(AnswerTo(one, Invalid(shape)));
    }
    return;
  }
  AppendPush(std::move((*whole)->entry));
  for (const Ticket one : (*whole)->tickets) Acknowledge(one, now, effects);
}

// Built-in functions over the partition's own rows are logged as calls; what
// others write, and what comes from another table, is computed here, once.
absl::StatusOr<CallRecord> Partition::MakeCall(
    const PushMessage& message) const {
  const PlannedCall& planned = *message.call;
  CallRecord record{
      .session = message.session,
      .number = message.number,
      .call = planned.call,
      .has_effect = !planned.function->built_in() || planned.other != nullptr};
  const std::string name =
      absl::StrCat("function '", planned.call.function, "'");
  absl::Status wrong;
  const size_t width = options_.table.width;
  const absl::Status status = planned.function->Write(
      state_->RowsFor(std::nullopt), planned.input(),
      [&](absl::Span<const Key> keys, absl::Span<const float> values) {
        for (size_t i = 0; i < values.size() && wrong.ok(); ++i) {
          if (std::isfinite(values[i])) continue;
          wrong = absl::InvalidArgumentError(
              absl::StrCat(name, ": table '", options_.table.name, "', key ",
                           ToOriginalKey(options_.table, keys[i / width]),
                           " would get a value that is not finite"));
        }
        if (!record.has_effect) return;
        record.keys.insert(record.keys.end(), keys.begin(), keys.end());
        record.values.insert(record.values.end(), values.begin(), values.end());
      });
  if (!status.ok()) return status;
  if (!wrong.ok()) return wrong;
  if (record.values.size() != record.keys.size() * width) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " gave ", record.values.size(), " values for ",
                     record.keys.size(), " keys of width ", width));
  }
  if (absl::Status keys = state_->store().CheckKeys(record.keys); !keys.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " gave keys that the partition cannot have: ", keys.message()));
  }
  return record;
}

void Partition::AppendPush(PushMessage&& message) {
  KeyList* const list = message.list.get();
  if (message.rank.has_value()) {
    // With their versions, so that every replica runs the same.
    for (FunctionCall& call : message.calls) {
      call = std::move(
          FunctionRegistry::BuiltIns().PlanLogged(call, options_.table)->call);
    }
    Append(EntryRecord{.rank = *message.rank,
                       .clock = message.clock,
                       .ends_epoch = message.ends_epoch,
                       .examples = message.examples,
                       .keys = std::move(message.keys),
                       .values = std::move(message.values),
                       .ledger = std::move(message.ledger),
                       .calls = std::move(message.calls)},
           list);
  } else {
    Append(SessionRecord{.session = message.session,
                         .number = message.number,
                         .keys = std::move(message.keys),
                         .values = std::move(message.values)},
           list);
  }
}

void Partition::Acknowledge(Ticket ticket, absl::Duration now,
                            Effects* effects) {
  if (LeavesAtOnce(now)) {
    effects->answers.push_back(AnswerTo(ticket, {}));
  } else {
    pending_.push_back(
        {.number = state_->records(), .what = AnswerTo(ticket, {})});
  }
}

// What must still wait is held again, in the same order.
void Partition::ReleaseHeld(absl::Duration now, Effects* effects) {
  held_bytes_ = 0;
  for (PushMessage& message : std::exchange(held_, {})) {
    // Its epoch was right when it came.
    message.epoch = epoch_;
    TakePush(std::move(message), now, effects);
  }
}

void Partition::Pull(PullMessage message, absl::Duration now,
                     Effects* effects) {
  if (PartOutcome refusal = CheckPull(message); refusal.code != PartCode::kOk) {
    effects->answers.push_back(AnswerTo(message.ticket, std::move(refusal)));
    return;
  }
  ReplaceParked(message, effects);
  AnswerPull(std::move(message), now, effects);
  Settle(now, effects);
}

void Partition::ReplaceParked(const PullMessage& repeat, Effects* effects) {
  if (repeat.number == 0 || !repeat.rank.has_value()) return;
  const auto same = std::find_if(
      parked_.begin(), parked_.end(), [&](const PullMessage& parked) {
        return parked.number == repeat.number && parked.rank == repeat.rank;
      });
  if (same == parked_.end()) return;
  effects->answers.push_back(AnswerTo(
      same->ticket,
      {.code = PartCode::kReplaced, .message = "a repeat of it waits"}));
  parked_.erase(same);
}

PartOutcome Partition::CheckPull(const PullMessage& message) const {
  if (PartOutcome epoch = CheckEpoch(message.epoch);
      epoch.code != PartCode::kOk) {
    return epoch;
  }
  if (message.list == nullptr) {
    if (absl::Status keys = state_->store().CheckKeys(message.keys);
        !keys.ok()) {
      return Invalid(keys);
    }
  }
  if (message.clock.has_value() && !message.rank.has_value()) {
    return {.code = PartCode::kInvalid,
            .message = "a pull at a clock needs a rank"};
  }
  return {};
}

std::optional<Answer> Partition::TryPull(const PullMessage& message) const {
  if (!failure().empty()) {
    return AnswerTo(message.ticket,
                    {.code = PartCode::kFailed, .message = failure()});
  }
  if (message.clock.has_value()) {
    PartOutcome rank = CheckRank(*message.rank);
    if (rank.code != PartCode::kOk) {
      return AnswerTo(message.ticket, std::move(rank));
    }
    switch (state_->ReadableAt(message.rank->rank, *message.clock)) {
      case PartitionState::Readable::kNow:
        break;
      case PartitionState::Readable::kNotYet:
        return std::nullopt;
      case PartitionState::Readable::kNoLonger:
        return AnswerTo(
            message.ticket,
            {.code = PartCode::kInvalid,
             .message = absl::StrCat(
                 "the parameters of clock ", ToString(*message.clock),
                 " are no longer kept; the slowest rank stands at ",
                 ToString(state_->slowest()))});
    }
  }
  if (message.call != nullptr) return ReadFunction(message);
  Answer answer = AnswerTo(message.ticket, {});
  const KeySpan keys = message.Keys();
  ResolvedRows* const known =
      message.list == nullptr ? nullptr : message.list->rows();
  answer.values.resize(keys.size() * options_.table.width);
  if (message.clock.has_value()) {
    state_->ReadAt(*message.clock, keys, absl::MakeSpan(answer.values), known);
  } else {
    state_->ReadLatest(keys, absl::MakeSpan(answer.values), known);
  }
  return answer;
}

Answer Partition::ReadFunction(const PullMessage& message) const {
  const PlannedCall& planned = *message.call;
  absl::StatusOr<PartialResult> result =
      planned.function->Read(state_->RowsFor(message.clock), planned.input());
  if (!result.ok()) return AnswerTo(message.ticket, Failed(result.status()));
  Answer answer = AnswerTo(message.ticket, {});
  answer.result = std::make_shared<const PartialResult>(*std::move(result));
  return answer;
}

void Partition::AnswerPull(PullMessage message, absl::Duration now,
                           Effects* effects) {
  std::optional<Answer> answer = TryPull(message);
  if (!answer.has_value()) {
    parked_.push_back(std::move(message));
  } else if (answer->outcome.code != PartCode::kOk ||
             options_.sync.spec.mode == SyncMode::kBsp || LeavesAtOnce(now) ||
             IsPlanted(PlantedBug::kReadUnconfirmed)) {
    // bsp: what a lost entry would have given, its re-run gives.
    effects->answers.push_back(*std::move(answer));
  } else {
    pending_.push_back({.number = state_->records(),
                        .what = *std::move(answer),
                        .pull = std::move(message)});
  }
}

void Partition::AnswerParked(absl::Duration now, Effects* effects) {
  for (PullMessage& message : std::exchange(parked_, {})) {
    AnswerPull(std::move(message), now, effects);
  }
}

void Partition::BeginAttempt(RankName rank, Ticket ticket, absl::Duration now,
                             Effects* effects) {
  absl::Status status;
  if (!leads()) {
    status = absl::UnavailableError(NotLedHere().message);
  } else if (rank.rank >= state_->ranks() || rank.attempt == 0) {
    status = absl::InvalidArgumentError(
        absl::StrCat("rank ", rank.rank, " attempt ", rank.attempt,
                     ": the job has ranks 0 to ", state_->ranks() - 1,
                     " and attempts from 1"));
  } else if (const uint32_t current = AttemptOf(rank.rank);
             rank.attempt < current) {
    status = absl::AbortedError(absl::StrCat("rank ", rank.rank, " attempt ",
                                             rank.attempt, ": attempt ",
                                             current, " has begun"));
  } else if (rank.attempt > current) {
    if (IsPlanted(PlantedBug::kFenceAttemptInMemoryOnly)) {
      fenced_[rank.rank] = rank.attempt;
    } else {
      Append(AttemptRecord{rank});
    }
    RefuseOlderAttempts(rank.rank, effects);
  }
  if (!status.ok()) {
    effects->done.push_back(DoneWith(ticket, std::move(status)));
    return;
  }
  pending_.push_back({.number = state_->records(),
                      .what = DoneWith(ticket, absl::OkStatus()),
                      .rank = rank.rank});
  Finish(now, effects);  // Waiting pulls of older attempts end there.
}

void Partition::RefuseOlderAttempts(uint32_t rank, Effects* effects) {
  const PartOutcome stale = CheckRank({rank, 0});
  for (const Ticket ticket : stage_.Drop(rank)) {
    effects->answers.push_back(AnswerTo(ticket, stale));
  }
  held_.remove_if([&](const PushMessage& message) {
    if (!message.rank.has_value() || message.rank->rank != rank) return false;
    held_bytes_ -= BytesOf(message);
    effects->answers.push_back(AnswerTo(message.ticket, stale));
    return true;
  });
}

void Partition::Load(std::vector<Key> keys, std::vector<float> values,
                     Ticket ticket, absl::Duration now, Effects* effects) {
  absl::StatusOr<LoadRecord> record =
      MakeLoad(std::move(keys), std::move(values));
  if (!record.ok()) {
    effects->done.push_back(DoneWith(ticket, record.status()));
    return;
  }
  Append(*std::move(record));
  pending_.push_back({.number = state_->records(),
                      .what = DoneWith(ticket, absl::OkStatus())});
  Finish(now, effects);
}

absl::StatusOr<LoadRecord> Partition::MakeLoad(
    std::vector<Key> keys, std::vector<float> values) const {
  if (!leads()) return absl::UnavailableError(NotLedHere().message);
  if (state_->folded().trained) {
    return absl::FailedPreconditionError(
        "training has begun: rows can no longer be loaded");
  }
  const size_t width = options_.table.width;
  if (values.size() != keys.size() * width) {
    return absl::InvalidArgumentError(absl::StrCat(
        values.size(), " values for ", keys.size(), " keys of width ", width));
  }
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  LoadRecord record;
  record.keys.resize(keys.size());
  record.values.resize(values.size());
  for (size_t i = 0; i < order.size(); ++i) {
    record.keys[i] = keys[order[i]];
    std::copy_n(values.begin() + order[i] * width, width,
                record.values.begin() + i * width);
  }
  if (absl::Status check = state_->store().CheckKeys(record.keys);
      !check.ok()) {
    return check;
  }
  if (const size_t i = FirstNotFinite(record.values);
      i < record.values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the value of key ",
                     ToOriginalKey(options_.table, record.keys[i / width]),
                     ", column ", i % width, ", is not finite"));
  }
  return record;
}

}  // namespace seraph
