#include "server/checkpoint/cut_state.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/little_endian.h"

namespace seraph {
namespace {

// 2 has sightings; without them, it is 1, which is all that earlier versions
// know.
constexpr uint32_t kVersion = 1;
constexpr uint32_t kVersionWithSightings = 2;

void AppendRecords(const std::vector<LedgerRecord>& records, std::string* to) {
  AppendLittleEndian<uint32_t>(records.size(), to);
  for (const LedgerRecord& record : records) {
    AppendLittleEndian(record.clock.epoch, to);
    AppendLittleEndian(record.clock.step, to);
    AppendLittleEndian(record.position_epoch, to);
    AppendLittleEndian(record.position_record, to);
    AppendLittleEndian<uint32_t>(record.sums.size(), to);
    AppendLittleEndian(absl::MakeConstSpan(record.sums), to);
  }
}

// A number of elements, each of at least `least_bytes`; one that cannot be
// there must not cost memory.
bool TakeCount(absl::string_view* from, size_t least_bytes, uint32_t* count) {
  return TakeLittleEndian(from, count) && from->size() / least_bytes >= *count;
}

bool TakeRecords(absl::string_view* from, std::vector<LedgerRecord>* records) {
  uint32_t count = 0;
  if (!TakeCount(from, 24, &count)) return false;
  records->resize(count);
  for (LedgerRecord& record : *records) {
    uint32_t sums = 0;
    if (!TakeLittleEndian(from, &record.clock.epoch) ||
        !TakeLittleEndian(from, &record.clock.step) ||
        !TakeLittleEndian(from, &record.position_epoch) ||
        !TakeLittleEndian(from, &record.position_record) ||
        !TakeCount(from, sizeof(double), &sums)) {
      return false;
    }
    record.sums.resize(sums);
    TakeLittleEndian(from, absl::MakeSpan(record.sums));
  }
  return true;
}

bool TakeAll(absl::string_view from, PartitionCut* cut) {
  uint32_t version = 0;
  uint32_t ranks = 0;
  uint32_t sessions = 0;
  if (!TakeLittleEndian(&from, &version) ||
      (version != kVersion && version != kVersionWithSightings) ||
      !TakeLittleEndian(&from, &cut->skipped_rows) ||
      !TakeCount(&from, 8, &ranks)) {
    return false;
  }
  cut->ranks.resize(ranks);
  for (RankCut& rank : cut->ranks) {
    if (!TakeRecords(&from, &rank.ledger) ||
        !TakeRecords(&from, &rank.epoch_ends)) {
      return false;
    }
  }
  if (!TakeCount(&from, 16, &sessions)) return false;
  for (uint32_t i = 0; i < sessions; ++i) {
    uint64_t session = 0;
    TakeLittleEndian(&from, &session);
    TakeLittleEndian(&from, &cut->sessions[session]);
  }
  if (version == kVersionWithSightings) {
    uint32_t sightings = 0;
    if (!TakeCount(&from, sizeof(Key) + 1, &sightings)) return false;
    cut->sightings.keys.resize(sightings);
    cut->sightings.counts.resize(sightings);
    TakeLittleEndian(&from, absl::MakeSpan(cut->sightings.keys));
    TakeLittleEndian(&from, absl::MakeSpan(cut->sightings.counts));
  }
  return from.empty();
}

}  // namespace

std::string EncodeCutState(const PartitionCut& cut) {
  std::string bytes;
  const Sightings& sightings = cut.sightings;
  AppendLittleEndian(sightings.keys.empty() ? kVersion : kVersionWithSightings,
                     &bytes);
  AppendLittleEndian(cut.skipped_rows, &bytes);
  AppendLittleEndian<uint32_t>(cut.ranks.size(), &bytes);
  for (const RankCut& rank : cut.ranks) {
    AppendRecords(rank.ledger, &bytes);
    AppendRecords(rank.epoch_ends, &bytes);
  }
  AppendLittleEndian<uint32_t>(cut.sessions.size(), &bytes);
  for (const auto& [session, number] : cut.sessions) {
    AppendLittleEndian(session, &bytes);
    AppendLittleEndian(number, &bytes);
  }
  if (!sightings.keys.empty()) {
    AppendLittleEndian<uint32_t>(sightings.keys.size(), &bytes);
    AppendLittleEndian(absl::MakeConstSpan(sightings.keys), &bytes);
    AppendLittleEndian(absl::MakeConstSpan(sightings.counts), &bytes);
  }
  return bytes;
}

absl::StatusOr<PartitionCut> DecodeCutState(absl::string_view bytes) {
  PartitionCut cut;
  if (!TakeAll(bytes, &cut)) {
    return absl::InvalidArgumentError(
        "the server's state in the head cannot be read");
  }
  return cut;
}

}  // namespace seraph
