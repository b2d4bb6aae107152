#include "worker/data/batch.h"

namespace seraph {

void Batch::Clear() {
  labels.clear();
  row_starts.assign(1, 0);
  keys.clear();
  values.clear();
  fields.clear();
  groups.clear();
}

void Batch::AppendRow(const Batch& from, size_t row) {
  const size_t begin = from.row_starts[row];
  const size_t end = from.row_starts[row + 1];
  keys.insert(keys.end(), from.keys.begin() + begin, from.keys.begin() + end);
  values.insert(values.end(), from.values.begin() + begin,
                from.values.begin() + end);
  if (!from.fields.empty()) {
    fields.insert(fields.end(), from.fields.begin() + begin,
                  from.fields.begin() + end);
  }
  // Records without a group may stand beside records with one.
  if (!from.groups.empty() || !groups.empty()) {
    groups.resize(labels.size(), 0);
    groups.push_back(from.groups.empty() ? 0 : from.groups[row]);
  }
  labels.push_back(from.labels[row]);
  row_starts.push_back(keys.size());
}

size_t Batch::ByteSize() const {
  return labels.size() * sizeof(double) + row_starts.size() * sizeof(size_t) +
         keys.size() * sizeof(Key) + values.size() * sizeof(float) +
         fields.size() * sizeof(uint32_t) + groups.size() * sizeof(uint64_t);
}

}  // namespace seraph
