#include "worker/data/csv_layout.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status/status_macros.h"
#include "worker/data/block_lines.h"
#include "worker/data/csv_cells.h"
#include "worker/data/number.h"

namespace seraph {
namespace {

// A line at the beginning of the file, in cells.
struct HeadLine {
  std::vector<std::string> cells;
  uint64_t begin = 0;  // In the file.
  uint64_t end = 0;    // Where the next line begins.
};

absl::StatusOr<std::vector<std::string>> CellsOf(absl::string_view line,
                                                 char delimiter) {
  std::vector<std::string> cells;
  CsvCells walk(line, delimiter);
  absl::string_view cell;
  while (true) {
    SERAPH_ASSIGN_OR_RETURN(const bool more, walk.Next(&cell));
    if (!more) return cells;
    cells.emplace_back(cell);
  }
}

// The first two lines that are not blank, behind the lines to be skipped.
absl::StatusOr<std::vector<HeadLine>> ReadHead(const DataFile& file,
                                               const DataOptions& options) {
  std::vector<HeadLine> head;
  uint64_t offset = 0;
  for (uint64_t number = 1; head.size() < 2 && offset < file.size(); ++number) {
    // A range of one byte has the line that begins with it.
    SERAPH_ASSIGN_OR_RETURN(
        BlockLines lines,
        BlockLines::Read(file, offset, offset + 1, options.max_record_bytes));
    absl::string_view text;
    uint64_t begin;
    if (!lines.Next(&text, &begin)) break;
    offset = lines.next_offset();
    if (number <= options.skip_lines) continue;
    absl::StatusOr<std::vector<std::string>> cells =
        CellsOf(text, options.delimiter);
    if (!cells.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          file.path(), ":", number, ": ", cells.status().message()));
    }
    if (cells->size() == 1 && cells->front().empty()) continue;
    head.push_back({*std::move(cells), begin, offset});
  }
  return head;
}

bool HasNumber(const std::vector<std::string>& cells) {
  return std::any_of(cells.begin(), cells.end(), [](const std::string& cell) {
    double ignored;
    return ParseDouble(cell, &ignored) == NumberError::kNone;
  });
}

bool IsHeader(const std::vector<HeadLine>& head, CsvHeader option) {
  if (head.empty()) return false;
  switch (option) {
    case CsvHeader::kYes:
      return true;
    case CsvHeader::kNo:
      return false;
    case CsvHeader::kAuto:
      break;
  }
  return !HasNumber(head[0].cells) &&
         (head.size() == 1 || HasNumber(head[1].cells));
}

// Finds columns that options name.
class ColumnFinder {
 public:
  ColumnFinder(const CsvLayout& layout, const std::string& path)
      : layout_(layout), path_(path) {}

  absl::StatusOr<size_t> Find(absl::string_view option,
                              const std::string& wanted) const {
    const size_t count = layout_.columns.size();
    if (int64_t number; absl::SimpleAtoi(wanted, &number)) {
      const int64_t column = number < 0 ? number + int64_t(count) : number;
      if (column >= 0 && column < int64_t(count)) return column;
      return Error(option, wanted,
                   absl::StrCat("is not there: the file has ", count,
                                count == 1 ? " column (is options.delimiter "
                                             "right?)"
                                           : " columns"));
    }
    if (layout_.names.empty()) {
      return Error(option, wanted,
                   "needs a header, and the file has none (options.header)");
    }
    const auto& names = layout_.names;
    if (std::count(names.begin(), names.end(), wanted) > 1) {
      return Error(option, wanted, "is the name of several columns");
    }
    const auto found = std::find(names.begin(), names.end(), wanted);
    if (found == names.end()) {
      const size_t shown = std::min<size_t>(names.size(), 20);
      return absl::NotFoundError(
          Error(option, wanted,
                absl::StrCat(
                    "is none of the columns '",
                    absl::StrJoin(names.begin(), names.begin() + shown, "', '"),
                    shown < names.size() ? "', ..." : "'"))
              .message());
    }
    return found - names.begin();
  }

  absl::Status Error(absl::string_view option, absl::string_view value,
                     absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, ": data.options.", option, ": '", value, "' ", what));
  }

 private:
  const CsvLayout& layout_;
  const std::string& path_;
};

