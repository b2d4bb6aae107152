#include "worker/data/record_reader.h"

#include <utility>

#include "common/status/status_macros.h"
#include "worker/data/idx_record_reader.h"
#include "worker/data/text_record_reader.h"

namespace seraph {

absl::StatusOr<std::unique_ptr<RecordReader>> RecordReader::Open(
    const InputFile& file, const RecordRules& rules, Spool* spool) {
  SERAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const SpooledFile> spooled,
                          spool->Get(file.data));
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<DataFile> data, spooled->Open());
  if (rules.format != DataFormat::kIdx) {
    return TextRecordReader::Make(std::move(data), rules);
  }
  std::unique_ptr<DataFile> labels;
  if (!file.labels.path.empty()) {
    SERAPH_ASSIGN_OR_RETURN(
        const std::shared_ptr<const SpooledFile> spooled_labels,
        spool->Get(file.labels));
    SERAPH_ASSIGN_OR_RETURN(labels, spooled_labels->Open());
  }
  return IdxRecordReader::Make(std::move(data), std::move(labels), rules);
}

}  // namespace seraph
