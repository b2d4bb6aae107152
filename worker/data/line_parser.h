// From one line of a text file to one record.
#ifndef SERAPH_WORKER_DATA_LINE_PARSER_H_
#define SERAPH_WORKER_DATA_LINE_PARSER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/data/record_block.h"

namespace seraph {

// Threads: const, so every method may be called from any thread.
class LineParser {
 public:
  virtual ~LineParser() = default;

  // Appends the record of `line` (which has no line end) to block->records,
  // counts its repeated indices, and returns true; returns false for a line
  // that holds no record (blank, or a comment). The offset and the line of the
  // record are the caller's to append.
  //
  // Errors: InvalidArgument with the reason alone; entries of the unfinished
  // row may then lie behind row_starts.back(), which is as it was.
  virtual absl::StatusOr<bool> Parse(absl::string_view line,
                                     RecordBlock* block) const = 0;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_LINE_PARSER_H_
