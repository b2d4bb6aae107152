#include "server/core/partition.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/table/partitioning.h"

namespace seraph {
namespace {

// Sessions of clients that are no ranks, remembered for the partition's life.
constexpr size_t kMaxSessions = 4096;
constexpr uint32_t kMaxChunks = 1 << 16;

size_t BytesOf(const PushMessage& message) {
  return sizeof(PushMessage) + message.keys.size() * sizeof(Key) +
         message.values.size() * sizeof(float);
}

PartOutcome Invalid(absl::Status status) {
  return {.code = PartCode::kInvalid, .message = std::string(status.message())};
}

}  // namespace

Partition::Partition(uint64_t epoch, PartitionOptions options,
                     std::unique_ptr<RowStore> store)
    : epoch_(epoch), state_(std::move(options), std::move(store)) {}

absl::Status Partition::BeginAttempt(RankName rank,
                                     std::vector<Answer>* answers) {
  if (rank.rank >= state_.ranks() || rank.attempt == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", rank.rank, " attempt ", rank.attempt,
                     ": the job has ranks 0 to ", state_.ranks() - 1,
                     " and attempts from 1"));
  }
  const uint32_t current = state_.rank(rank.rank).attempt;
  if (rank.attempt < current) {
    return absl::AbortedError(absl::StrCat("rank ", rank.rank, " attempt ",
                                           rank.attempt, ": attempt ", current,
                                           " has begun"));
  }
  if (rank.attempt == current) return absl::OkStatus();
  state_.Fold(AttemptRecord{rank});
  DropStaged(rank.rank);
  AnswerParked(answers);  // Those of older attempts end.
  return absl::OkStatus();
}

PartOutcome Partition::CheckRank(RankName name) const {
  if (name.rank >= state_.ranks()) {
    return {.code = PartCode::kInvalid,
            .message = absl::StrCat("rank ", name.rank, ": the job has ",
                                    state_.ranks())};
  }
  const uint32_t current = state_.rank(name.rank).attempt;
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

PartOutcome Partition::StaleEpoch(uint64_t epoch) const {
  return {.code = PartCode::kStaleEpoch,
          .message =
              absl::StrCat("epoch ", epoch, ", the partition's is ", epoch_)};
}

absl::Status Partition::CheckShape(const PushMessage& message) const {
  const uint32_t width = state_.options().table.width;
  if (message.values.size() != message.keys.size() * width) {
    return absl::InvalidArgumentError(
        absl::StrCat(message.values.size(), " values for ", message.keys.size(),
                     " keys of width ", width));
  }
  if (message.ends_epoch && !message.keys.empty()) {
    return absl::InvalidArgumentError(
        "the entry that ends an epoch carries no keys");
  }
  if (message.chunks == 0 || message.chunks > kMaxChunks ||
      message.chunk >= message.chunks) {
    return absl::InvalidArgumentError(
        absl::StrCat("chunk ", message.chunk, " of ", message.chunks));
  }
  if (absl::Status keys = state_.store().CheckKeys(message.keys); !keys.ok()) {
    return keys;
  }
  for (size_t i = 0; i < message.values.size(); ++i) {
    if (!std::isfinite(message.values[i])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "table '", state_.options().table.name, "', key ",
          ToOriginalKey(state_.options().table, message.keys[i / width]),
          ": the pushed value is not finite"));
    }
  }
  return absl::OkStatus();
}

