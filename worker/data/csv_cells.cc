#include "worker/data/csv_cells.h"

#include "absl/status/status.h"

namespace seraph {

absl::string_view CsvCells::TrimmedLeft(absl::string_view text) const {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  return text;
}

absl::StatusOr<bool> CsvCells::Next(absl::string_view* cell) {
  if (done_) return false;
  rest_ = TrimmedLeft(rest_);
  if (!rest_.empty() && rest_.front() == '"') return NextQuoted(cell);
  const size_t end = rest_.find(delimiter_);
  *cell = rest_.substr(0, end);
  while (!cell->empty() && IsBlank(cell->back())) cell->remove_suffix(1);
  if (end == absl::string_view::npos) {
    done_ = true;
  } else {
    rest_.remove_prefix(end + 1);
  }
  return true;
}

absl::StatusOr<bool> CsvCells::NextQuoted(absl::string_view* cell) {
  rest_.remove_prefix(1);
  unquoted_.clear();
  bool doubled = false;
  while (true) {
    const size_t quote = rest_.find('"');
    if (quote == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          "a quote is not closed on its line (cells of several lines are not "
          "read)");
    }
    const absl::string_view piece = rest_.substr(0, quote);
    rest_.remove_prefix(quote + 1);
    const bool again = !rest_.empty() && rest_.front() == '"';
    if (doubled || again) {
      unquoted_.append(piece.data(), piece.size());
      *cell = unquoted_;
    } else {
      *cell = piece;
    }
    if (!again) break;
    doubled = true;
    unquoted_.push_back('"');
    rest_.remove_prefix(1);
  }
  rest_ = TrimmedLeft(rest_);
  if (rest_.empty()) {
    done_ = true;
  } else if (rest_.front() == delimiter_) {
    rest_.remove_prefix(1);
  } else {
    return absl::InvalidArgumentError("text follows a closing quote");
  }
  return true;
}

}  // namespace seraph
