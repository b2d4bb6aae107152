// Reads idx files: images of one size, and a label for each in another file.
#ifndef SERAPH_WORKER_DATA_IDX_RECORD_READER_H_
#define SERAPH_WORKER_DATA_IDX_RECORD_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/data/data_file.h"
#include "worker/data/record_block.h"
#include "worker/data/record_reader.h"
#include "worker/data/record_rules.h"

namespace seraph {

// The format of LeCun, Cortes and Burges, "The MNIST Database": two zeros, the
// type of a value, the number of dimensions, the sizes (32 bits, big-endian),
// the values. Only unsigned bytes are read. Pixel j has key j and the value
// byte * options.scale; black ones give no entry.
//
// A "line" of an idx file is an image, from 1.
//
// Memory: one byte per label, beside what RecordReader says.
class IdxRecordReader final : public RecordReader {
 public:
  // `labels` may be null if rules.labels_optional.
  // Errors: InvalidArgument, naming the file, for what is no idx file of
  // unsigned bytes, is longer than it says, has another number of labels than
  // of images, or more pixels than rules.dense_keys; DataLoss with the offset
  // for a file that ends early; what reading gives, by errno.
  static absl::StatusOr<std::unique_ptr<RecordReader>> Make(
      std::unique_ptr<DataFile> images, std::unique_ptr<DataFile> labels,
      const RecordRules& rules);

  const std::string& path() const override { return images_->path(); }
  uint64_t size() const override { return images_->size(); }
  uint64_t columns() const override { return pixels_; }
  const std::vector<std::string>& column_names() const override {
    return column_names_;
  }
  absl::Status ReadBlock(uint64_t begin, uint64_t end,
                         RecordBlock* block) const override;

 private:
  IdxRecordReader(std::unique_ptr<DataFile> images, std::vector<uint8_t> labels,
                  uint64_t header_bytes, uint64_t images_count, uint64_t pixels,
                  double scale);

  const std::unique_ptr<const DataFile> images_;
  const std::vector<uint8_t> labels_;  // Empty: there are none.
  const uint64_t header_bytes_;
  const uint64_t count_;                         // Of images.
  const uint64_t pixels_;                        // Of each; > 0.
  std::vector<float> values_;                    // [256], of each byte.
  const std::vector<std::string> column_names_;  // None.
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_IDX_RECORD_READER_H_