std::optional<PartOutcome> Partition::JudgeRank(const PushMessage& message) {
  if (PartOutcome rank = CheckRank(*message.rank); rank.code != PartCode::kOk) {
    return rank;
  }
  const RankProgress& progress = state_.rank(message.rank->rank);
  if (message.clock == progress.next) return PartOutcome{};
  if (progress.last_entry.has_value() &&
      message.clock <= *progress.last_entry) {
    if (state_.options().sync.spec.mode == SyncMode::kBsp &&
        message.chunks == 1 && message.clock == *progress.last_entry &&
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
  if (state_.options().sync.spec.mode == SyncMode::kBsp) {
    return PartOutcome{.code = PartCode::kInvalid,
                       .message =
                           "the tables of a bsp job take pushes from "
                           "its ranks only"};
  }
  if (message.session == 0 || message.number == 0 || message.chunks != 1 ||
      message.ends_epoch) {
    return PartOutcome{.code = PartCode::kInvalid,
                       .message =
                           "a push without a rank is named by a session "
                           "and a number from 1, and comes whole"};
  }
  const uint64_t last = state_.session(message.session);
  if (message.number <= last) return std::nullopt;
  if (message.number > last + 1) {
    return PartOutcome{.code = PartCode::kInvalid,
                       .message = absl::StrCat("push ", message.number,
                                               " of a session came where ",
                                               last + 1, " is next")};
  }
  if (last == 0 && state_.sessions() >= kMaxSessions) {
    return PartOutcome{
        .code = PartCode::kInvalid,
        .message = absl::StrCat("more than ", kMaxSessions, " sessions")};
  }
  return PartOutcome{};
}

std::optional<PartOutcome> Partition::Judge(const PushMessage& message) {
  if (message.epoch != epoch_) return StaleEpoch(message.epoch);
  if (!failure().empty()) {
    return PartOutcome{.code = PartCode::kFailed, .message = failure()};
  }
  if (absl::Status shape = CheckShape(message); !shape.ok()) {
    return Invalid(shape);
  }
  return message.rank.has_value() ? JudgeRank(message) : JudgeSession(message);
}

void Partition::Push(PushMessage message, std::vector<Answer>* answers) {
  const Ticket ticket = message.ticket;
  const std::optional<PartOutcome> verdict = Judge(message);
  if (!verdict.has_value()) {  // A repeat.
    answers->push_back(AnswerTo(ticket, {}));
    return;
  }
  if (verdict->code != PartCode::kOk) {
    answers->push_back(AnswerTo(ticket, *verdict));
    return;
  }
  if (message.chunks == 1) {
    if (message.rank.has_value()) DropStaged(message.rank->rank);
    Append(std::move(message));
  } else {
    absl::StatusOr<std::optional<PushMessage>> whole =
        Stage(std::move(message));
    if (!whole.ok()) {
      answers->push_back(AnswerTo(ticket, Invalid(whole.status())));
      return;
    }
    if (whole->has_value()) Append(*std::move(*whole));
  }
  answers->push_back(AnswerTo(ticket, {}));
  AnswerParked(answers);
}

absl::StatusOr<std::optional<PushMessage>> Partition::Stage(
    PushMessage message) {
  const uint32_t rank = message.rank->rank;
  const auto found = staged_.find(rank);
  if (found != staged_.end() &&
      (found->second.clock != message.clock ||
       found->second.chunks.size() != message.chunks)) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", rank, " changed the chunks of entry ",
                     ToString(message.clock), " under way"));
  }
  Staged& staged = staged_[rank];
  if (found == staged_.end()) {
    staged.rank = *message.rank;
    staged.clock = message.clock;
    staged.chunks.resize(message.chunks);
    staged.missing = message.chunks;
  }
  std::optional<PushMessage>& place = staged.chunks[message.chunk];
  if (place.has_value()) return std::nullopt;  // A repeat.
  staged_bytes_ += BytesOf(message);
  place = std::move(message);
  if (--staged.missing > 0) return std::nullopt;

  // Whole: join the chunks, which may not overlap.
  PushMessage whole = std::move(*staged.chunks[0]);
  for (size_t i = 1; i < staged.chunks.size(); ++i) {
    const PushMessage& chunk = *staged.chunks[i];
    whole.keys.insert(whole.keys.end(), chunk.keys.begin(), chunk.keys.end());
    whole.values.insert(whole.values.end(), chunk.values.begin(),
                        chunk.values.end());
  }
  whole.chunk = 0;
  whole.chunks = 1;
  DropStaged(rank);
  if (absl::Status shape = CheckShape(whole); !shape.ok()) return shape;
  return whole;
}

