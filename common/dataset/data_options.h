// How a data set is read: the `data` section of a job file, as a plain struct.
//
// Every default is usable. Which of the options a format understands is said
// by OptionNames(): an option of another format is an error in a job file.
#ifndef SERAPH_COMMON_DATASET_DATA_OPTIONS_H_
#define SERAPH_COMMON_DATASET_DATA_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace seraph {

enum class DataFormat {
  kLibsvm,  // label [qid:group] index:value ...
  kLibffm,  // label field:index:value ...
  kCsv,     // cells between delimiters, one record a line
  kIdx,     // the MNIST files: images and labels
};

// "libsvm", "libffm", "csv", "idx".
absl::string_view DataFormatName(DataFormat format);
std::optional<DataFormat> DataFormatFromName(absl::string_view name);

// All of the names above, for messages.
absl::Span<const absl::string_view> DataFormatNames();

// The keys of `data.options` that `format` understands.
absl::Span<const absl::string_view> OptionNames(DataFormat format);

// Whether the first line of a csv file names the columns.
enum class CsvHeader {
  // It does if none of its cells is a number and the second line has a number
  // (or there is no second line).
  kAuto,
  kYes,
  kNo,
};

// "auto", "true", "false".
absl::string_view CsvHeaderName(CsvHeader header);
std::optional<CsvHeader> CsvHeaderFromName(absl::string_view name);

// What a record that cannot be read does.
enum class BadRecordAction {
  kFail,  // Stops the job, naming file, line and reason.
  kSkip,  // Is counted, and the first ones are reported; the job goes on.
};

// "fail", "skip".
absl::string_view BadRecordActionName(BadRecordAction action);
std::optional<BadRecordAction> BadRecordActionFromName(absl::string_view name);

// One character as it is; also "tab", "space" and "\t" (backslash, t).
std::optional<char> DelimiterFromName(absl::string_view name);

struct DataOptions {
  // `data.on_bad_record`; of every format.
  BadRecordAction on_bad_record = BadRecordAction::kFail;

  // Of every format -----------------------------------------------------------

  // Bytes (uncompressed) of a block, the unit that is dealt to ranks and
  // shuffled. 0: from the size of the file and the number of ranks. Otherwise
  // 64..2^30.
  uint64_t block_bytes = 0;

  // Memory of the records that are shuffled with each other, estimated from the
  // whole data set; a rank holds one such group. Range 4 KiB..4 GiB; a group
  // has one block at least.
  uint64_t group_bytes = uint64_t{8} << 20;

  // The longest line, in bytes, that is still taken for a record; a longer one
  // stops the job whatever on_bad_record says. Range 64..1 GiB.
  uint64_t max_record_bytes = uint64_t{64} << 20;

  // libsvm and libffm ---------------------------------------------------------

  // The lowest index a file may have: 0 or 1. Absent: 1 for libsvm, 0 for
  // libffm. Dense tables count from it: the key is index - index_base. Sparse
  // tables take the index as the key, unshifted.
  std::optional<uint32_t> index_base;

  // csv -----------------------------------------------------------------------
  // A column is given by its number, from 0 (negative: from the end, -1 is the
  // last), or by its name in the header.

  // The column that holds the label, or "none" (for prediction only).
  std::string label_column = "0";

  // Between the cells. Not a quote, a letter, a digit, nor one of "+-.\r\n".
  char delimiter = ',';

  CsvHeader header = CsvHeader::kAuto;

  // Lines in front of the header or the first record that are passed over.
  uint32_t skip_lines = 0;

  // The feature columns; the key of a feature is its place in this list.
  // Empty: every column but the label, in the order of the file.
  std::vector<std::string> columns;

  // The feature columns whose cells are names and not numbers. A cell becomes
  // the key of a feature of value 1, by a hash of the column's place and the
  // cell's text. Any other column with a text in it is an error.
  std::vector<std::string> categorical;

  // Of the categorical keys. With F feature columns a key is
  // F + hash mod 2^hash_bits. Range 0..62; 0: 2^63 + hash mod 2^63 (sparse
  // tables only).
  uint32_t hash_bits = 0;

  // Cells (trimmed) that mean "unknown". A feature is then absent, which is the
  // same as 0; a record whose label is missing is a bad record.
  std::vector<std::string> missing = {"",    "-",    "?",   "NA",
                                      "N/A", "null", "NULL"};

  // idx -----------------------------------------------------------------------

  // A pixel's value is byte * scale. Finite, not 0.
  double scale = 1.0 / 255.0;

  // The label files of the training images, in the order of these, sorted;
  // paths and patterns like those of `data.train`. Empty, and for validation
  // images: those listed among the files, else the file with the usual name
  // beside the images.
  std::vector<std::string> labels;

  // index_base, or the default of `format`.
  uint32_t IndexBase(DataFormat format) const;

  // One InvalidArgument that names every bad field, or OK.
  absl::Status Validate() const;

  friend bool operator==(const DataOptions&, const DataOptions&) = default;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_DATASET_DATA_OPTIONS_H_
