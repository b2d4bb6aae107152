#include "common/model_file/model_file_reader.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/little_endian.h"
#include "common/status/status_macros.h"

namespace seraph {

absl::StatusOr<std::unique_ptr<ModelFileReader>> ModelFileReader::Open(
    const std::string& path) {
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<FileReader> file,
                          FileReader::Open(path));
  auto reader = absl::WrapUnique(new ModelFileReader(std::move(file)));
  SERAPH_RETURN_IF_ERROR(reader->ReadHead());
  return reader;
}

ModelFileReader::ModelFileReader(std::unique_ptr<FileReader> file)
    : file_(std::move(file)) {}

absl::Status ModelFileReader::ReadHead() {
  std::string magic;
  SERAPH_RETURN_IF_ERROR(file_->Read(kModelFileMagic.size(), &magic));
  if (magic != kModelFileMagic) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", file_->path(), "' is no Seraph model file"));
  }
  std::string bytes;
  SERAPH_RETURN_IF_ERROR(file_->Read(sizeof(kModelFileVersion), &bytes));
  absl::string_view rest = bytes;
  uint32_t version = 0;
  if (!TakeLittleEndian(&rest, &version)) return EndsEarly();
  if (version != kModelFileVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", file_->path(), "' is a model file of version ", version,
        "; this build of Seraph reads version ", kModelFileVersion));
  }
  SERAPH_RETURN_IF_ERROR(ReadSection());
  if (tag_ != kMetadataTag) return Damaged("the metadata is not there");
  absl::StatusOr<ModelMetadata> metadata = ModelMetadataFromJson(payload_);
  if (!metadata.ok()) return Damaged(metadata.status().message());
  metadata_ = *std::move(metadata);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<ModelTableHeader>> ModelFileReader::NextTable() {
  SERAPH_RETURN_IF_ERROR(status_);
  if (complete_) return std::nullopt;
  std::vector<Key> keys;
  std::vector<float> values;
  while (table_.has_value()) {
    SERAPH_RETURN_IF_ERROR(NextRows(&keys, &values).status());
  }
  absl::StatusOr<std::optional<ModelTableHeader>> table = ReadTableOrFooter();
  status_ = table.status();
  return table;
}

absl::StatusOr<bool> ModelFileReader::NextRows(std::vector<Key>* keys,
                                               std::vector<float>* values) {
  SERAPH_RETURN_IF_ERROR(status_);
  keys->clear();
  values->clear();
  if (!table_.has_value()) return false;
  absl::StatusOr<bool> more = ReadRowsOrEnd(keys, values);
  status_ = more.status();
  return more;
}

absl::StatusOr<std::optional<ModelTableHeader>>
ModelFileReader::ReadTableOrFooter() {
  SERAPH_RETURN_IF_ERROR(ReadSection());
  if (tag_ == kFooterTag) {
    SERAPH_RETURN_IF_ERROR(CheckFooter(payload_));
    complete_ = true;
    return std::nullopt;
  }
  if (tag_ != kTableTag) return Damaged("a table or the footer belongs here");
  absl::StatusOr<ModelTableHeader> table = DecodeTableHeader(payload_);
  if (!table.ok()) return Damaged(table.status().message());
  if (tables_ > 0 && table->name <= last_table_) {
    return Damaged(absl::StrCat("table '", table->name, "' comes after '",
                                last_table_, "', but tables go by name"));
  }
  table_ = *std::move(table);
  last_table_ = table_->name;
  last_key_.reset();
  table_rows_ = 0;
  ++tables_;
  digest_.BeginTable(table_->name, table_->width, table_->kind);
  return table_;
}

absl::StatusOr<bool> ModelFileReader::ReadRowsOrEnd(
    std::vector<Key>* keys, std::vector<float>* values) {
  SERAPH_RETURN_IF_ERROR(ReadSection());
  if (tag_ == kRowsTag) {
    SERAPH_RETURN_IF_ERROR(TakeRows(payload_, keys, values));
    return true;
  }
  if (tag_ != kTableEndTag) return Damaged("rows or a table's end belong here");
  absl::string_view rest = payload_;
  uint64_t rows = 0;
  if (!TakeLittleEndian(&rest, &rows) || !rest.empty()) {
    return Damaged("the table's end has a wrong length");
  }
  if (rows != table_rows_) {
    return Damaged(absl::StrCat("table '", table_->name, "' has ", table_rows_,
                                " rows, but its end says ", rows));
  }
  rows_ += rows;
  table_.reset();
  return false;
}

