#include "client/predict/predictor.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/exit_code.h"
#include "client/predict/prediction_text.h"
#include "client/predict/score_runs.h"
#include "client/predict/scorer.h"
#include "common/dataset/resolve_dataset.h"
#include "common/io/atomic_file.h"
#include "common/metrics/metric_sums.h"
#include "common/status/status_macros.h"
#include "worker/data/record_reader.h"
#include "worker/data/record_rules.h"
#include "worker/data/spool.h"

namespace seraph {
namespace {

using OnProgress = std::function<void(double, uint64_t)>;

// The files; those of idx images may be without labels.
absl::StatusOr<std::vector<InputFile>> ResolveData(
    const PredictOptions& options) {
  const std::string folder = std::filesystem::current_path().string();
  absl::StatusOr<std::vector<InputFile>> files = ResolveDataset(
      folder, {options.data}, options.format, options.options.labels);
  if (files.ok() || options.format != DataFormat::kIdx ||
      !options.options.labels.empty()) {
    return files;
  }
  SERAPH_ASSIGN_OR_RETURN(const std::vector<FileStamp> images,
                          ResolveInputFiles(folder, {options.data}));
  files->clear();
  for (const FileStamp& image : images) files->push_back({image, {}});
  return files;
}

RecordRules RulesOf(const LoadedModel& model, const PredictOptions& options) {
  RecordRules rules;
  rules.format = options.format;
  rules.options = options.options;
  rules.dense_keys = model.metadata.model.keys;
  rules.text_labels = !model.metadata.labels.texts.empty();
  rules.labels_optional = true;
  return rules;
}

// Scores, writes and evaluates one block after the other.
class Prediction {
 public:
  Prediction(const LoadedModel& model, const PredictOptions& options,
             std::unique_ptr<Scorer> scorer, std::unique_ptr<AtomicFile> out)
      : metadata_(model.metadata),
        options_(options),
        scorer_(std::move(scorer)),
        out_(std::move(out)),
        runs_(options.max_scores) {}

  absl::Status Add(const std::string& path, const RecordBlock& block,
                   uint64_t lines_before) {
    const absl::Status scored = scorer_->Score(block.records, &scores_);
    if (!scored.ok()) {
      return InputError(absl::Status(
          scored.code(), absl::StrCat(path, ": ", scored.message())));
    }
    SERAPH_RETURN_IF_ERROR(OutputError(Write(block.records.size())));
    SERAPH_RETURN_IF_ERROR(Evaluate(path, block, lines_before));
    summary_.predictions += block.records.size();
    summary_.bad_records += block.bad.size();
    return absl::OkStatus();
  }

  absl::StatusOr<PredictSummary> Finish() {
    if (unknown_labels_ > 0) {
      summary_.warnings.push_back(absl::StrCat(
          unknown_labels_, " labels are none of the model's, and left out of ",
          "the metrics; the first one: ", first_unknown_label_));
    }
    const ModelKind kind = metadata_.model.kind;
    if (summary_.labelled > 0) {
      std::optional<double> auc;
      if (TaskOf(kind) == TaskKind::kBinary) {
        SERAPH_ASSIGN_OR_RETURN(auc, runs_.Finish());
      }
      summary_.metrics = ReportMetrics(kind, sums_, auc);
    }
    const absl::Status status = out_->Commit();
    if (!status.ok()) return OutputError(status);
    return summary_;
  }

  uint64_t predictions() const { return summary_.predictions; }

 private:
  absl::Span<const double> ScoresOf(size_t record) const {
    const size_t width = scorer_->model().scores_per_example();
    return absl::MakeConstSpan(scores_).subspan(record * width, width);
  }

  absl::Status Write(size_t records) {
    std::string text;
    for (size_t i = 0; i < records; ++i) {
      const absl::Span<const double> scores = ScoresOf(i);
      AppendPrediction(metadata_.model.kind, metadata_.labels,
                       options_.probabilities, scores,
                       scorer_->model().Predict(scores), &text);
    }
    return out_->Append(text);
  }

