#include "server/core/partition_snapshot.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/little_endian.h"
#include "common/base/planted_bug.h"
#include "xxhash.h"

namespace seraph {
namespace {

constexpr absl::string_view kMagic = "SRPHSNP2";
// What a rank takes at least.
constexpr size_t kRankBytes = 45;
// ... and a function call.
constexpr size_t kCallBytes = 24;
constexpr size_t kGroup = 4096;  // Rows.

class Writer {
 public:
  template <typename T>
  void Number(T value) {
    AppendLittleEndian(value, &bytes_);
  }
  template <typename T>
  void Array(absl::Span<const T> values) {
    Number<uint64_t>(values.size());
    AppendLittleEndian(values, &bytes_);
  }
  template <typename T>
  void Array(const std::vector<T>& values) {
    Array(absl::MakeConstSpan(values));
  }
  // Written out, however they are told.
  void Keys(KeySpan keys) {
    Number<uint64_t>(keys.size());
    Key written[kGroup];
    for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
      AppendLittleEndian(keys.subspan(begin, kGroup).WriteOut(written),
                         &bytes_);
    }
  }
  void Text(absl::string_view text) {
    Number<uint64_t>(text.size());
    bytes_.append(text.data(), text.size());
  }
  void Put(Clock clock) {
    Number(clock.epoch);
    Number(clock.step);
  }
  void Put(const std::optional<Clock>& clock) {
    Number<uint8_t>(clock.has_value());
    Put(clock.value_or(Clock{}));
  }
  void Put(const LazySums& sums) {
    Number(sums.log_decay);
    Number(sums.shrink);
  }
  void Put(const LedgerRecord& record) {
    Put(record.clock);
    Number(record.position_epoch);
    Number(record.position_record);
    Array(record.sums);
  }
  void Put(const std::vector<LedgerRecord>& records) {
    Number<uint64_t>(records.size());
    for (const LedgerRecord& record : records) Put(record);
  }
  void Put(const RankProgress& rank) {
    Number(rank.attempt);
    Put(rank.next);
    Put(rank.last_entry);
    Number(rank.last_checksum);
    Put(rank.ledger);
    Put(rank.epoch_ends);
  }
  void Put(const EntryRecord& entry) {
    Number(entry.rank.rank);
    Number(entry.rank.attempt);
    Put(entry.clock);
    Number<uint8_t>(entry.ends_epoch);
    Number(entry.examples);
    Keys(entry.keys);
    Array(absl::MakeConstSpan(entry.values));
    Put(entry.ledger);
    Number<uint64_t>(entry.calls.size());
    for (const FunctionCall& call : entry.calls) Put(call);
  }
  void Put(const FunctionCall& call) {
    Text(call.function);
    Number(call.version);
    Number(call.column);
    Number<uint64_t>(call.arguments.size());
    for (const FunctionValue& value : call.arguments) {
      Number<uint8_t>(value.index());
      std::visit([this](const auto& one) { PutValue(one); }, value);
    }
  }

  std::string* bytes() { return &bytes_; }

 private:
  void PutValue(int64_t value) { Number(value); }
  void PutValue(double value) { Number(value); }
  void PutValue(const std::string& value) { Text(value); }
  template <typename T>
  void PutValue(const std::vector<T>& values) {
    Array(values);
  }

  std::string bytes_;
};

// Reads what Writer wrote. After a failure everything reads as zero, and no
// list is longer than the bytes that are left could hold.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return ok_ && bytes_.empty(); }
  void Fail() { ok_ = false; }

