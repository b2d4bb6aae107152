#include "server/core/partition_state.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"
#include "common/table/partitioning.h"
#include "server/core/peer_message.h"
#include "server/functions/function_registry.h"
#include "server/update/expiring_rule.h"
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

// How many of the contributions have each key of their union.
std::vector<uint8_t> Times(KeySpan keys,
                           absl::Span<const Contribution> by_rank) {
  std::vector<uint8_t> times(keys.size());
  for (const Contribution& contribution : by_rank) {
    size_t i = 0;
    for (size_t k = 0; k < contribution.keys.size(); ++k) {
      while (keys[i] != contribution.keys[k]) ++i;
      if (times[i] < std::numeric_limits<uint8_t>::max()) ++times[i];
    }
  }
  return times;
}

// Adds the rows of `keys` that `overwritten` lacks, as it says that they were.
// They exist: functions of entries create none.
void AppendNew(const RowStore& store, absl::Span<const Key> keys,
               const Overwritten& overwritten, Overwritten* more) {
  const size_t begin = more->keys.size();
  const KeySpan written = overwritten.keys;
  std::vector<Key> added;
  for (const Key key : keys) {
    const size_t at = written.LowerBound(0, key);
    if (at == written.size() || written[at] != key) added.push_back(key);
  }
  more->keys.Append(added);
  const size_t width = store.width();
  more->values.resize(more->keys.size() * width);
  more->existed.resize(more->keys.size(), 1);
  store.Read(added, overwritten.sums,
             absl::MakeSpan(more->values).subspan(begin * width));
}

