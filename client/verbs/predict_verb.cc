#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/exit_code.h"
#include "client/cli/flags.h"
#include "client/cli/output.h"
#include "client/predict/predictor.h"
#include "client/render/documents.h"
#include "client/render/job_text.h"
#include "client/render/numbers.h"
#include "client/render/progress_line.h"
#include "client/verbs/verbs.h"
#include "common/dataset/data_options.h"
#include "common/job/job_spec.h"
#include "common/model_file/loaded_model.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const absl::string_view name : DataFormatNames()) {
    names.emplace_back(name);
  }
  return names;
}

// Of "index_base=0" the same as a job file would have it.
std::string InAJobFile(const std::string& set) {
  if (absl::StartsWith(set, "data.")) return set;
  const bool beside_options = absl::StartsWith(set, "on_bad_record=");
  return absl::StrCat("data.", beside_options ? "" : "options.", set);
}

// How to read the data: as the model's was read, with `sets` over it. The rules
// are those of job files, so that a job is made up to have them checked.
absl::StatusOr<DataOptions> OptionsOf(const ModelMetadata& metadata,
                                      DataFormat format,
                                      const std::vector<std::string>& sets) {
  JobSpec spec;
  spec.name = "predict";
  spec.model = metadata.model;
  spec.data.format = format;
  spec.data.train = {"data"};
  // Of another format the model's options say nothing.
  if (format == metadata.data_format) spec.data.options = metadata.data_options;
  std::vector<std::string> paths;
  for (const std::string& set : sets) paths.push_back(InAJobFile(set));
  SERAPH_ASSIGN_OR_RETURN(const JobSpec read,
                          ParseJobSpec(ToYaml(spec), "the model's job", paths));
  return read.data.options;
}

class PredictVerb final : public Verb {
 public:
  std::string name() const override { return "predict"; }
  std::string summary() const override {
    return "Scores the examples of a file with a model.";
  }
  std::string examples() const override {
    return "  seraphctl predict --model out/model --data a9a.t --format libsvm "
           "--out scores.txt\n"
           "  seraphctl predict --model out/model --data new.csv --out "
           "scores.txt --set label_column=none\n"
           "A line for each example: value, probability, margin or class. "
           "Where the examples\nhave labels, the metrics are printed.\n";
  }
  void Define(CLI::App* app) override {
    AddValue(app, "--model", "MODEL", &model_, "The model file.")->required();
    AddValue(app, "--data", "FILE", &options_.data,
             "The examples: a file, a folder or a glob.")
        ->required();
    AddChoice(app, "--format", FormatNames(), &format_,
              "Of the data (default: as in training).");
    AddValue(app, "--out", "FILE", &options_.out,
             "The predictions, replaced if there.")
        ->required();
    AddValues(app, "--set", "OPTION=VALUE", &sets_,
              "Overrides one of the data.options of the training, as in "
              "index_base=0, or on_bad_record=skip.");
    AddSwitch(app, "--probabilities", &options_.probabilities,
              "softmax: also the probabilities of all classes.");
  }

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    const absl::StatusOr<LoadedModel> model = LoadModel(model_);
    if (!model.ok()) return InputError(model.status());
    for (const std::string& input : {model_, options_.data}) {
      std::error_code ignored;
      if (std::filesystem::equivalent(input, options_.out, ignored)) {
        return WithExitCode(absl::InvalidArgumentError(absl::StrCat(
                                "--out ", options_.out, " would overwrite ",
                                input, ", which is read; choose another file")),
                            ExitCode::kUsage);
      }
    }
    SERAPH_RETURN_IF_ERROR(Prepare(model->metadata));
    ProgressLine progress(env.err, env.err_terminal, env.clock);
    SERAPH_ASSIGN_OR_RETURN(
        const PredictSummary summary,
        Predict(*model, options_, *env.interrupt,
                [&](double fraction, uint64_t predictions) {
                  progress.Show(
                      "predicting", fraction,
                      absl::StrCat(WithCommas(predictions), " examples"));
                }));
    progress.Clear();
    for (const std::string& warning : summary.warnings) {
      *env.err << "warning: " << warning << std::endl;
    }
    return Report(options, env, summary);
  }

 private:
  absl::Status Prepare(const ModelMetadata& metadata) {
    options_.format =
        format_.empty() ? metadata.data_format : *DataFormatFromName(format_);
    if (options_.probabilities && metadata.model.kind != ModelKind::kSoftmax) {
      return WithExitCode(absl::InvalidArgumentError(absl::StrCat(
                              "--probabilities is for softmax; the model is a ",
                              ModelKindName(metadata.model.kind))),
                          ExitCode::kUsage);
    }
    const absl::StatusOr<DataOptions> data =
        OptionsOf(metadata, options_.format, sets_);
    if (!data.ok()) return InputError(data.status());
    options_.options = *data;
    return absl::OkStatus();
  }

  absl::Status Report(const GlobalOptions& options, const Environment& env,
                      const PredictSummary& summary) {
    const Document document = {
        {"predictions",
         {{"path", options_.out}, {"count", summary.predictions}}},
        {"records",
         {{"read", summary.predictions}, {"bad", summary.bad_records}}},
        {"labelled", summary.labelled},
        {"metrics", ValuesDocument(summary.metrics)},
        {"warnings", summary.warnings}};
    std::string table = absl::StrCat(
        options_.out, ": ", WithCommas(summary.predictions), " predictions\n");
    if (summary.bad_records > 0) {
      absl::StrAppend(&table, WithCommas(summary.bad_records),
                      " bad records were passed over\n");
    }
    if (summary.labelled > 0) {
      absl::StrAppend(&table, ValuesText(summary.metrics), " (",
                      WithCommas(summary.labelled), " labelled examples)\n");
    }
    return PrintResult(options, env, document, table);
  }

  std::string model_;
  std::string format_;
  std::vector<std::string> sets_;
  PredictOptions options_;
};

}  // namespace

std::unique_ptr<Verb> MakePredictVerb() {
  return std::make_unique<PredictVerb>();
}

}  // namespace seraph
