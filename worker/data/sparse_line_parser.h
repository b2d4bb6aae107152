// libsvm and libffm: one record a line, features named by index.
#ifndef SERAPH_WORKER_DATA_SPARSE_LINE_PARSER_H_
#define SERAPH_WORKER_DATA_SPARSE_LINE_PARSER_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/data/line_parser.h"
#include "worker/data/record_block.h"
#include "worker/data/record_rules.h"

namespace seraph {

// libsvm:  label [qid:group] index:value ...     (the svmlight format, too)
// libffm:  label field:index:value ...
//
// Between the parts stand blanks and tabs; "#" starts a comment; a line with a
// label alone is a record. Indices come in any order; one that a record repeats
// (libffm: with the same field) adds its values. An explicit 0 is kept.
class SparseLineParser final : public LineParser {
 public:
  // Requires: rules.format is kLibsvm or kLibffm.
  explicit SparseLineParser(const RecordRules& rules);

  absl::StatusOr<bool> Parse(absl::string_view line,
                             RecordBlock* block) const override;

 private:
  absl::Status ParseEntry(absl::string_view entry, Batch* batch) const;
  absl::Status BadNumber(absl::string_view name, absl::string_view rest,
                         absl::string_view entry) const;
  absl::Status BadIndex(absl::string_view entry, uint64_t index) const;

  const bool with_fields_;
  const bool labels_optional_;
  const uint64_t index_base_;
  const uint64_t shift_;                // index - shift is the key.
  const std::optional<uint64_t> keys_;  // Keys are below it.
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_SPARSE_LINE_PARSER_H_