  template <typename T>
  T Number() {
    T value{};
    if (!ok_ || !TakeLittleEndian(&bytes_, &value)) ok_ = false;
    return ok_ ? value : T{};
  }
  // Of a list whose elements take at least `least` bytes each.
  size_t Length(size_t least) {
    const uint64_t length = Number<uint64_t>();
    if (length > bytes_.size() / least) ok_ = false;
    return ok_ ? length : 0;
  }
  template <typename T>
  std::vector<T> Array() {
    std::vector<T> values(Length(sizeof(T)));
    if (ok_) TakeLittleEndian(&bytes_, absl::MakeSpan(values));
    return values;
  }
  std::string Text() {
    const size_t size = Length(1);
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }
  template <typename T>
  void Fill(absl::Span<T> values) {
    if (ok_ && !TakeLittleEndian(&bytes_, values)) ok_ = false;
  }
  bool Flag() {
    const uint8_t value = Number<uint8_t>();
    if (value > 1) ok_ = false;
    return value == 1;
  }
  Clock TakeClock() {
    const uint32_t epoch = Number<uint32_t>();
    return {epoch, Number<uint32_t>()};
  }
  std::optional<Clock> TakeOptionalClock() {
    const bool there = Flag();
    const Clock clock = TakeClock();
    return there ? std::optional<Clock>(clock) : std::nullopt;
  }
  LazySums TakeSums() {
    const double log_decay = Number<double>();
    return {log_decay, Number<double>()};
  }
  LedgerRecord TakeLedger() {
    LedgerRecord record;
    record.clock = TakeClock();
    record.position_epoch = Number<uint32_t>();
    record.position_record = Number<uint64_t>();
    record.sums = Array<double>();
    return record;
  }
  std::vector<LedgerRecord> TakeLedgers() {
    std::vector<LedgerRecord> records(Length(28));
    for (LedgerRecord& record : records) record = TakeLedger();
    return records;
  }
  RankProgress TakeRank() {
    RankProgress rank;
    rank.attempt = Number<uint32_t>();
    rank.next = TakeClock();
    rank.last_entry = TakeOptionalClock();
    rank.last_checksum = Number<uint64_t>();
    rank.ledger = TakeLedgers();
    rank.epoch_ends = TakeLedgers();
    return rank;
  }
  EntryRecord TakeEntry() {
    EntryRecord entry;
    entry.rank.rank = Number<uint32_t>();
    entry.rank.attempt = Number<uint32_t>();
    entry.clock = TakeClock();
    entry.ends_epoch = Flag();
    entry.examples = Number<uint64_t>();
    entry.keys = Array<Key>();
    entry.values.resize(Length(sizeof(float)));
    Fill(absl::MakeSpan(entry.values));
    entry.ledger = TakeLedger();
    entry.calls.resize(Length(kCallBytes));
    for (FunctionCall& call : entry.calls) call = TakeCall();
    return entry;
  }
  FunctionCall TakeCall() {
    FunctionCall call;
    call.function = Text();
    call.version = Number<uint32_t>();
    call.column = Number<uint32_t>();
    call.arguments.resize(Length(1 + sizeof(uint64_t)));
    for (FunctionValue& value : call.arguments) value = TakeValue();
    return call;
  }
  FunctionValue TakeValue() {
    switch (static_cast<ValueType>(Number<uint8_t>())) {
      case ValueType::kInt:
        return Number<int64_t>();
      case ValueType::kDouble:
        return Number<double>();
      case ValueType::kText:
        return Text();
      case ValueType::kKeys:
        return Array<Key>();
      case ValueType::kFloats:
        return Array<float>();
    }
    Fail();
    return int64_t{0};
  }

 private:
  absl::string_view bytes_;
  bool ok_ = true;
};

void WriteRows(const RowStore& store, Writer* to) {
  const size_t cells = store.rule().row_cells();
  std::vector<Key> keys;
  std::vector<float> rows;
  keys.reserve(store.rows());
  rows.reserve(store.rows() * cells);
  std::vector<Key> block_keys;
  std::vector<float> block_cells;
  for (size_t block = 0; block < store.blocks(); ++block) {
    store.CopyBlock(block, &block_keys, &block_cells);
    keys.insert(keys.end(), block_keys.begin(), block_keys.end());
    rows.insert(rows.end(), block_cells.begin(), block_cells.end());
  }
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  if (!std::is_sorted(keys.begin(), keys.end())) {
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  }
  to->Number<uint64_t>(keys.size());
  to->Number<uint32_t>(cells);
  for (const size_t i : order) to->Number(keys[i]);
  for (const size_t i : order) {
    AppendLittleEndian(absl::MakeConstSpan(rows).subspan(i * cells, cells),
                       to->bytes());
  }
}

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("a snapshot: ", what));
}

