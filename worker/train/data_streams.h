// A rank's BatchStream over the blocks of a data set.
#ifndef SERAPH_WORKER_TRAIN_DATA_STREAMS_H_
#define SERAPH_WORKER_TRAIN_DATA_STREAMS_H_

#include <memory>
#include <optional>

#include "worker/data/block_source.h"
#include "worker/data/epoch_stream.h"
#include "worker/train/batch_stream.h"

namespace seraph {

class DataStream final : public BatchStream {
 public:
  // `options.epoch` is set by Open. `source` must outlive this.
  DataStream(BlockSource* source, const EpochStreamOptions& options)
      : source_(*source), options_(options) {}

  absl::Status Open(uint32_t epoch, uint64_t record) override;
  absl::Status Next(size_t n, Batch* batch) override;

 private:
  BlockSource& source_;
  EpochStreamOptions options_;
  std::optional<EpochStream> stream_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_TRAIN_DATA_STREAMS_H_
