#include "client/export/liblinear_sink.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/export/float_text.h"
#include "common/io/atomic_file.h"
#include "common/model/model_spec.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr char kBiasTable[] = "bias";

absl::Status CannotBe(absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the model cannot be written for LIBLINEAR: ", why));
}

const char* SolverOf(const ModelSpec& model) {
  switch (LossOf(model)) {
    case LossKind::kLog:
      return "L2R_LR";
    case LossKind::kHinge:
      return "L2R_L1LOSS_SVC_DUAL";
    case LossKind::kSquaredHinge:
      return "L2R_L2LOSS_SVC";
    case LossKind::kCrossEntropy:
      return "MCSVM_CS";
    case LossKind::kSquared:
    case LossKind::kHuber:
      return "L2R_L2LOSS_SVR";
  }
  return "";
}

bool IsInt(double value) {
  return value == std::floor(value) &&
         std::abs(value) <= std::numeric_limits<int>::max();
}

// "label 1 -1\n"; empty for regression.
absl::StatusOr<std::string> LabelLine(const ModelMetadata& metadata) {
  const LabelMap& labels = metadata.labels;
  const TaskKind task = TaskOf(metadata.model.kind);
  if (task == TaskKind::kRegression) return std::string();
  if (task == TaskKind::kBinary) {
    if (!labels.texts.empty()) return std::string("label 1 0\n");
    if (!IsInt(labels.positive) || !IsInt(labels.negative)) {
      return CannotBe("its labels are no whole numbers");
    }
    return absl::StrCat("label ", static_cast<int64_t>(labels.positive), " ",
                        static_cast<int64_t>(labels.negative), "\n");
  }
  std::string line = "label";
  const int64_t first = labels.texts.empty() ? labels.first_class : 0;
  for (uint32_t i = 0; i < *metadata.model.classes; ++i) {
    absl::StrAppend(&line, " ", first + i);
  }
  return absl::StrCat(line, "\n");
}

class LiblinearSink final : public ModelSink {
 public:
  // The keys [first_key, first_key + features) have a line each, of `width`
  // weights.
  LiblinearSink(std::unique_ptr<AtomicFile> file, std::string head,
                bool has_bias, Key first_key, uint64_t features, uint32_t width)
      : file_(std::move(file)),
        head_(std::move(head)),
        has_bias_(has_bias),
        end_key_(first_key + features),
        width_(width),
        next_key_(first_key) {}

  absl::Status BeginTable(const TableSurvey& table) override {
    in_bias_ = table.header.name == kBiasTable;
    return absl::OkStatus();
  }

  absl::Status AddRows(absl::Span<const Key> keys,
                       absl::Span<const float> values) override {
    if (in_bias_) {
      bias_.assign(values.begin(), values.end());
      return absl::OkStatus();
    }
    SERAPH_RETURN_IF_ERROR(WriteHead());
    for (size_t i = 0; i < keys.size(); ++i) {
      SERAPH_RETURN_IF_ERROR(FillUpTo(keys[i]));
      SERAPH_RETURN_IF_ERROR(WriteRow(values.subspan(i * width_, width_)));
      ++next_key_;
    }
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    SERAPH_RETURN_IF_ERROR(WriteHead());
    SERAPH_RETURN_IF_ERROR(FillUpTo(end_key_));
    if (has_bias_) {
      bias_.resize(width_);  // One that was never touched is 0.
      SERAPH_RETURN_IF_ERROR(WriteRow(bias_));
    }
    return file_->Commit();
  }

  std::vector<std::string> files() const override { return {file_->path()}; }

 private:
  absl::Status WriteHead() { return file_->Append(std::exchange(head_, "")); }

  // Features that the model has no row of have the weight 0.
  absl::Status FillUpTo(Key key) {
    const std::vector<float> zeros(width_);
    for (; next_key_ < key; ++next_key_) {
      SERAPH_RETURN_IF_ERROR(WriteRow(zeros));
    }
    return absl::OkStatus();
  }

  absl::Status WriteRow(absl::Span<const float> row) {
    std::string line;
    for (const float value : row) {
      AppendFloat(value, &line);
      line += ' ';
    }
    line += '\n';
    return file_->Append(line);
  }

  const std::unique_ptr<AtomicFile> file_;
  std::string head_;  // "" once it is written.
  const bool has_bias_;
  const Key end_key_;
  const uint32_t width_;
  Key next_key_;
  bool in_bias_ = false;
  std::vector<float> bias_;
};

// The one table besides the bias; nullptr if there are others.
const TableSurvey* WeightsOf(const ModelSurvey& survey) {
  const TableSurvey* weights = nullptr;
  for (const TableSurvey& table : survey.tables) {
    if (table.header.name == kBiasTable) continue;
    if (weights != nullptr) return nullptr;
    weights = &table;
  }
  return weights;
}

// The key of feature number 1.
Key FirstKey(const ModelMetadata& metadata, const ModelTableHeader& weights) {
  const bool keys_are_indices = weights.kind == TableKind::kSparse &&
                                (metadata.data_format == DataFormat::kLibsvm ||
                                 metadata.data_format == DataFormat::kLibffm);
  return keys_are_indices
             ? metadata.data_options.IndexBase(metadata.data_format)
             : 0;
}

// Errors: as MakeLiblinearSink.
absl::StatusOr<uint64_t> NumberOfFeatures(const TableSurvey& weights,
                                          Key first_key) {
  uint64_t most = weights.header.keys;  // Less 1 for sparse: 2^64 is none.
  const bool sparse = weights.header.kind == TableKind::kSparse;
  if (sparse && weights.rows == 0) return 0;
  if (sparse) {
    if (weights.first_key < first_key) {
      return CannotBe(
          "it has the key 0, but features are numbered from 1 (was the data "
          "read with index_base: 0?)");
    }
    most = weights.last_key - first_key;
  }
  if (most >= kMaxLiblinearFeatures) {
    return CannotBe(
        absl::StrCat("its keys go up to ", sparse ? weights.last_key : most - 1,
                     ", and a feature's number to ", kMaxLiblinearFeatures,
                     "; 'text' has no such limit"));
  }
  return sparse ? most + 1 : most;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ModelSink>> MakeLiblinearSink(
    const std::string& path, const ModelSurvey& survey) {
  const ModelMetadata& metadata = survey.metadata;
  const TableSurvey* weights = WeightsOf(survey);
  if (weights == nullptr) return CannotBe("it is not linear");
  const Key first_key = FirstKey(metadata, weights->header);
  SERAPH_ASSIGN_OR_RETURN(const uint64_t features,
                          NumberOfFeatures(*weights, first_key));
  SERAPH_ASSIGN_OR_RETURN(const std::string labels, LabelLine(metadata));
  const bool has_bias = metadata.model.bias != BiasKind::kNone;
  const bool multiclass = TaskOf(metadata.model.kind) == TaskKind::kMulticlass;
  std::string head = absl::StrCat(
      "solver_type ", SolverOf(metadata.model), "\nnr_class ",
      multiclass ? *metadata.model.classes : 2, "\n", labels, "nr_feature ",
      features, "\nbias ", has_bias ? "1" : "-1", "\nw\n");
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file,
                          AtomicFile::Create(path));
  return std::unique_ptr<ModelSink>(std::make_unique<LiblinearSink>(
      std::move(file), std::move(head), has_bias, first_key, features,
      weights->header.width));
}

}  // namespace seraph
