#include "absl/strings/str_cat.h"
#include "client/cli/flags.h"
#include "client/cli/output.h"
#include "client/export/exporter.h"
#include "client/render/documents.h"
#include "client/render/numbers.h"
#include "client/render/progress_line.h"
#include "client/verbs/verbs.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

class ExportVerb final : public Verb {
 public:
  std::string name() const override { return "export"; }
  std::string summary() const override {
    return "Converts a model to text, NumPy arrays or a LIBLINEAR model.";
  }
  std::string examples() const override {
    return "  seraphctl export out/model --format text weights.tsv\n"
           "  seraphctl export out/model --format npy arrays\n"
           "  seraphctl export out/model --format liblinear out.model\n"
           "npy: OUT is a folder unless the model is one dense table.\n";
  }
  void Define(CLI::App* app) override {
    AddArgument(app, "MODEL", &model_, "The model file.");
    AddArgument(app, "OUT", &out_, "The file to write, replaced if there.");
    AddChoice(app, "--format", ExportFormatNames(), &format_, "What to write.")
        ->required();
  }

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    ProgressLine progress(env.err, env.err_terminal, env.clock);
    SERAPH_ASSIGN_OR_RETURN(
        const ExportSummary summary,
        ExportModel(model_, *ParseExportFormat(format_), out_, *env.interrupt,
                    [&](double fraction) {
                      progress.Show("exporting", fraction, "");
                    }));
    progress.Clear();
    Document tables = Document::array();
    uint64_t rows = 0;
    for (const TableSurvey& table : summary.survey.tables) {
      tables.push_back({{"name", table.header.name},
                        {"rows", table.rows},
                        {"width", table.header.width}});
      rows += table.rows;
    }
    const Document document = {
        {"model", {{"path", model_}, {"digest", summary.survey.digest}}},
        {"format", format_},
        {"files", summary.files},
        {"tables", std::move(tables)}};
    const size_t files = summary.files.size();
    return PrintResult(
        options, env, document,
        absl::StrCat(out_, ": ", WithCommas(rows), " rows",
                     files == 1 ? "" : absl::StrCat(" in ", files, " files"),
                     "\n"));
  }

 private:
  std::string model_;
  std::string out_;
  std::string format_;
};

}  // namespace

std::unique_ptr<Verb> MakeExportVerb() {
  return std::make_unique<ExportVerb>();
}

}  // namespace seraph
