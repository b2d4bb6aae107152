#include "client/export/text_sink.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/export/float_text.h"
#include "common/io/atomic_file.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr char kBiasTable[] = "bias";
constexpr char kWeightsTable[] = "weights";

// One weight a feature, and a bias or none: logistic regression and the like.
bool HasOneScore(const ModelSurvey& survey) {
  return std::all_of(survey.tables.begin(), survey.tables.end(),
                     [](const TableSurvey& table) {
                       const ModelTableHeader& header = table.header;
                       return header.width == 1 &&
                              (header.name == kWeightsTable ||
                               (header.name == kBiasTable && table.rows <= 1));
                     });
}

class LinearSink final : public ModelSink {
 public:
  explicit LinearSink(std::unique_ptr<AtomicFile> file)
      : file_(std::move(file)) {}

  absl::Status BeginTable(const TableSurvey& table) override {
    in_bias_ = table.header.name == kBiasTable;
    return absl::OkStatus();
  }

  absl::Status AddRows(absl::Span<const Key> keys,
                       absl::Span<const float> values) override {
    std::string text;
    for (size_t i = 0; i < keys.size(); ++i) {
      absl::StrAppend(&text, in_bias_ ? kBiasTable : absl::StrCat(keys[i]),
                      "\t");
      AppendFloat(values[i], &text);
      text += '\n';
    }
    if (!in_bias_) return file_->Append(text);
    bias_ = text;  // Comes before the weights, and goes after them.
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    SERAPH_RETURN_IF_ERROR(file_->Append(bias_));
    return file_->Commit();
  }

  std::vector<std::string> files() const override { return {file_->path()}; }

 private:
  const std::unique_ptr<AtomicFile> file_;
  bool in_bias_ = false;
  std::string bias_;
};

class TablesSink final : public ModelSink {
 public:
  explicit TablesSink(std::unique_ptr<AtomicFile> file)
      : file_(std::move(file)) {}

  absl::Status BeginTable(const TableSurvey& table) override {
    header_ = table.header;
    return absl::OkStatus();
  }

  absl::Status AddRows(absl::Span<const Key> keys,
                       absl::Span<const float> values) override {
    std::string text;
    for (size_t i = 0; i < keys.size(); ++i) {
      absl::StrAppend(&text, header_.name, "\t", keys[i]);
      for (uint32_t column = 0; column < header_.width; ++column) {
        text += column == 0 ? '\t' : ' ';
        AppendFloat(values[i * header_.width + column], &text);
      }
      text += '\n';
    }
    return file_->Append(text);
  }

  absl::Status Finish() override { return file_->Commit(); }

  std::vector<std::string> files() const override { return {file_->path()}; }

 private:
  const std::unique_ptr<AtomicFile> file_;
  ModelTableHeader header_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ModelSink>> MakeTextSink(
    const std::string& path, const ModelSurvey& survey) {
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file,
                          AtomicFile::Create(path));
  std::unique_ptr<ModelSink> sink;
  if (HasOneScore(survey)) {
    sink = std::make_unique<LinearSink>(std::move(file));
  } else {
    sink = std::make_unique<TablesSink>(std::move(file));
  }
  return sink;
}

}  // namespace seraph
