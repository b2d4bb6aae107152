#include "worker/train/data_streams.h"

#include <algorithm>

#include "common/status/status_macros.h"

namespace seraph {

absl::Status DataStream::Open(uint32_t epoch, uint64_t record) {
  SERAPH_RETURN_IF_ERROR(source_.CheckUnchanged());
  options_.epoch = epoch;
  stream_.emplace(&source_, options_);
  return stream_->Seek(std::min(record, stream_->records()));
}

absl::Status DataStream::Next(size_t n, Batch* batch) {
  return stream_->NextBatch(n, batch);
}

}  // namespace seraph