absl::Status FindLabel(const ColumnFinder& finder, const RecordRules& rules,
                       CsvLayout* layout) {
  const std::string& wanted = rules.options.label_column;
  if (wanted == "none") {
    if (rules.labels_optional) return absl::OkStatus();
    return finder.Error("label_column", wanted, "is for prediction only");
  }
  const absl::StatusOr<size_t> column = finder.Find("label_column", wanted);
  if (column.ok()) {
    layout->columns[*column].role = CsvColumn::Role::kLabel;
    return absl::OkStatus();
  }
  // What is to be predicted need not have the column.
  if (absl::IsNotFound(column.status()) && rules.labels_optional) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(column.status().message());
}

absl::Status FindFeatures(const ColumnFinder& finder, const RecordRules& rules,
                          CsvLayout* layout) {
  std::vector<size_t> features;
  for (const std::string& wanted : rules.options.columns) {
    const absl::StatusOr<size_t> column = finder.Find("columns", wanted);
    if (!column.ok()) {
      return absl::InvalidArgumentError(column.status().message());
    }
    if (layout->columns[*column].role != CsvColumn::Role::kIgnored) {
      return finder.Error("columns", wanted, "is given twice, or is the label");
    }
    layout->columns[*column].role = CsvColumn::Role::kNumber;
    features.push_back(*column);
  }
  if (rules.options.columns.empty()) {
    for (size_t i = 0; i < layout->columns.size(); ++i) {
      if (layout->columns[i].role != CsvColumn::Role::kIgnored) continue;
      layout->columns[i].role = CsvColumn::Role::kNumber;
      features.push_back(i);
    }
  }
  for (size_t place = 0; place < features.size(); ++place) {
    layout->columns[features[place]].key = place;
    if (!layout->names.empty()) {
      layout->feature_names.push_back(layout->names[features[place]]);
    }
  }
  layout->features = features.size();
  return absl::OkStatus();
}

absl::Status FindCategories(const ColumnFinder& finder,
                            const RecordRules& rules, CsvLayout* layout) {
  for (const std::string& wanted : rules.options.categorical) {
    const absl::StatusOr<size_t> column = finder.Find("categorical", wanted);
    if (!column.ok()) {
      return absl::InvalidArgumentError(column.status().message());
    }
    CsvColumn::Role& role = layout->columns[*column].role;
    if (role != CsvColumn::Role::kNumber) {
      return finder.Error("categorical", wanted,
                          "is given twice, or is no feature column");
    }
    role = CsvColumn::Role::kCategory;
  }
  return absl::OkStatus();
}

absl::Status CheckDense(const std::string& path, const RecordRules& rules,
                        const CsvLayout& layout) {
  if (!rules.dense_keys) return absl::OkStatus();
  uint64_t keys = layout.features;
  if (!rules.options.categorical.empty()) {
    if (rules.options.hash_bits == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          path,
          ": data.options.categorical: needs data.options.hash_bits "
          "where model.keys is given"));
    }
    keys += uint64_t{1} << rules.options.hash_bits;
  }
  if (keys <= *rules.dense_keys) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": ", layout.features, " feature columns",
      keys == layout.features ? "" : " and data.options.hash_bits", " need ",
      keys, " keys where model.keys is ", *rules.dense_keys));
}

}  // namespace

std::string CsvLayout::Describe(size_t column) const {
  if (column < names.size()) {
    return absl::StrCat("column ", column, " ('", names[column], "')");
  }
  return absl::StrCat("column ", column);
}

absl::StatusOr<CsvLayout> ReadCsvLayout(const DataFile& file,
                                        const RecordRules& rules) {
  SERAPH_ASSIGN_OR_RETURN(const std::vector<HeadLine> head,
                          ReadHead(file, rules.options));
  CsvLayout layout;
  layout.data_begin = file.size();
  if (head.empty()) return layout;
  layout.columns.resize(head[0].cells.size());
  if (IsHeader(head, rules.options.header)) {
    for (const std::string& name : head[0].cells) {
      // Names go into messages and into other files as UTF-8.
      layout.names.push_back(IsUtf8(name) ? name : absl::CHexEscape(name));
    }
    layout.data_begin = head[0].end;
  } else {
    layout.data_begin = head[0].begin;
  }
  const ColumnFinder finder(layout, file.path());
  SERAPH_RETURN_IF_ERROR(FindLabel(finder, rules, &layout));
  SERAPH_RETURN_IF_ERROR(FindFeatures(finder, rules, &layout));
  SERAPH_RETURN_IF_ERROR(FindCategories(finder, rules, &layout));
  SERAPH_RETURN_IF_ERROR(CheckDense(file.path(), rules, layout));
  return layout;
}

}  // namespace seraph
