#include "worker/model/feature_keys.h"

#include <numeric>

#include "absl/strings/str_cat.h"

namespace seraph {

absl::Status FeatureKeys::Find(const Batch& batch,
                               const std::vector<ModelTable>& tables,
                               BatchKeys* keys) {
  index_.Build(batch.keys, &distinct_, &keys->positions);
  keys->tables.resize(tables.size());
  for (size_t t = 0; t < tables.size(); ++t) {
    const ModelTable& table = tables[t];
    std::vector<Key>& list = keys->tables[t];
    if (table.is_bias) {
      list.resize(table.keys);
      std::iota(list.begin(), list.end(), Key{0});
      continue;
    }
    if (table.kind == TableKind::kDense && !distinct_.empty() &&
        distinct_.back() >= table.keys) {
      return absl::OutOfRangeError(
          absl::StrCat("key ", distinct_.back(), " is not in table '",
                       table.name, "', whose keys are 0 to ", table.keys - 1,
                       " (model.keys: ", table.keys, ")"));
    }
    list.assign(distinct_.begin(), distinct_.end());
  }
  return absl::OkStatus();
}

}  // namespace seraph
