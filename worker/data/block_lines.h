// The lines of a text file that begin in a range of its bytes.
#ifndef SERAPH_WORKER_DATA_BLOCK_LINES_H_
#define SERAPH_WORKER_DATA_BLOCK_LINES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/data/data_file.h"

namespace seraph {

// Reads them all at once, the last one to its end even where that lies beyond
// the range. A line begins at byte 0 and behind every line feed; a byte order
// mark in front of the first is passed over.
//
// Memory: the range and its last line.
class BlockLines {
 public:
  // Requires: begin <= end <= file.size().
  // Errors: InvalidArgument "file:line: ..." for a line of more than
  // `max_line_bytes`; what reading gives, by errno.
  static absl::StatusOr<BlockLines> Read(const DataFile& file, uint64_t begin,
                                         uint64_t end, uint64_t max_line_bytes);

  // Goes to the next line; false if there is none. The text has no line end.
  bool Next(absl::string_view* text, uint64_t* offset);

  // In the file: where the line behind the last one that Next() gave begins.
  uint64_t next_offset() const { return text_offset_ + next_; }

 private:
  std::string text_;
  uint64_t text_offset_ = 0;  // In the file, of text_[0].
  size_t next_ = 0;           // In text_, of the next line.
  size_t end_ = 0;            // In text_: no line begins from here on.
};

// The number, from 1, of the line that begins at byte `offset`: reads all that
// lies before.
absl::StatusOr<uint64_t> LineNumber(const DataFile& file, uint64_t offset);

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_BLOCK_LINES_H_
