// Converts model files.
#ifndef SERAPH_CLIENT_EXPORT_EXPORTER_H_
#define SERAPH_CLIENT_EXPORT_EXPORTER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/base/interrupt.h"
#include "client/export/model_sink.h"

namespace seraph {

enum class ExportFormat { kSeraph, kText, kNpy, kLiblinear };

// "seraph", "text", "npy", "liblinear".
std::optional<ExportFormat> ParseExportFormat(absl::string_view name);
std::vector<std::string> ExportFormatNames();

// Told now and then how far the work is, 0 to 1.
using OnProgress = std::function<void(double fraction)>;

// Reads all of a model file and checks it; the rows are not kept.
// Errors: as ModelFileReader; Cancelled.
absl::StatusOr<ModelSurvey> SurveyModel(const std::string& path,
                                        const Interrupt& interrupt,
                                        const OnProgress& on_progress);

struct ExportSummary {
  ModelSurvey survey;
  std::vector<std::string> files;
};

// Converts the model file `model` into `out`: first reads all of it, so that a
// damaged one leaves nothing behind, then again to write.
//
// Errors: InputError of reading, OutputError of writing (client/base/exit_code
// .h); Cancelled.
absl::StatusOr<ExportSummary> ExportModel(const std::string& model,
                                          ExportFormat format,
                                          const std::string& out,
                                          const Interrupt& interrupt,
                                          const OnProgress& on_progress);

}  // namespace seraph

#endif  // SERAPH_CLIENT_EXPORT_EXPORTER_H_
