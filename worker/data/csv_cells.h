// The cells of a csv line.
#ifndef SERAPH_WORKER_DATA_CSV_CELLS_H_
#define SERAPH_WORKER_DATA_CSV_CELLS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace seraph {

// Walks over one line. Blanks around a cell are no part of it. A cell in double
// quotes may hold the delimiter and, doubled, quotes, but no line end; single
// quotes and "#" mean nothing. An empty line has one cell, which is empty.
class CsvCells {
 public:
  CsvCells(absl::string_view line, char delimiter)
      : rest_(line), delimiter_(delimiter) {}

  // Goes to the next cell; false behind the last. The cell is valid until the
  // next call.
  // Errors: InvalidArgument for a quote that is not closed on the line, and for
  // text behind a closing one.
  absl::StatusOr<bool> Next(absl::string_view* cell);

  // Whether Next() has given the last cell.
  bool AtEnd() const { return done_; }

 private:
  absl::StatusOr<bool> NextQuoted(absl::string_view* cell);
  bool IsBlank(char c) const {
    return (c == ' ' || c == '\t' || c == '\r') && c != delimiter_;
  }
  absl::string_view TrimmedLeft(absl::string_view text) const;

  absl::string_view rest_;
  const char delimiter_;
  bool done_ = false;
  std::string unquoted_;  // The cell, if it has doubled quotes.
};

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_CSV_CELLS_H_
