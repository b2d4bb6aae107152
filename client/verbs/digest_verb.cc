#include "absl/strings/str_cat.h"
#include "client/cli/flags.h"
#include "client/cli/output.h"
#include "client/export/exporter.h"
#include "client/render/documents.h"
#include "client/render/progress_line.h"
#include "client/verbs/verbs.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

class DigestVerb final : public Verb {
 public:
  std::string name() const override { return "digest"; }
  std::string summary() const override {
    return "Prints a model's digest, after checking all of its file.";
  }
  std::string examples() const override {
    return "  seraphctl digest out/model\n"
           "  seraphctl digest out/model -o json\n";
  }
  void Define(CLI::App* app) override {
    AddArgument(app, "MODEL", &model_, "The model file.");
  }

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    ProgressLine progress(env.err, env.err_terminal, env.clock);
    SERAPH_ASSIGN_OR_RETURN(
        const ModelSurvey survey,
        SurveyModel(model_, *env.interrupt, [&](double fraction) {
          progress.Show("reading", fraction, "");
        }));
    progress.Clear();
    const Document document = {
        {"model", {{"path", model_}, {"digest", survey.digest}}}};
    return PrintResult(options, env, document,
                       absl::StrCat(survey.digest, "\n"));
  }

 private:
  std::string model_;
};

}  // namespace

std::unique_ptr<Verb> MakeDigestVerb() {
  return std::make_unique<DigestVerb>();
}

}  // namespace seraph
