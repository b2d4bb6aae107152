// A rank's records from memory.
#ifndef SERAPH_TESTS_SIM_MEMORY_STREAM_H_
#define SERAPH_TESTS_SIM_MEMORY_STREAM_H_

#include <algorithm>

#include "worker/train/batch_stream.h"

namespace seraph::testing {

// The same in every epoch.
class MemoryStream final : public BatchStream {
 public:
  explicit MemoryStream(const Batch* data) : data_(*data) {}

  absl::Status Open(uint32_t epoch, uint64_t record) override {
    next_ = std::min<uint64_t>(record, data_.size());
    return absl::OkStatus();
  }

  absl::Status Next(size_t n, Batch* batch) override {
    batch->Clear();
    for (; batch->size() < n && next_ < data_.size(); ++next_) {
      batch->AppendRow(data_, next_);
    }
    return absl::OkStatus();
  }

 private:
  const Batch& data_;
  size_t next_ = 0;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_MEMORY_STREAM_H_
