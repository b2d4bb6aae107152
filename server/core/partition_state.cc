#include "server/core/partition_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/table/partitioning.h"
#include "server/update/schedule.h"
#include "xxhash.h"

namespace seraph {
namespace {

CombineKind CombineKindOf(const PartitionOptions& options) {
  if (options.table.optimizer.kind == OptimizerKind::kAssign) {
    return CombineKind::kLast;
  }
  return options.sync.spec.combine == Combine::kMean ? CombineKind::kMean
                                                     : CombineKind::kSum;
}

size_t BytesOf(const EntryRecord& entry) {
  return sizeof(EntryRecord) + entry.keys.size() * sizeof(Key) +
         entry.values.size() * sizeof(float);
}

}  // namespace

uint64_t EntryChecksum(absl::Span<const Key> keys,
                       absl::Span<const float> values) {
  return XXH3_64bits_withSeed(
      values.data(), values.size() * sizeof(float),
      XXH3_64bits(keys.data(), keys.size() * sizeof(Key)));
}

PartitionState::PartitionState(PartitionOptions options,
                               std::unique_ptr<RowStore> store)
    : options_(std::move(options)),
      combine_(CombineKindOf(options_)),
      store_(std::move(store)),
      ranks_(options_.ranks) {}

void PartitionState::Fold(LogRecord record) {
  ++records_;
  std::visit([this](auto&& one) { FoldOne(std::move(one)); },
             std::move(record));
}

void PartitionState::FoldOne(AttemptRecord record) {
  ranks_[record.rank.rank].attempt = record.rank.attempt;
}

void PartitionState::FoldOne(EntryRecord record) {
  RankProgress& rank = ranks_[record.rank.rank];
  rank.last_entry = record.clock;
  rank.last_checksum = EntryChecksum(record.keys, record.values);
  rank.next =
      record.ends_epoch ? record.clock.NextEpoch() : record.clock.NextStep();
  if (options_.is_ledger) {
    if (record.ends_epoch) rank.epoch_ends.push_back(record.ledger);
    rank.ledger.insert(rank.ledger.begin(), std::move(record.ledger));
    if (rank.ledger.size() > options_.sync.spec.pipeline + 2) {
      rank.ledger.pop_back();
    }
  }
  slowest_ = std::min_element(
                 ranks_.begin(), ranks_.end(),
                 [](const auto& a, const auto& b) { return a.next < b.next; })
                 ->next;

  if (options_.sync.spec.mode == SyncMode::kBsp) {
    waiting_bytes_ += BytesOf(record);
    waiting_[record.clock].emplace(record.rank.rank, std::move(record));
    ApplyCompleteClocks();
  } else if (!record.ends_epoch) {
    Step(record.clock, record.keys, record.values,
         absl::StrCat(" by rank ", record.rank.rank), nullptr);
  }
}

void PartitionState::FoldOne(SessionRecord record) {
  sessions_[record.session] = record.number;
  Step(slowest_, record.keys, record.values,
       absl::StrCat(" by session ", record.session), nullptr);
}

void PartitionState::ApplyCompleteClocks() {
  while (applied_ < slowest_) {
    ApplyClock(applied_);
    previous_ = applied_;
    // When every rank has left the epoch its last clock is behind us, unless
    // entries of it are still waiting.
    const bool epoch_over =
        slowest_.epoch > applied_.epoch &&
        (waiting_.empty() || waiting_.begin()->first.epoch > applied_.epoch);
    applied_ = epoch_over ? applied_.NextEpoch() : applied_.NextStep();
  }
}

void PartitionState::ApplyClock(Clock clock) {
  overwritten_ = Overwritten{};
  overwritten_.sums = sums_;
  const auto entries = waiting_.extract(clock);
  if (entries.empty()) return;

  std::vector<Contribution> by_rank;
  for (const auto& [rank, entry] : entries.mapped()) {
    waiting_bytes_ -= BytesOf(entry);
    if (entry.ends_epoch) continue;
    by_rank.push_back({entry.keys, entry.values, entry.examples});
  }
  if (by_rank.empty()) return;  // Only marks that end the epoch: no step.

  const Combined combined = Combine(combine_, options_.table.width, by_rank);
  Step(clock, combined.keys, combined.values, "", &overwritten_);
}

void PartitionState::Step(Clock clock, absl::Span<const Key> keys,
                          absl::Span<const float> gradients,
                          const std::string& whose, Overwritten* overwritten) {
  const double eta = options_.table.optimizer.learning_rate *
                     ScheduleFactor(options_.table.schedule, clock,
                                    options_.steps_per_epoch, options_.epochs);
  const StepContext step = store_->rule().NextStep(sums_, eta);
  const ApplyResult result = store_->Apply(keys, gradients, step, overwritten);
  sums_ = step.after;
  if (!result.first_not_finite.has_value()) return;
  if (options_.skip_non_finite) {
    skipped_rows_ += result.not_finite;
  } else if (failure_.empty()) {
    failure_ = absl::StrCat(
        "table '", options_.table.name, "', key ",
        ToOriginalKey(options_.table, keys[*result.first_not_finite]),
        ": an update", whose, " at clock ", ToString(clock),
        " gives a value that is not finite; lower train.optimizer's learning "
        "rate, clip the gradient, or set train.on_non_finite: skip");
  }
}

PartitionState::Readable PartitionState::ReadableAt(uint32_t rank,
                                                    Clock clock) const {
  if (!options_.sync.MayAnswer(clock, ranks_[rank].next, slowest_)) {
    return Readable::kNotYet;
  }
  if (options_.sync.spec.mode == SyncMode::kBsp && clock != applied_ &&
      clock != previous_) {
    return Readable::kNoLonger;
  }
  return Readable::kNow;
}

void PartitionState::ReadAt(Clock clock, absl::Span<const Key> keys,
                            absl::Span<float> out) const {
  if (options_.sync.spec.mode == SyncMode::kBsp && clock != applied_) {
    store_->ReadBefore(keys, overwritten_, out);
  } else {
    store_->Read(keys, sums_, out);
  }
}

void PartitionState::ReadLatest(absl::Span<const Key> keys,
                                absl::Span<float> out) const {
  store_->Read(keys, sums_, out);
}

uint64_t PartitionState::session(uint64_t session) const {
  const auto it = sessions_.find(session);
  return it == sessions_.end() ? 0 : it->second;
}

absl::Status PartitionState::Load(absl::Span<const Key> keys,
                                  absl::Span<const float> values) {
  if (records_ > 0) {
    return absl::FailedPreconditionError(
        "training has begun: rows can no longer be loaded");
  }
  return store_->Load(keys, values);
}

size_t PartitionState::bytes() const {
  return store_->bytes() + waiting_bytes_ +
         overwritten_.keys.size() *
             (sizeof(Key) + 1 + options_.table.width * sizeof(float));
}

}  // namespace seraph
