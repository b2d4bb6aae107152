#include "server/core/key_admission.h"

#include <algorithm>

#include "server/store/make_row_store.h"

namespace seraph {
namespace {

std::unique_ptr<RowStore> CountsOf(const TableSpec& table,
                                   const KeyRange& range) {
  TableSpec counts;
  counts.name = table.name;
  counts.scramble = table.scramble;
  counts.optimizer.kind = OptimizerKind::kSum;
  // Of such a table every range is one.
  return *MakeRowStore(counts, range);
}

}  // namespace

KeyAdmission::KeyAdmission(const TableSpec& table, const KeyRange& range)
    : admit_after_(table.admit_after), counts_(CountsOf(table, range)) {}

void KeyAdmission::Restore(const Sightings& sightings) {
  const std::vector<float> counts(sightings.counts.begin(),
                                  sightings.counts.end());
  // Counts are finite.
  counts_->Load(sightings.keys, counts).IgnoreError();
}

std::vector<size_t> KeyAdmission::Admit(const RowStore& store,
                                        absl::Span<const Key> keys,
                                        absl::Span<const uint8_t> times) {
  const std::vector<uint8_t> exist = store.Exist(keys);
  std::vector<Key> missing;
  std::vector<float> added;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (exist[i]) continue;
    missing.push_back(keys[i]);
    added.push_back(times.empty() ? 1 : times[i]);
  }
  counts_->Apply(missing, added, StepContext{}, nullptr);
  std::vector<float> counts(missing.size());
  counts_->Read(missing, LazySums{}, absl::MakeSpan(counts));

  std::vector<size_t> admitted;
  size_t next = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (exist[i] || counts[next++] >= admit_after_) admitted.push_back(i);
  }
  return admitted;
}

void KeyAdmission::EndEpoch() {
  counts_->Remove(
      [this](Key, const float* count) { return *count >= admit_after_; });
}

Sightings KeyAdmission::sightings() const {
  Sightings sightings{.keys = counts_->Keys(counts_->range())};
  std::vector<float> counts(sightings.keys.size());
  counts_->Read(sightings.keys, LazySums{}, absl::MakeSpan(counts));
  for (const float count : counts) {
    sightings.counts.push_back(std::min(count, 255.0f));
  }
  return sightings;
}

}  // namespace seraph
