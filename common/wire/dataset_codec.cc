#include "common/wire/dataset_codec.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "common/wire/enum_names.h"

namespace seraph {
namespace {

constexpr EnumNames<TaskKind, 3> kTasks = {{
    {TaskKind::kRegression, "identity"},
    {TaskKind::kBinary, "binary"},
    {TaskKind::kMulticlass, "multiclass"},
}};

absl::Status CheckFile(const v1::DatasetFacts& facts, uint32_t file,
                       absl::string_view what) {
  if (facts.files().empty() || file < facts.files_size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("facts.", what, ": file ", file, " of ", facts.files_size(),
                   " is not there"));
}

absl::StatusOr<DatasetBlock> BlockFrom(const v1::DatasetBlock& message) {
  if (message.begin() > message.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("facts.blocks: ", message.begin(), "..", message.end(),
                     " is no range of bytes"));
  }
  DatasetBlock block;
  block.file = message.file();
  block.begin = message.begin();
  block.end = message.end();
  block.train_records = message.train_records();
  block.validation_records = message.validation_records();
  block.bad_records = message.bad_records();
  return block;
}

}  // namespace

void ToProto(const FileStamp& file, v1::DataFile* message) {
  message->set_path(file.path);
  message->set_size_bytes(file.size_bytes);
  message->set_modified_ns(file.modified_ns);
}

FileStamp FromProto(const v1::DataFile& message) {
  return {message.path(), message.size_bytes(), message.modified_ns()};
}

void ToProto(const InputFile& file, v1::InputFile* message) {
  ToProto(file.data, message->mutable_data());
  if (!file.labels.path.empty()) {
    ToProto(file.labels, message->mutable_labels());
  }
}

InputFile FromProto(const v1::InputFile& message) {
  return {FromProto(message.data()), FromProto(message.labels())};
}

void ToProto(const DatasetFacts& facts, v1::DatasetFacts* message) {
  for (const InputFile& file : facts.files) ToProto(file, message->add_files());
  for (const DatasetBlock& block : facts.blocks) {
    v1::DatasetBlock* out = message->add_blocks();
    out->set_file(block.file);
    out->set_begin(block.begin);
    out->set_end(block.end);
    out->set_train_records(block.train_records);
    out->set_validation_records(block.validation_records);
    out->set_bad_records(block.bad_records);
  }
  for (const SeenLabel& label : facts.labels) {
    v1::SeenLabel* out = message->add_labels();
    out->set_value(label.value);
    out->set_file(label.file);
    out->set_line(label.line);
    out->set_text(label.text);
  }
  message->set_labels_capped(facts.labels_capped);
  message->set_has_keys(facts.has_keys);
  message->set_min_key(facts.min_key);
  message->set_max_key(facts.max_key);
  message->set_max_field(facts.max_field);
  message->set_nonzeros(facts.nonzeros);
  message->set_repeated_index_records(facts.repeated_index_records);
  message->set_columns(facts.columns);
  for (const std::string& name : facts.column_names) {
    message->add_column_names(name);
  }
  for (const BadRecord& record : facts.bad_examples) {
    v1::BadRecord* out = message->add_bad_examples();
    out->set_file(record.file);
    out->set_line(record.line);
    out->set_reason(record.reason);
  }
  message->set_lines(facts.lines);
}

absl::StatusOr<DatasetFacts> FromProto(const v1::DatasetFacts& message) {
  DatasetFacts facts;
  for (const v1::InputFile& file : message.files()) {
    facts.files.push_back(FromProto(file));
  }
  facts.blocks.reserve(message.blocks_size());
  for (const v1::DatasetBlock& block : message.blocks()) {
    SERAPH_RETURN_IF_ERROR(CheckFile(message, block.file(), "blocks"));
    SERAPH_ASSIGN_OR_RETURN(facts.blocks.emplace_back(), BlockFrom(block));
  }
  for (const v1::SeenLabel& label : message.labels()) {
    SERAPH_RETURN_IF_ERROR(CheckFile(message, label.file(), "labels"));
    facts.labels.push_back(
        {label.value(), label.text(), label.file(), label.line()});
  }
  facts.labels_capped = message.labels_capped();
  facts.has_keys = message.has_keys();
  facts.min_key = message.min_key();
  facts.max_key = message.max_key();
  facts.max_field = message.max_field();
  facts.nonzeros = message.nonzeros();
  facts.repeated_index_records = message.repeated_index_records();
  facts.columns = message.columns();
  facts.column_names.assign(message.column_names().begin(),
                            message.column_names().end());
  for (const v1::BadRecord& record : message.bad_examples()) {
    SERAPH_RETURN_IF_ERROR(CheckFile(message, record.file(), "bad_examples"));
    facts.bad_examples.push_back(
        {record.file(), record.line(), record.reason()});
  }
  facts.lines = message.lines();
  return facts;
}

void ToProto(const LabelMap& labels, v1::LabelMap* message) {
  const absl::string_view kind = NameOf(kTasks, labels.task);
  message->set_kind(kind.data(), kind.size());
  message->set_negative(labels.negative);
  message->set_positive(labels.positive);
  message->set_first_class(labels.first_class);
  message->set_classes(labels.classes);
  for (const std::string& text : labels.texts) message->add_texts(text);
}

absl::StatusOr<LabelMap> FromProto(const v1::LabelMap& message) {
  LabelMap labels;
  SERAPH_ASSIGN_OR_RETURN(labels.task,
                          EnumOf(kTasks, "labels.kind", message.kind()));
  labels.negative = message.negative();
  labels.positive = message.positive();
  labels.first_class = message.first_class();
  labels.classes = message.classes();
  labels.texts.assign(message.texts().begin(), message.texts().end());
  return labels;
}

}  // namespace seraph