absl::Status TakeRows(Reader* from, RowStore* store) {
  const size_t cells = store->rule().row_cells();
  const size_t rows = from->Length(sizeof(Key) + cells * sizeof(float));
  if (from->Number<uint32_t>() != cells) from->Fail();
  if (!from->ok()) return Damaged("its rows have another shape");
  std::vector<Key> keys(rows);
  from->Fill(absl::MakeSpan(keys));
  if (absl::Status status = store->CheckKeys(keys); !status.ok()) {
    return Damaged(status.message());
  }
  // In groups: a second copy of all rows would be a lot of memory.
  std::vector<float> values;
  for (size_t begin = 0; begin < rows; begin += kGroup) {
    const auto group = absl::MakeConstSpan(keys).subspan(begin, kGroup);
    values.resize(group.size() * cells);
    from->Fill(absl::MakeSpan(values));
    if (!from->ok()) break;
    if (absl::Status status = store->RestoreRows(group, values); !status.ok()) {
      return Damaged(status.message());
    }
  }
  if (!from->AtEnd()) return Damaged("its rows are not all there");
  return absl::OkStatus();
}

// Whether folding can go on from it: nothing in it may break what the state
// takes for granted.
bool IsSound(const FoldedLog& folded, const PartitionOptions& options,
             const RowStore& store) {
  uint64_t number = 0, epoch = 0;
  for (const LogPosition& start : folded.epoch_starts) {
    if (start.epoch <= epoch || start.number <= number) return false;
    epoch = start.epoch;
    number = start.number;
  }
  if (number > folded.records ||
      folded.epoch_starts.empty() != (folded.records == 0) ||
      (!folded.epoch_starts.empty() &&
       folded.epoch_starts.front().number != 1) ||
      folded.ranks.size() != options.ranks) {
    return false;
  }
  if (options.sync.spec.mode == SyncMode::kBsp) {
    // All complete clocks are applied.
    for (const RankProgress& rank : folded.ranks) {
      if (rank.next < folded.applied) return false;
    }
    if (std::none_of(folded.ranks.begin(), folded.ranks.end(),
                     [&](const RankProgress& rank) {
                       return rank.next == folded.applied;
                     })) {
      return false;
    }
  }
  const Sightings& sightings = folded.sightings;
  if (sightings.counts.size() != sightings.keys.size() ||
      !store.CheckKeys(sightings.keys).ok()) {
    return false;
  }
  const size_t width = options.table.width;
  const Overwritten& old = folded.overwritten;
  if (old.values.size() != old.keys.size() * width ||
      old.existed.size() != old.keys.size() ||
      !store.CheckKeys(old.keys).ok()) {
    return false;
  }
  for (const auto& [clock, entries] : folded.waiting) {
    for (const auto& [rank, record] : entries) {
      const auto& entry = std::get<EntryRecord>(*record);
      if (clock < folded.applied || rank >= options.ranks ||
          entry.values.size() != entry.keys.size() * width ||
          !store.CheckKeys(entry.keys).ok()) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

Snapshot EncodeSnapshot(const PartitionState& state) {
  const FoldedLog& folded = state.folded();
  Snapshot snapshot{.position = state.last()};
  if (IsPlanted(PlantedBug::kSnapshotWhileWriting) && folded.records > 1) {
    snapshot.position.number = folded.records - 1;
    snapshot.position.epoch = state.EpochOf(folded.records - 1);
  }
  Writer to;
  to.bytes()->append(kMagic.data(), kMagic.size());
  to.Number(snapshot.position.number);
  uint64_t starts = folded.epoch_starts.size();
  while (starts > 0 &&
         folded.epoch_starts[starts - 1].number > snapshot.position.number) {
    --starts;
  }
  to.Number(starts);
  for (uint64_t i = 0; i < starts; ++i) {
    to.Number(folded.epoch_starts[i].epoch);
    to.Number(folded.epoch_starts[i].number);
  }
  to.Number<uint8_t>(folded.trained);
  to.Number<uint64_t>(folded.ranks.size());
  for (const RankProgress& rank : folded.ranks) to.Put(rank);
  to.Number<uint64_t>(folded.sessions.size());
  for (const auto& [session, number] : folded.sessions) {
    to.Number(session);
    to.Number(number);
  }
  to.Put(folded.sums);
  to.Number(folded.skipped_rows);
  const Sightings sightings = state.sightings();
  to.Array(sightings.keys);
  to.Array(sightings.counts);
  to.Text(folded.failure);
  uint64_t waiting = 0;
  for (const auto& [clock, entries] : folded.waiting) waiting += entries.size();
  to.Number(waiting);
  for (const auto& [clock, entries] : folded.waiting) {
    for (const auto& [rank, record] : entries) {
      to.Put(std::get<EntryRecord>(*record));
    }
  }
  to.Put(folded.applied);
  to.Put(folded.previous);
  to.Keys(folded.overwritten.keys);
  to.Array(folded.overwritten.values);
  to.Array(folded.overwritten.existed);
  to.Put(folded.overwritten.sums);
  WriteRows(state.store(), &to);
  to.Number<uint64_t>(XXH3_64bits(to.bytes()->data(), to.bytes()->size()));
  snapshot.bytes = std::move(*to.bytes());
  return snapshot;
}

absl::StatusOr<std::unique_ptr<PartitionState>> DecodeSnapshot(
    absl::string_view bytes, const PartitionOptions& options,
    std::unique_ptr<RowStore> store) {
  constexpr size_t kEnd = sizeof(uint64_t);
  if (bytes.size() < kMagic.size() + kEnd ||
      bytes.substr(0, kMagic.size()) != kMagic) {
    return Damaged("it does not begin as one");
  }
  Reader sum(bytes.substr(bytes.size() - kEnd));
  bytes.remove_suffix(kEnd);
  if (sum.Number<uint64_t>() != XXH3_64bits(bytes.data(), bytes.size())) {
    return Damaged("its checksum is wrong");
  }
  Reader from(bytes.substr(kMagic.size()));
  FoldedLog folded;
  folded.records = from.Number<uint64_t>();
  folded.epoch_starts.resize(from.Length(2 * sizeof(uint64_t)));
  for (LogPosition& start : folded.epoch_starts) {
    start.epoch = from.Number<uint64_t>();
    start.number = from.Number<uint64_t>();
  }
  folded.trained = from.Flag();
  folded.ranks.resize(from.Length(kRankBytes));
  for (RankProgress& rank : folded.ranks) rank = from.TakeRank();
  for (size_t left = from.Length(2 * sizeof(uint64_t)); left > 0; --left) {
    const uint64_t session = from.Number<uint64_t>();
    folded.sessions[session] = from.Number<uint64_t>();
  }
  folded.sums = from.TakeSums();
  folded.skipped_rows = from.Number<uint64_t>();
  folded.sightings.keys = from.Array<Key>();
  folded.sightings.counts = from.Array<uint8_t>();
  folded.failure = from.Text();
  for (size_t left = from.Length(1); left > 0 && from.ok(); --left) {
    EntryRecord entry = from.TakeEntry();
    const Clock clock = entry.clock;
    const uint32_t rank = entry.rank.rank;
    folded.waiting[clock].emplace(
        rank, std::make_shared<const LogRecord>(std::move(entry)));
  }
  folded.applied = from.TakeClock();
  folded.previous = from.TakeOptionalClock();
  folded.overwritten.keys = from.Array<Key>();
  folded.overwritten.values = from.Array<float>();
  folded.overwritten.existed = from.Array<uint8_t>();
  folded.overwritten.sums = from.TakeSums();
  if (!from.ok() || !IsSound(folded, options, *store)) {
    return Damaged("it is of no such partition");
  }
  if (absl::Status rows = TakeRows(&from, store.get()); !rows.ok()) {
    return rows;
  }
  return std::make_unique<PartitionState>(options, std::move(store),
                                          std::move(folded));
}

}  // namespace seraph
