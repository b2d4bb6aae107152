#include "worker/data/row_end.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

struct Entry {
  Key key;
  uint32_t field;
  float value;

  bool SamePlace(const Entry& other) const {
    return key == other.key && field == other.field;
  }
  friend bool operator<(const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.field < b.field;
  }
};

}  // namespace

absl::StatusOr<bool> SortUnfinishedRow(Batch* batch) {
  const size_t begin = batch->row_starts.back();
  const bool has_fields = !batch->fields.empty();
  std::vector<Entry> entries;
  entries.reserve(batch->keys.size() - begin);
  for (size_t i = begin; i < batch->keys.size(); ++i) {
    entries.push_back(
        {batch->keys[i], has_fields ? batch->fields[i] : 0, batch->values[i]});
  }
  std::stable_sort(entries.begin(), entries.end());
  DropUnfinishedRow(batch);
  bool repeated = false;
  for (size_t i = 0; i < entries.size();) {
    const Entry& entry = entries[i];
    double sum = entry.value;
    for (++i; i < entries.size() && entries[i].SamePlace(entry); ++i) {
      sum += entries[i].value;
      repeated = true;
    }
    const float value = static_cast<float>(sum);
    if (!std::isfinite(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the values of the repeated index of key ", entry.key,
                       " add up to more than a float can hold"));
    }
    batch->keys.push_back(entry.key);
    batch->values.push_back(value);
    if (has_fields) batch->fields.push_back(entry.field);
  }
  return repeated;
}

void FinishRow(double label, uint64_t group, Batch* batch) {
  // Records without a group may stand beside records with one.
  if (group != 0 || !batch->groups.empty()) {
    batch->groups.resize(batch->labels.size(), 0);
    batch->groups.push_back(group);
  }
  batch->labels.push_back(label);
  batch->row_starts.push_back(batch->keys.size());
}

void DropUnfinishedRow(Batch* batch) {
  const size_t end = batch->row_starts.back();
  batch->keys.resize(end);
  batch->values.resize(end);
  if (!batch->fields.empty()) batch->fields.resize(end);
}

}  // namespace seraph
