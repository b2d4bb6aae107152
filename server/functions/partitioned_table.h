// A table in a test, cut into any number of partitions.
#ifndef SERAPH_SERVER_FUNCTIONS_PARTITIONED_TABLE_H_
#define SERAPH_SERVER_FUNCTIONS_PARTITIONED_TABLE_H_

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/key.h"
#include "common/functions/partial_result.h"
#include "common/table/partitioning.h"
#include "server/functions/function_registry.h"
#include "server/store/make_row_store.h"

namespace seraph::testing {

// By original key.
using Model = std::map<Key, std::vector<float>>;

class PartitionedTable {
 public:
  PartitionedTable(TableSpec table, uint32_t partitions) : table_(table) {
    table_.partitions = partitions;
    const Partitioning cut(table_);
    for (uint32_t p = 0; p < cut.partitions(); ++p) {
      stores_.push_back(*MakeRowStore(table_, cut.PartitionRange(p)));
    }
    overwritten_.resize(stores_.size());
  }

  // One step of every partition. Keys are original ones, in any order.
  void Push(const Model& gradients, double eta = 0.1) {
    const Partitioning cut(table_);
    std::vector<std::map<Key, std::vector<float>>> parts(stores_.size());
    for (const auto& [key, gradient] : gradients) {
      const Key mixed = ToMixedKey(table_, key);
      parts[cut.PartitionOf(mixed)][mixed] = gradient;
    }
    const StepContext step = stores_[0]->rule().NextStep(sums_, eta);
    for (size_t p = 0; p < stores_.size(); ++p) {
      std::vector<Key> keys;
      std::vector<float> values;
      for (const auto& [key, gradient] : parts[p]) {
        keys.push_back(key);
        values.insert(values.end(), gradient.begin(), gradient.end());
      }
      stores_[p]->Apply(keys, values, step, &overwritten_[p]);
    }
    sums_ = step.after;
  }

  absl::StatusOr<std::vector<FunctionValue>> Read(
      const FunctionCall& call, bool before = false,
      const PartitionedTable* other = nullptr,
      const FunctionRegistry& registry = FunctionRegistry::BuiltIns()) const {
    const auto planned = registry.Plan(call, table_.width);
    if (!planned.ok()) return planned.status();
    std::vector<PartialResult> parts;
    for (size_t p = 0; p < stores_.size(); ++p) {
      FunctionInput input = planned->input();
      ColumnCopy copy;
      if (other != nullptr) {
        copy = other->Copy(
            p, std::get<int64_t>(
                   call.arguments[*planned->function->signature().Find(
                       "column")]));
        input.other = &copy;
      }
      auto part = planned->function->Read(RowsOf(p, before), input);
      if (!part.ok()) return part.status();
      parts.push_back(*std::move(part));
    }
    return CombineParts(planned->function->signature().combine, parts);
  }

  absl::Status Write(
      const FunctionCall& call, const PartitionedTable* other = nullptr,
      const FunctionRegistry& registry = FunctionRegistry::BuiltIns()) {
    const auto planned = registry.Plan(call, table_.width);
    if (!planned.ok()) return planned.status();
    for (size_t p = 0; p < stores_.size(); ++p) {
      FunctionInput input = planned->input();
      ColumnCopy copy;
      if (other != nullptr) {
        copy = other->Copy(
            p, std::get<int64_t>(
                   call.arguments[*planned->function->signature().Find(
                       "column")]));
        input.other = &copy;
      }
      const absl::Status status = planned->function->Write(
          RowsOf(p, false), input,
          [&](absl::Span<const Key> keys, absl::Span<const float> values) {
            stores_[p]->SetWeights(keys, values, sums_);
          });
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // What pulls of all existing keys return.
  Model Rows(bool before = false) const {
    Model model;
    for (size_t p = 0; p < stores_.size(); ++p) {
      RowsOf(p, before).ForEach([&](uint32_t, absl::Span<const Key> keys,
                                    absl::Span<float> values) {
        for (size_t i = 0; i < keys.size(); ++i) {
          const auto row = values.subspan(i * table_.width, table_.width);
          model[ToOriginalKey(table_, keys[i])].assign(row.begin(), row.end());
        }
      });
    }
    return model;
  }

  ColumnCopy Copy(size_t partition, uint32_t column) const {
    FunctionInput input;
    input.column = column;
    auto result = *ColumnCopyFunction()->Read(RowsOf(partition, false), input);
    return {.table = table_,
            .column = column,
            .keys = std::get<std::vector<Key>>(result.values[0]),
            .values = std::get<std::vector<float>>(result.values[1])};
  }

  const TableSpec& table() const { return table_; }
  size_t partitions() const { return stores_.size(); }
  RowStore& store(size_t partition) { return *stores_[partition]; }

 private:
  RowsAt RowsOf(size_t partition, bool before) const {
    return before ? RowsAt(*stores_[partition], overwritten_[partition])
                  : RowsAt(*stores_[partition], sums_);
  }

  TableSpec table_;
  std::vector<std::unique_ptr<RowStore>> stores_;
  std::vector<Overwritten> overwritten_;
  LazySums sums_;
};

}  // namespace seraph::testing

#endif  // SERAPH_SERVER_FUNCTIONS_PARTITIONED_TABLE_H_