// XXH3 of the keys as numbers of eight bytes, also where they lie nowhere.
uint64_t ChecksumOf(KeySpan keys) {
  if (!keys.is_range()) {
    const absl::Span<const Key> list = keys.list();
    return XXH3_64bits(list.data(), list.size() * sizeof(Key));
  }
  constexpr size_t kPiece = 512;
  Key written[kPiece];
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(
      XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  for (size_t begin = 0; begin < keys.size(); begin += kPiece) {
    const auto piece = keys.subspan(begin, kPiece).WriteOut(written);
    XXH3_64bits_update(state.get(), piece.data(), piece.size() * sizeof(Key));
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace

uint64_t EntryChecksum(KeySpan keys, absl::Span<const float> values) {
  return XXH3_64bits_withSeed(values.data(), values.size() * sizeof(float),
                              ChecksumOf(keys));
}

PartitionState::PartitionState(PartitionOptions options,
                               std::unique_ptr<RowStore> store)
    : PartitionState(std::move(options), std::move(store), FoldedLog{}) {}

PartitionState::PartitionState(PartitionOptions options,
                               std::unique_ptr<RowStore> store,
                               FoldedLog folded)
    : options_(std::move(options)),
      combine_(CombineKindOf(options_)),
      store_(std::move(store)),
      folded_(std::move(folded)) {
  folded_.ranks.resize(options_.ranks);
  if (options_.table.admit_after > 1) {
    admission_.emplace(options_.table, store_->range());
    admission_->Restore(std::exchange(folded_.sightings, {}));
  }
  for (const auto& [clock, entries] : folded_.waiting) {
    for (const auto& [rank, entry] : entries) {
      waiting_bytes_ += BytesOf(*entry);
    }
  }
  FindSlowest();
}

PartitionState::PartitionState(PartitionOptions options,
                               std::unique_ptr<RowStore> store,
                               const PartitionCut& cut)
    : PartitionState(std::move(options), std::move(store), FoldedLog{}) {
  for (size_t i = 0; i < folded_.ranks.size(); ++i) {
    RankProgress& rank = folded_.ranks[i];
    rank.next = cut.ranks[i].clock;
    rank.ledger = cut.ranks[i].ledger;
    rank.epoch_ends = cut.ranks[i].epoch_ends;
  }
  folded_.sessions = cut.sessions;
  folded_.sums = cut.sums;
  if (admission_.has_value()) admission_->Restore(cut.sightings);
  folded_.skipped_rows = cut.skipped_rows;
  folded_.trained = true;
  FindSlowest();
  folded_.applied = slowest_;
}

PartitionCut PartitionState::Cut() const {
  PartitionCut cut{.sums = folded_.sums,
                   .sessions = folded_.sessions,
                   .skipped_rows = folded_.skipped_rows,
                   .sightings = sightings()};
  for (const RankProgress& rank : folded_.ranks) {
    cut.ranks.push_back({.clock = rank.next,
                         .ledger = rank.ledger,
                         .epoch_ends = rank.epoch_ends});
  }
  return cut;
}

absl::StatusOr<PartitionCut> PartitionState::CutBelow(Clock clock) const {
  PartitionCut cut = Cut();
  for (uint32_t i = 0; i < cut.ranks.size(); ++i) {
    // What came at or after the clock still waits.
    size_t entries = 0;
    size_t ends = 0;
    for (auto later = folded_.waiting.lower_bound(clock);
         later != folded_.waiting.end(); ++later) {
      const auto entry = later->second.find(i);
      if (entry == later->second.end()) continue;
      ++entries;
      ends += std::get<EntryRecord>(*entry->second).ends_epoch;
    }
    if (entries == 0) continue;  // It stands there, or has ended the epoch.
    RankCut& rank = cut.ranks[i];
    rank.clock = clock;
    if (!options_.is_ledger) continue;
    if (clock.step > 0 && entries >= rank.ledger.size()) {
      return absl::AbortedError(absl::StrCat(
          "rank ", i, " is too far ahead of ", ToString(clock), " for a cut"));
    }
    rank.ledger.erase(
        rank.ledger.begin(),
        rank.ledger.begin() + std::min(entries, rank.ledger.size()));
    rank.epoch_ends.resize(rank.epoch_ends.size() - ends);
  }
  return cut;
}

LogPosition PartitionState::last() const {
  if (folded_.records == 0) return {};
  return {folded_.epoch_starts.back().epoch, folded_.records};
}

uint64_t PartitionState::EpochOf(uint64_t number) const {
  const auto after = std::upper_bound(
      folded_.epoch_starts.begin(), folded_.epoch_starts.end(), number,
      [](uint64_t n, const LogPosition& start) { return n < start.number; });
  return std::prev(after)->epoch;
}

bool PartitionState::Contains(LogPosition position) const {
  if (position.number == 0) return position.epoch == 0;
  return position.number <= folded_.records &&
         EpochOf(position.number) == position.epoch;
}

void PartitionState::Fold(uint64_t epoch, RecordPtr record, KeyList* list) {
  ++folded_.records;
  if (folded_.epoch_starts.empty() ||
      folded_.epoch_starts.back().epoch != epoch) {
    folded_.epoch_starts.push_back({epoch, folded_.records});
  }
  if (std::holds_alternative<EntryRecord>(*record)) {
    FoldEntry(std::move(record), list);
  } else if (const auto* attempt = std::get_if<AttemptRecord>(record.get())) {
    FoldOne(*attempt);
  } else if (const auto* session = std::get_if<SessionRecord>(record.get())) {
    FoldOne(*session, list);
  } else if (const auto* call = std::get_if<CallRecord>(record.get())) {
    FoldOne(*call);
  } else {
    FoldOne(std::get<LoadRecord>(*record));
  }
}

void PartitionState::FoldOne(const AttemptRecord& record) {
  folded_.trained = true;
  folded_.ranks[record.rank.rank].attempt = record.rank.attempt;
}

void PartitionState::FindSlowest() {
  slowest_ = std::min_element(
                 folded_.ranks.begin(), folded_.ranks.end(),
                 [](const auto& a, const auto& b) { return a.next < b.next; })
                 ->next;
}

void PartitionState::FoldEntry(RecordPtr shared, KeyList* list) {
  folded_.trained = true;
  const EntryRecord& record = std::get<EntryRecord>(*shared);
  RankProgress& rank = folded_.ranks[record.rank.rank];
  rank.last_entry = record.clock;
  if (options_.sync.spec.mode == SyncMode::kBsp) {
    rank.last_checksum = EntryChecksum(record.keys, record.values);
  }
  rank.next =
      record.ends_epoch ? record.clock.NextEpoch() : record.clock.NextStep();
  if (options_.is_ledger) {
    if (record.ends_epoch) rank.epoch_ends.push_back(record.ledger);
    rank.ledger.insert(rank.ledger.begin(), record.ledger);
    if (rank.ledger.size() > options_.sync.spec.pipeline + 2) {
      rank.ledger.pop_back();
    }
  }
  const uint32_t epoch = slowest_.epoch;
  FindSlowest();

  if (options_.sync.spec.mode == SyncMode::kBsp) {
    waiting_bytes_ += BytesOf(*shared);
    folded_.waiting[record.clock].emplace(record.rank.rank, shared);
    ApplyCompleteClocks();
  } else if (!record.ends_epoch) {
    const auto whose = [&] {
      return absl::StrCat(" by rank ", record.rank.rank);
    };
    Step(record.clock, record.keys, {}, record.values, whose, nullptr, list);
    for (const FunctionCall& call : record.calls) {
      RunCall(call, record.clock, whose, nullptr);
    }
  }
  if (slowest_.epoch > epoch) EndEpoch();
}

void PartitionState::EndEpoch() {
  const uint32_t epochs = options_.table.expire_after_epochs;
  if (epochs > 0 && slowest_.epoch > epochs) {
    const uint32_t first_kept = slowest_.epoch - epochs;
    const uint32_t row_cells = store_->rule().row_cells();
    store_->Remove([&](Key, const float* row) {
      return EpochOfRow(row, row_cells) < first_kept;
    });
  }
  if (admission_.has_value()) admission_->EndEpoch();
}

Sightings PartitionState::sightings() const {
  return admission_.has_value() ? admission_->sightings() : Sightings{};
}

void PartitionState::FoldOne(const SessionRecord& record, KeyList* list) {
  folded_.trained = true;
  folded_.sessions[record.session] = record.number;
  Step(
      slowest_, record.keys, {}, record.values,
      [&] { return absl::StrCat(" by session ", record.session); }, nullptr,
      list);
}

void PartitionState::FoldOne(const CallRecord& record) {
  folded_.trained = true;
  folded_.sessions[record.session] = record.number;
  const auto whose = [&] {
    return absl::StrCat(" by session ", record.session);
  };
  if (record.has_effect) {
    SetWeights(record.keys, record.values,
               absl::StrCat("function '", record.call.function, "'", whose()));
  } else {
    RunCall(record.call, slowest_, whose, nullptr);
  }
}

void PartitionState::RunCall(const FunctionCall& call, Clock clock, Whose whose,
                             Overwritten* overwritten) {
  const std::string what = absl::StrCat("function '", call.function, "'",
                                        whose(), " at clock ", ToString(clock));
  // The primary has planned it, and so has every replica that took it.
  const absl::StatusOr<PlannedCall> planned =
      FunctionRegistry::BuiltIns().PlanLogged(call, options_.table);
  Overwritten more;
  absl::Status status = planned.status();
  if (status.ok()) {
    status = planned->function->Write(
        RowsAt(*store_, folded_.sums), planned->input(),
        [&](absl::Span<const Key> keys, absl::Span<const float> values) {
          if (overwritten != nullptr) {
            AppendNew(*store_, keys, *overwritten, &more);
          }
          SetWeights(keys, values, what);
        });
  }
  if (overwritten != nullptr) {
    MergeOverwritten(more, options_.table.width, overwritten);
  }
  if (!status.ok() && folded_.failure.empty()) {
    folded_.failure = absl::StrCat("table '", options_.table.name, "': ", what,
                                   ": ", status.message());
  }
}

void PartitionState::SetWeights(absl::Span<const Key> keys,
                                absl::Span<const float> values,
                                absl::string_view what) {
  const ApplyResult result = store_->SetWeights(keys, values, folded_.sums);
  if (!result.first_not_finite.has_value()) return;
  if (options_.skip_non_finite) {
    folded_.skipped_rows += result.not_finite;
  } else if (folded_.failure.empty()) {
    folded_.failure = absl::StrCat(
        "table '", options_.table.name, "', key ",
        ToOriginalKey(options_.table, keys[*result.first_not_finite]), ": ",
        what, " gives a value that is not finite");
  }
}

void PartitionState::FoldOne(const LoadRecord& record) {
  // Whoever appended it has checked that the values are finite.
  const absl::Status loaded = store_->Load(record.keys, record.values);
  if (!loaded.ok() && folded_.failure.empty()) {
    folded_.failure = std::string(loaded.message());
  }
}

void PartitionState::ApplyCompleteClocks() {
  Clock& applied = folded_.applied;
  while (applied < slowest_) {
    ApplyClock(applied);
    folded_.previous = applied;
    // When every rank has left the epoch its last clock is behind us, unless
    // entries of it are still waiting.
    const bool epoch_over =
        slowest_.epoch > applied.epoch &&
        (folded_.waiting.empty() ||
         folded_.waiting.begin()->first.epoch > applied.epoch);
    applied = epoch_over ? applied.NextEpoch() : applied.NextStep();
  }
}

void PartitionState::ApplyClock(Clock clock) {
  folded_.overwritten = Overwritten{};
  folded_.overwritten.sums = folded_.sums;
  const auto entries = folded_.waiting.extract(clock);
  if (entries.empty()) return;

  std::vector<Contribution> by_rank;
  for (const auto& [rank, shared] : entries.mapped()) {
    waiting_bytes_ -= BytesOf(*shared);
    const EntryRecord& entry = std::get<EntryRecord>(*shared);
    if (entry.ends_epoch) continue;
    by_rank.push_back({entry.keys, entry.values, entry.examples});
  }
  if (by_rank.empty()) return;  // Only marks that end the epoch: no step.

  const Combined combined = Combine(combine_, options_.table.width, by_rank);
  Step(
      clock, combined.keys,
      admission_.has_value() ? Times(combined.keys, by_rank)
                             : std::vector<uint8_t>(),
      combined.values, [] { return std::string(); }, &folded_.overwritten,
      nullptr);
  for (const auto& [rank, shared] : entries.mapped()) {
    for (const FunctionCall& call : std::get<EntryRecord>(*shared).calls) {
      RunCall(
          call, clock,
          [rank = rank] { return absl::StrCat(" by rank ", rank); },
          &folded_.overwritten);
    }
  }
}

void PartitionState::Step(Clock clock, KeySpan keys,
                          absl::Span<const uint8_t> times,
                          absl::Span<const float> gradients, Whose whose,
                          Overwritten* overwritten, KeyList* list) {
  std::vector<Key> admitted_keys;
  std::vector<float> admitted_gradients;
  if (admission_.has_value()) {
    const size_t width = options_.table.width;
    std::vector<Key> written;
    for (const size_t i :
         admission_->Admit(*store_, keys.WriteOut(&written), times)) {
      admitted_keys.push_back(keys[i]);
      const auto gradient = gradients.subspan(i * width, width);
      admitted_gradients.insert(admitted_gradients.end(), gradient.begin(),
                                gradient.end());
    }
    keys = admitted_keys;
    gradients = admitted_gradients;
    list = nullptr;
  }
  const double eta = options_.table.optimizer.learning_rate *
                     ScheduleFactor(options_.table.schedule, clock,
                                    options_.steps_per_epoch, options_.epochs);
  StepContext step = store_->rule().NextStep(folded_.sums, eta);
  step.epoch = clock.epoch;
  if (keys.empty() && overwritten == nullptr) {
    folded_.sums = step.after;
    return;
  }
  const ApplyResult result =
      store_->Apply(keys, gradients, step, overwritten,
                    list == nullptr ? nullptr : list->rows());
  folded_.sums = step.after;
  if (!result.first_not_finite.has_value()) return;
  if (options_.skip_non_finite) {
    folded_.skipped_rows += result.not_finite;
  } else if (folded_.failure.empty()) {
    folded_.failure = absl::StrCat(
        "table '", options_.table.name, "', key ",
        ToOriginalKey(options_.table, keys[*result.first_not_finite]),
        ": an update", whose(), " at clock ", ToString(clock),
        " gives a value that is not finite; lower train.optimizer's learning "
        "rate, clip the gradient, or set train.on_non_finite: skip");
  }
}

PartitionState::Readable PartitionState::ReadableAt(uint32_t rank,
                                                    Clock clock) const {
  if (!options_.sync.MayAnswer(clock, folded_.ranks[rank].next, slowest_)) {
    return Readable::kNotYet;
  }
  if (options_.sync.spec.mode == SyncMode::kBsp && clock != folded_.applied &&
      clock != folded_.previous) {
    return Readable::kNoLonger;
  }
  return Readable::kNow;
}

bool PartitionState::IsBefore(Clock clock) const {
  return options_.sync.spec.mode == SyncMode::kBsp &&
         clock != folded_.applied && !IsPlanted(PlantedBug::kDropOverwritten);
}

void PartitionState::ReadAt(Clock clock, KeySpan keys, absl::Span<float> out,
                            ResolvedRows* known) const {
  if (IsBefore(clock)) {
    store_->ReadBefore(keys, folded_.overwritten, out);
  } else {
    store_->Read(keys, folded_.sums, out, known);
  }
}

void PartitionState::ReadLatest(KeySpan keys, absl::Span<float> out,
                                ResolvedRows* known) const {
  store_->Read(keys, folded_.sums, out, known);
}

RowsAt PartitionState::RowsFor(std::optional<Clock> clock) const {
  return clock.has_value() && IsBefore(*clock)
             ? RowsAt(*store_, folded_.overwritten)
             : RowsAt(*store_, folded_.sums);
}

uint64_t PartitionState::session(uint64_t session) const {
  const auto it = folded_.sessions.find(session);
  return it == folded_.sessions.end() ? 0 : it->second;
}

size_t PartitionState::bytes() const {
  return store_->bytes() + waiting_bytes_ +
         (admission_.has_value() ? admission_->bytes() : 0) +
         folded_.overwritten.keys.bytes() +
         folded_.overwritten.keys.size() *
             (1 + options_.table.width * sizeof(float));
}

}  // namespace seraph
