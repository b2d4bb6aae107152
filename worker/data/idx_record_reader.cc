#include "worker/data/idx_record_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/dataset/idx_header.h"
#include "common/status/status_macros.h"
#include "worker/data/row_end.h"

namespace seraph {
namespace {

// The header of `file`, whose length is checked against it.
absl::StatusOr<IdxHeader> ReadHeader(const DataFile& file) {
  char head[kMaxIdxHeaderBytes];
  SERAPH_ASSIGN_OR_RETURN(const size_t size, file.Read(0, sizeof(head), head));
  const absl::StatusOr<IdxHeader> header =
      ParseIdxHeader(absl::string_view(head, size));
  if (!header.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", file.path(), "' ", header.status().message()));
  }
  const uint64_t length =
      header->header_bytes + header->records * header->width;
  if (file.size() < length) {
    return absl::DataLossError(absl::StrCat("'", file.path(),
                                            "': the file ends early, at byte ",
                                            file.size(), " of ", length));
  }
  if (file.size() > length) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", file.path(), "' has ", file.size(),
                     " bytes where its header says ", length));
  }
  return *header;
}

absl::StatusOr<std::vector<uint8_t>> ReadLabels(const DataFile& file) {
  SERAPH_ASSIGN_OR_RETURN(const IdxHeader header, ReadHeader(file));
  if (header.dimensions != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", file.path(), "' is no file of labels: it has ",
                     header.dimensions, " dimensions"));
  }
  std::vector<uint8_t> labels(header.records);
  SERAPH_ASSIGN_OR_RETURN(const size_t size,
                          file.Read(header.header_bytes, labels.size(),
                                    reinterpret_cast<char*>(labels.data())));
  labels.resize(size);
  return labels;
}

}  // namespace

IdxRecordReader::IdxRecordReader(std::unique_ptr<DataFile> images,
                                 std::vector<uint8_t> labels,
                                 uint64_t header_bytes, uint64_t images_count,
                                 uint64_t pixels, double scale)
    : images_(std::move(images)),
      labels_(std::move(labels)),
      header_bytes_(header_bytes),
      count_(images_count),
      pixels_(pixels) {
  for (int byte = 0; byte < 256; ++byte) {
    values_.push_back(static_cast<float>(byte * scale));
  }
}

absl::StatusOr<std::unique_ptr<RecordReader>> IdxRecordReader::Make(
    std::unique_ptr<DataFile> images, std::unique_ptr<DataFile> labels,
    const RecordRules& rules) {
  SERAPH_ASSIGN_OR_RETURN(const IdxHeader header, ReadHeader(*images));
  if (header.dimensions < 2 || header.width == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", images->path(), "' is no file of images: it has ",
                     header.dimensions, " dimensions and ", header.width,
                     " values an image"));
  }
  if (rules.dense_keys && header.width > *rules.dense_keys) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", images->path(), "': ", header.width,
        " pixels need as many keys; model.keys is ", *rules.dense_keys));
  }
  std::vector<uint8_t> label_bytes;
  if (labels != nullptr) {
    SERAPH_ASSIGN_OR_RETURN(label_bytes, ReadLabels(*labels));
    if (label_bytes.size() != header.records) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", labels->path(), "' has ", label_bytes.size(), " labels for the ",
          header.records, " images of '", images->path(), "'"));
    }
  } else if (!rules.labels_optional) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", images->path(), "' has no labels (data.options.labels)"));
  }
  return absl::WrapUnique(new IdxRecordReader(
      std::move(images), std::move(label_bytes), header.header_bytes,
      header.records, header.width, rules.options.scale));
}

absl::Status IdxRecordReader::ReadBlock(uint64_t begin, uint64_t end,
                                        RecordBlock* block) const {
  block->Clear();
  // Images whose first byte is in the range.
  const auto first_at = [this](uint64_t offset) {
    if (offset <= header_bytes_) return uint64_t{0};
    return std::min((offset - header_bytes_ + pixels_ - 1) / pixels_, count_);
  };
  const uint64_t first = first_at(begin);
  const uint64_t last = first_at(end);
  std::vector<uint8_t> bytes((last - first) * pixels_);
  SERAPH_ASSIGN_OR_RETURN(
      const size_t size,
      images_->Read(header_bytes_ + first * pixels_, bytes.size(),
                    reinterpret_cast<char*>(bytes.data())));
  if (size < bytes.size()) {
    return absl::DataLossError(
        absl::StrCat("'", path(), "' has become shorter"));
  }
  Batch& batch = block->records;
  const uint8_t* pixel = bytes.data();
  for (uint64_t image = first; image < last; ++image) {
    for (uint64_t key = 0; key < pixels_; ++key, ++pixel) {
      if (*pixel == 0) continue;
      batch.keys.push_back(key);
      batch.values.push_back(values_[*pixel]);
    }
    const double label = labels_.empty()
                             ? std::numeric_limits<double>::quiet_NaN()
                             : labels_[image];
    FinishRow(label, /*group=*/0, &batch);
    block->offsets.push_back(header_bytes_ + image * pixels_);
    block->lines.push_back(image - first);
  }
  block->line_count = last - first;
  return absl::OkStatus();
}

}  // namespace seraph