void Partition::DropStaged(uint32_t rank) {
  const auto found = staged_.find(rank);
  if (found == staged_.end()) return;
  staged_.erase(found);
  staged_bytes_ = 0;
  for (const auto& [other, staged] : staged_) {
    for (const auto& chunk : staged.chunks) {
      if (chunk.has_value()) staged_bytes_ += BytesOf(*chunk);
    }
  }
}

void Partition::Append(PushMessage message) {
  if (message.rank.has_value()) {
    state_.Fold(EntryRecord{.rank = *message.rank,
                            .clock = message.clock,
                            .ends_epoch = message.ends_epoch,
                            .examples = message.examples,
                            .keys = std::move(message.keys),
                            .values = std::move(message.values),
                            .ledger = std::move(message.ledger)});
  } else {
    state_.Fold(SessionRecord{.session = message.session,
                              .number = message.number,
                              .keys = std::move(message.keys),
                              .values = std::move(message.values)});
  }
}

void Partition::Pull(PullMessage message, std::vector<Answer>* answers) {
  if (PartOutcome refusal = CheckPull(message); refusal.code != PartCode::kOk) {
    answers->push_back(AnswerTo(message.ticket, std::move(refusal)));
  } else if (std::optional<Answer> answer = TryPull(message);
             answer.has_value()) {
    answers->push_back(*std::move(answer));
  } else {
    parked_.push_back(std::move(message));
  }
}

PartOutcome Partition::CheckPull(const PullMessage& message) const {
  if (message.epoch != epoch_) return StaleEpoch(message.epoch);
  if (absl::Status keys = state_.store().CheckKeys(message.keys); !keys.ok()) {
    return Invalid(keys);
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
    switch (state_.ReadableAt(message.rank->rank, *message.clock)) {
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
                 ToString(state_.slowest()))});
    }
  }
  Answer answer = AnswerTo(message.ticket, {});
  answer.values.resize(message.keys.size() * state_.options().table.width);
  if (message.clock.has_value()) {
    state_.ReadAt(*message.clock, message.keys, absl::MakeSpan(answer.values));
  } else {
    state_.ReadLatest(message.keys, absl::MakeSpan(answer.values));
  }
  return answer;
}

void Partition::AnswerParked(std::vector<Answer>* answers) {
  const auto still_waits = [&](const PullMessage& message) {
    std::optional<Answer> answer = TryPull(message);
    if (!answer.has_value()) return true;
    answers->push_back(*std::move(answer));
    return false;
  };
  parked_.erase(
      std::stable_partition(parked_.begin(), parked_.end(), still_waits),
      parked_.end());
}

void Partition::Fail(std::string reason, std::vector<Answer>* answers) {
  if (failure_.empty()) failure_ = std::move(reason);
  AnswerParked(answers);
}

void Partition::Close(std::vector<Answer>* answers) {
  for (const PullMessage& message : parked_) {
    answers->push_back(AnswerTo(
        message.ticket, {.code = PartCode::kNotHere,
                         .message = "the job's partitions were dropped"}));
  }
  parked_.clear();
}

absl::Status Partition::Load(std::vector<Key> keys, std::vector<float> values) {
  const size_t width = state_.options().table.width;
  if (values.size() != keys.size() * width) {
    return absl::InvalidArgumentError(absl::StrCat(
        values.size(), " values for ", keys.size(), " keys of width ", width));
  }
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  std::vector<Key> sorted_keys(keys.size());
  std::vector<float> sorted_values(values.size());
  for (size_t i = 0; i < order.size(); ++i) {
    sorted_keys[i] = keys[order[i]];
    std::copy_n(values.begin() + order[i] * width, width,
                sorted_values.begin() + i * width);
  }
  if (absl::Status check = state_.store().CheckKeys(sorted_keys); !check.ok()) {
    return check;
  }
  return state_.Load(sorted_keys, sorted_values);
}

Answer Partition::AnswerTo(Ticket ticket, PartOutcome outcome) const {
  return {.ticket = ticket,
          .outcome = std::move(outcome),
          .epoch = epoch_,
          .position = state_.records(),
          .values = {}};
}

}  // namespace seraph
