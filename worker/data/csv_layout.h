// What the columns of a csv file are for.
#ifndef SERAPH_WORKER_DATA_CSV_LAYOUT_H_
#define SERAPH_WORKER_DATA_CSV_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/key.h"
#include "worker/data/data_file.h"
#include "worker/data/record_rules.h"

namespace seraph {

struct CsvColumn {
  enum class Role {
    kIgnored,
    kLabel,
    kNumber,    // `key` is the feature's.
    kCategory,  // The key is a hash of `key` (its place) and the cell.
  };
  Role role = Role::kIgnored;
  Key key = 0;
};

struct CsvLayout {
  std::vector<CsvColumn> columns;  // Of the file, in its order.

  // With a header; otherwise empty.
  std::vector<std::string> names;          // Of all columns.
  std::vector<std::string> feature_names;  // By place.

  uint64_t features = 0;    // Columns that are.
  uint64_t data_begin = 0;  // Lines that begin before are no records.

  // The column's number and, with a header, its name, for messages.
  std::string Describe(size_t column) const;
};

// Reads the first lines of `file`. A file without a record has no columns.
// Errors: InvalidArgument, naming the option and the file, for a column that is
// not there, or one that is given twice, and for more features than
// rules.dense_keys; what reading gives, by errno.
absl::StatusOr<CsvLayout> ReadCsvLayout(const DataFile& file,
                                        const RecordRules& rules);

}  // namespace seraph

#endif  // SERAPH_WORKER_DATA_CSV_LAYOUT_H_
