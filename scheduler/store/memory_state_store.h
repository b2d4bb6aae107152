// A store that ends with its process.
#ifndef SERAPH_SCHEDULER_STORE_MEMORY_STATE_STORE_H_
#define SERAPH_SCHEDULER_STORE_MEMORY_STATE_STORE_H_

#include <utility>

#include "scheduler/store/state_store.h"

namespace seraph {

class MemoryStateStore final : public StateStore {
 public:
  explicit MemoryStateStore(uint64_t term, StateRecords records = {})
      : term_(term), records_(std::move(records)) {}

  uint64_t term() const override { return term_; }
  bool durable() const override { return false; }
  absl::StatusOr<StateRecords> Load() override { return records_; }
  absl::Status Commit(const StateWrites& writes) override {
    for (const StateWrite& write : writes) {
      if (write.value.has_value()) {
        records_[write.key] = *write.value;
      } else {
        records_.erase(write.key);
      }
    }
    return absl::OkStatus();
  }

 private:
  const uint64_t term_;
  StateRecords records_;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_STORE_MEMORY_STATE_STORE_H_
