#include "client/export/seraph_sink.h"

#include <utility>

#include "common/model_file/model_file_writer.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

class SeraphSink final : public ModelSink {
 public:
  SeraphSink(std::string path, std::unique_ptr<ModelFileWriter> writer)
      : path_(std::move(path)), writer_(std::move(writer)) {}

  absl::Status BeginTable(const TableSurvey& table) override {
    SERAPH_RETURN_IF_ERROR(EndTable());
    in_table_ = true;
    return writer_->BeginTable(table.header);
  }

  absl::Status AddRows(absl::Span<const Key> keys,
                       absl::Span<const float> values) override {
    return writer_->AddRows(keys, values);
  }

  absl::Status Finish() override {
    SERAPH_RETURN_IF_ERROR(EndTable());
    return writer_->Finish().status();
  }

  std::vector<std::string> files() const override { return {path_}; }

 private:
  absl::Status EndTable() {
    return std::exchange(in_table_, false) ? writer_->EndTable()
                                           : absl::OkStatus();
  }

  const std::string path_;
  const std::unique_ptr<ModelFileWriter> writer_;
  bool in_table_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ModelSink>> MakeSeraphSink(
    const std::string& path, const ModelSurvey& survey) {
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<ModelFileWriter> writer,
                          ModelFileWriter::Create(path, survey.metadata));
  return std::unique_ptr<ModelSink>(
      std::make_unique<SeraphSink>(path, std::move(writer)));
}

}  // namespace seraph
