#include "common/model_file/model_file_writer.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/little_endian.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

size_t RowsPerBlock(uint32_t width) {
  return std::max<size_t>(1,
                          kBlockBytes / (sizeof(Key) + width * sizeof(float)));
}

absl::Status NotInATable() {
  return absl::FailedPreconditionError("no table of the model is begun");
}

}  // namespace

absl::StatusOr<std::unique_ptr<ModelFileWriter>> ModelFileWriter::Create(
    const std::string& path, const ModelMetadata& metadata) {
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file,
                          AtomicFile::Create(path));
  auto writer = absl::WrapUnique(new ModelFileWriter(std::move(file)));
  std::string start(kModelFileMagic);
  AppendLittleEndian(kModelFileVersion, &start);
  SERAPH_RETURN_IF_ERROR(writer->file_->Append(start));
  SERAPH_RETURN_IF_ERROR(
      writer->WriteSection(kMetadataTag, ModelMetadataToJson(metadata)));
  return writer;
}

ModelFileWriter::ModelFileWriter(std::unique_ptr<AtomicFile> file)
    : file_(std::move(file)) {}

ModelFileWriter::~ModelFileWriter() = default;

absl::Status ModelFileWriter::BeginTable(const ModelTableHeader& header) {
  SERAPH_RETURN_IF_ERROR(status_);
  if (table_.has_value()) {
    return Remember(absl::FailedPreconditionError(
        absl::StrCat("table '", table_->name, "' has not ended")));
  }
  SERAPH_RETURN_IF_ERROR(Remember(CheckTableHeader(header)));
  if (tables_ > 0 && header.name <= last_table_) {
    return Remember(absl::InvalidArgumentError(
        absl::StrCat("table '", header.name, "' comes after '", last_table_,
                     "', but tables go by name")));
  }
  table_ = header;
  last_key_.reset();
  table_rows_ = 0;
  digest_.BeginTable(header.name, header.width, header.kind);
  return Remember(WriteSection(kTableTag, EncodeTableHeader(header)));
}

absl::Status ModelFileWriter::AddRows(absl::Span<const Key> keys,
                                      absl::Span<const float> values) {
  SERAPH_RETURN_IF_ERROR(status_);
  if (!table_.has_value()) return Remember(NotInATable());
  const size_t width = table_->width;
  if (values.size() != keys.size() * width) {
    return Remember(absl::InvalidArgumentError(
        absl::StrCat("table '", table_->name, "': ", values.size(),
                     " values for ", keys.size(), " keys of width ", width)));
  }
  SERAPH_RETURN_IF_ERROR(Remember(CheckKeys(*table_, keys, &last_key_)));
  const size_t per_block = RowsPerBlock(table_->width);
  for (size_t done = 0; done < keys.size();) {
    const size_t n = std::min(keys.size() - done, per_block - keys_.size());
    const auto keys_part = keys.subspan(done, n);
    const auto values_part = values.subspan(done * width, n * width);
    keys_.insert(keys_.end(), keys_part.begin(), keys_part.end());
    values_.insert(values_.end(), values_part.begin(), values_part.end());
    done += n;
    if (keys_.size() == per_block) {
      SERAPH_RETURN_IF_ERROR(Remember(WriteBlock()));
    }
  }
  return absl::OkStatus();
}

absl::Status ModelFileWriter::EndTable() {
  SERAPH_RETURN_IF_ERROR(status_);
  if (!table_.has_value()) return Remember(NotInATable());
  if (!keys_.empty()) SERAPH_RETURN_IF_ERROR(Remember(WriteBlock()));
  std::string payload;
  AppendLittleEndian(table_rows_, &payload);
  rows_ += table_rows_;
  ++tables_;
  last_table_ = table_->name;
  table_.reset();
  return Remember(WriteSection(kTableEndTag, payload));
}

absl::StatusOr<ModelFileSummary> ModelFileWriter::Finish() {
  SERAPH_RETURN_IF_ERROR(status_);
  if (table_.has_value()) {
    return Remember(absl::FailedPreconditionError(
        absl::StrCat("table '", table_->name, "' has not ended")));
  }
  ModelFileSummary summary;
  summary.digest = digest_.Finish();
  summary.rows = rows_;
  SERAPH_RETURN_IF_ERROR(Remember(WriteSection(
      kFooterTag, EncodeFooter({tables_, rows_, summary.digest}))));
  summary.bytes = file_->size();
  SERAPH_RETURN_IF_ERROR(Remember(file_->Commit()));
  status_ = absl::FailedPreconditionError(
      absl::StrCat("'", file_->path(), "' is already complete"));
  return summary;
}

absl::Status ModelFileWriter::WriteSection(absl::string_view tag,
                                           absl::string_view payload) {
  std::string head(tag);
  AppendLittleEndian<uint64_t>(payload.size(), &head);
  std::string checksum;
  AppendLittleEndian(SectionChecksum(file_->size(), head, payload), &checksum);
  SERAPH_RETURN_IF_ERROR(file_->Append(head));
  SERAPH_RETURN_IF_ERROR(file_->Append(payload));
  return file_->Append(checksum);
}

absl::Status ModelFileWriter::WriteBlock() {
  std::string payload;
  payload.reserve(4 + keys_.size() * sizeof(Key) +
                  values_.size() * sizeof(float));
  AppendLittleEndian<uint32_t>(keys_.size(), &payload);
  AppendLittleEndian(absl::MakeConstSpan(keys_), &payload);
  AppendLittleEndian(absl::MakeConstSpan(values_), &payload);
  digest_.AddRows(keys_, values_);
  table_rows_ += keys_.size();
  keys_.clear();
  values_.clear();
  return WriteSection(kRowsTag, payload);
}

absl::Status ModelFileWriter::Remember(absl::Status status) {
  if (status_.ok()) status_ = status;
  return status;
}

}  // namespace seraph