absl::Status ModelFileReader::TakeRows(absl::string_view payload,
                                       std::vector<Key>* keys,
                                       std::vector<float>* values) {
  uint32_t count = 0;
  const uint64_t row_bytes =
      sizeof(Key) + uint64_t{table_->width} * sizeof(float);
  if (!TakeLittleEndian(&payload, &count) || count == 0 ||
      payload.size() != count * row_bytes) {
    return Damaged("the block of rows has a wrong length");
  }
  keys->resize(count);
  values->resize(size_t{count} * table_->width);
  TakeLittleEndian(&payload, absl::MakeSpan(*keys));
  TakeLittleEndian(&payload, absl::MakeSpan(*values));
  if (absl::Status status = CheckKeys(*table_, *keys, &last_key_);
      !status.ok()) {
    return Damaged(status.message());
  }
  digest_.AddRows(*keys, *values);
  table_rows_ += count;
  return absl::OkStatus();
}

absl::Status ModelFileReader::CheckFooter(absl::string_view payload) {
  absl::StatusOr<ModelFileFooter> footer = DecodeFooter(payload);
  if (!footer.ok()) return Damaged(footer.status().message());
  footer_ = *std::move(footer);
  if (footer_.tables != tables_ || footer_.rows != rows_) {
    return Damaged(absl::StrCat("there are ", rows_, " rows in ", tables_,
                                " tables, but the footer says ", footer_.rows,
                                " in ", footer_.tables));
  }
  if (const std::string digest = digest_.Finish(); digest != footer_.digest) {
    return Damaged(absl::StrCat("the digest of what is there is ", digest,
                                ", but the footer says ", footer_.digest));
  }
  std::string rest;
  SERAPH_RETURN_IF_ERROR(file_->Read(1, &rest));
  if (!rest.empty()) {
    section_offset_ = file_->offset() - 1;
    return Damaged("bytes come after the footer");
  }
  return absl::OkStatus();
}

absl::Status ModelFileReader::ReadSection() {
  section_offset_ = file_->offset();
  std::string head;
  SERAPH_RETURN_IF_ERROR(file_->Read(kSectionHeadBytes, &head));
  if (head.size() < kSectionHeadBytes) return EndsEarly();
  absl::string_view rest = head;
  tag_ = std::string(rest.substr(0, kTagBytes));
  rest.remove_prefix(kTagBytes);
  uint64_t length = 0;
  TakeLittleEndian(&rest, &length);
  if (length > kMaxSectionBytes) {
    return Damaged(absl::StrCat("a length of ", length, " bytes"));
  }
  SERAPH_RETURN_IF_ERROR(file_->Read(length, &payload_));
  if (payload_.size() < length) return EndsEarly();
  std::string bytes;
  SERAPH_RETURN_IF_ERROR(file_->Read(kChecksumBytes, &bytes));
  rest = bytes;
  uint64_t checksum = 0;
  if (!TakeLittleEndian(&rest, &checksum)) return EndsEarly();
  if (checksum != SectionChecksum(section_offset_, head, payload_)) {
    return Damaged("the checksum does not fit");
  }
  return absl::OkStatus();
}

absl::Status ModelFileReader::Damaged(absl::string_view what) const {
  return absl::DataLossError(absl::StrCat("the model file '", file_->path(),
                                          "' is damaged at byte ",
                                          section_offset_, ": ", what));
}

absl::Status ModelFileReader::EndsEarly() const {
  return absl::DataLossError(absl::StrCat(
      "the model file '", file_->path(), "' ends early, at byte ",
      file_->offset(), ", in the section at byte ", section_offset_,
      ": it was cut off, or a length in it is damaged"));
}

}  // namespace seraph