  // Adds the examples that have a label.
  absl::Status Evaluate(const std::string& path, const RecordBlock& block,
                        uint64_t lines_before) {
    std::vector<double> labels, scores;
    for (size_t i = 0; i < block.records.size(); ++i) {
      const bool is_text =
          !block.label_texts.empty() && !block.label_texts[i].empty();
      if (!is_text && std::isnan(block.records.labels[i])) continue;
      const absl::StatusOr<double> label =
          is_text ? metadata_.labels.MapText(block.label_texts[i])
                  : metadata_.labels.Map(block.records.labels[i]);
      if (!label.ok()) {
        if (unknown_labels_++ == 0) {
          first_unknown_label_ =
              absl::StrCat(path, ":", lines_before + block.lines[i] + 1, ": ",
                           label.status().message());
        }
        continue;
      }
      labels.push_back(*label);
      const absl::Span<const double> of_record = ScoresOf(i);
      scores.insert(scores.end(), of_record.begin(), of_record.end());
      if (TaskOf(metadata_.model.kind) == TaskKind::kBinary) {
        runs_.Add(of_record[0], *label > 0.5);
      }
    }
    summary_.labelled += labels.size();
    return InputError(scorer_->model().Evaluate(labels, scores, &sums_));
  }

  const ModelMetadata& metadata_;
  const PredictOptions& options_;
  const std::unique_ptr<Scorer> scorer_;
  const std::unique_ptr<AtomicFile> out_;
  std::vector<double> scores_;
  MetricSums sums_;
  ScoreRuns runs_;
  uint64_t unknown_labels_ = 0;
  std::string first_unknown_label_;
  PredictSummary summary_;
};

// Reads a file block by block. `progress` is told how much of it is done.
absl::Status PredictFile(const InputFile& file, const RecordRules& rules,
                         const PredictOptions& options, Spool* spool,
                         const Interrupt& interrupt,
                         const std::function<void(double)>& progress,
                         Prediction* prediction) {
  const absl::StatusOr<std::unique_ptr<RecordReader>> reader =
      RecordReader::Open(file, rules, spool);
  if (!reader.ok()) return InputError(reader.status());
  const uint64_t size = (*reader)->size();
  RecordBlock block;
  uint64_t lines = 0;
  for (uint64_t begin = 0; begin < size; begin += options.block_bytes) {
    SERAPH_RETURN_IF_ERROR(InputError(interrupt.Check()));
    const uint64_t end = std::min(begin + options.block_bytes, size);
    const absl::Status status = (*reader)->ReadBlock(begin, end, &block);
    if (!status.ok()) return InputError(status);
    SERAPH_RETURN_IF_ERROR(prediction->Add((*reader)->path(), block, lines));
    lines += block.line_count;
    progress(static_cast<double>(end) / size);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PredictSummary> Predict(const LoadedModel& model,
                                       const PredictOptions& options,
                                       const Interrupt& interrupt,
                                       const OnProgress& on_progress) {
  absl::StatusOr<std::unique_ptr<Scorer>> scorer = Scorer::Create(&model);
  if (!scorer.ok()) return InputError(scorer.status());
  const absl::StatusOr<std::vector<InputFile>> files = ResolveData(options);
  if (!files.ok()) return InputError(files.status());
  absl::StatusOr<std::unique_ptr<AtomicFile>> out =
      AtomicFile::Create(options.out);
  if (!out.ok()) return OutputError(out.status());
  SERAPH_ASSIGN_OR_RETURN(
      const std::unique_ptr<Spool> spool,
      Spool::Create(std::filesystem::temp_directory_path().string()));

  Prediction prediction(model, options, *std::move(scorer), *std::move(out));
  const RecordRules rules = RulesOf(model, options);
  for (size_t i = 0; i < files->size(); ++i) {
    SERAPH_RETURN_IF_ERROR(PredictFile(
        (*files)[i], rules, options, spool.get(), interrupt,
        [&](double of_file) {
          on_progress((i + of_file) / files->size(), prediction.predictions());
        },
        &prediction));
  }
  return prediction.Finish();
}

}  // namespace seraph
