#include "client/export/exporter.h"

#include <memory>
#include <utility>

#include "client/base/exit_code.h"
#include "client/export/liblinear_sink.h"
#include "client/export/npy_sink.h"
#include "client/export/seraph_sink.h"
#include "client/export/text_sink.h"
#include "common/model_file/model_file_reader.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr std::pair<ExportFormat, absl::string_view> kFormats[] = {
    {ExportFormat::kSeraph, "seraph"},
    {ExportFormat::kText, "text"},
    {ExportFormat::kNpy, "npy"},
    {ExportFormat::kLiblinear, "liblinear"}};

using OnRows =
    std::function<absl::Status(absl::Span<const Key>, absl::Span<const float>)>;

// Hands over the rows of the reader's table, a block at a time.
absl::Status ForEachBlock(ModelFileReader* reader, const Interrupt& interrupt,
                          const OnProgress& on_progress,
                          const OnRows& on_rows) {
  std::vector<Key> keys;
  std::vector<float> values;
  while (true) {
    SERAPH_RETURN_IF_ERROR(InputError(interrupt.Check()));
    const absl::StatusOr<bool> more = reader->NextRows(&keys, &values);
    if (!more.ok()) return InputError(more.status());
    if (!*more) return absl::OkStatus();
    SERAPH_RETURN_IF_ERROR(on_rows(keys, values));
    on_progress(static_cast<double>(reader->offset()) / reader->size());
  }
}

absl::StatusOr<std::unique_ptr<ModelSink>> MakeSink(ExportFormat format,
                                                    const std::string& out,
                                                    const ModelSurvey& survey) {
  switch (format) {
    case ExportFormat::kSeraph:
      return MakeSeraphSink(out, survey);
    case ExportFormat::kText:
      return MakeTextSink(out, survey);
    case ExportFormat::kNpy:
      return MakeNpySink(out, survey);
    case ExportFormat::kLiblinear:
      return MakeLiblinearSink(out, survey);
  }
  return absl::InternalError("no such format");
}

absl::Status WasChanged(const std::string& model) {
  return InputError(absl::FailedPreconditionError(
      "the model file '" + model + "' was changed while it was read"));
}

// Reads the model again, into the sink.
absl::Status Fill(const std::string& model, const ModelSurvey& survey,
                  const Interrupt& interrupt, const OnProgress& on_progress,
                  ModelSink* sink) {
  const absl::StatusOr<std::unique_ptr<ModelFileReader>> reader =
      ModelFileReader::Open(model);
  if (!reader.ok()) return InputError(reader.status());
  for (const TableSurvey& table : survey.tables) {
    const absl::StatusOr<std::optional<ModelTableHeader>> header =
        (*reader)->NextTable();
    if (!header.ok()) return InputError(header.status());
    if (*header != table.header) return WasChanged(model);
    SERAPH_RETURN_IF_ERROR(OutputError(sink->BeginTable(table)));
    SERAPH_RETURN_IF_ERROR(ForEachBlock(
        reader->get(), interrupt, on_progress,
        [&](absl::Span<const Key> keys, absl::Span<const float> values) {
          return OutputError(sink->AddRows(keys, values));
        }));
  }
  const absl::StatusOr<std::optional<ModelTableHeader>> end =
      (*reader)->NextTable();
  if (!end.ok()) return InputError(end.status());
  if (end->has_value() || (*reader)->footer().digest != survey.digest) {
    return WasChanged(model);
  }
  return OutputError(sink->Finish());
}

}  // namespace

std::optional<ExportFormat> ParseExportFormat(absl::string_view name) {
  for (const auto& [format, candidate] : kFormats) {
    if (candidate == name) return format;
  }
  return std::nullopt;
}

std::vector<std::string> ExportFormatNames() {
  std::vector<std::string> names;
  for (const auto& [format, name] : kFormats) names.emplace_back(name);
  return names;
}

absl::StatusOr<ModelSurvey> SurveyModel(const std::string& path,
                                        const Interrupt& interrupt,
                                        const OnProgress& on_progress) {
  const absl::StatusOr<std::unique_ptr<ModelFileReader>> reader =
      ModelFileReader::Open(path);
  if (!reader.ok()) return InputError(reader.status());
  ModelSurvey survey;
  survey.metadata = (*reader)->metadata();
  while (true) {
    const absl::StatusOr<std::optional<ModelTableHeader>> header =
        (*reader)->NextTable();
    if (!header.ok()) return InputError(header.status());
    if (!header->has_value()) break;
    TableSurvey table;
    table.header = **header;
    SERAPH_RETURN_IF_ERROR(ForEachBlock(
        reader->get(), interrupt, on_progress,
        [&](absl::Span<const Key> keys, absl::Span<const float> values) {
          if (table.rows == 0) table.first_key = keys.front();
          table.last_key = keys.back();
          table.rows += keys.size();
          return absl::OkStatus();
        }));
    survey.tables.push_back(std::move(table));
  }
  survey.digest = (*reader)->footer().digest;
  return survey;
}

absl::StatusOr<ExportSummary> ExportModel(const std::string& model,
                                          ExportFormat format,
                                          const std::string& out,
                                          const Interrupt& interrupt,
                                          const OnProgress& on_progress) {
  ExportSummary summary;
  SERAPH_ASSIGN_OR_RETURN(summary.survey,
                          SurveyModel(model, interrupt, [&](double fraction) {
                            on_progress(fraction / 2);
                          }));
  const absl::StatusOr<std::unique_ptr<ModelSink>> sink =
      MakeSink(format, out, summary.survey);
  if (!sink.ok()) return OutputError(sink.status());
  SERAPH_RETURN_IF_ERROR(Fill(
      model, summary.survey, interrupt,
      [&](double fraction) { on_progress(0.5 + fraction / 2); }, sink->get()));
  summary.files = (*sink)->files();
  return summary;
}

}  // namespace seraph
