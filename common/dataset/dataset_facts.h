// What must be known of a whole data set before its first record is used.
//
// One pass over the data before clock 0, shared out over the workers, finds
// these facts; they are merged in the order of the files and stored with the
// job, so that no rank ever decides from its own share what holds for all.
#ifndef SERAPH_COMMON_DATASET_DATASET_FACTS_H_
#define SERAPH_COMMON_DATASET_DATASET_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/key.h"
#include "common/dataset/input_files.h"

namespace seraph {

// A piece of a file, dealt to ranks as a whole or cut between two of them. A
// record belongs to the block in which its first byte lies.
struct DatasetBlock {
  uint32_t file = 0;   // Index into DatasetFacts::files.
  uint64_t begin = 0;  // Bytes [begin, end) of the uncompressed file.
  uint64_t end = 0;
  uint64_t train_records = 0;
  uint64_t validation_records = 0;  // Set apart by validation_fraction.
  uint64_t bad_records = 0;         // Passed over.

  friend bool operator==(const DatasetBlock&, const DatasetBlock&) = default;
};

// A label as the file has it, where it occurs first. Lines count from 1.
struct SeenLabel {
  double value = 0;
  std::string text;   // Of a csv label that is no number; value is then 0.
  uint32_t file = 0;  // Index into DatasetFacts::files.
  uint64_t line = 0;

  friend bool operator==(const SeenLabel&, const SeenLabel&) = default;
};

struct BadRecord {
  uint32_t file = 0;
  uint64_t line = 0;
  std::string reason;

  friend bool operator==(const BadRecord&, const BadRecord&) = default;
};

struct DatasetFacts {
  // More distinct labels than this are not kept: a classifier with so many
  // classes has to name its labels 0..K-1.
  static constexpr size_t kMaxLabels = 16384;
  static constexpr size_t kMaxBadExamples = 10;

  std::vector<InputFile> files;

  // Ascending by (file, begin), without gaps inside a file.
  std::vector<DatasetBlock> blocks;

  // The first kMaxLabels distinct labels of records that are used, by place.
  std::vector<SeenLabel> labels;
  bool labels_capped = false;  // There are more.

  // Of all entries of used records, after adding repeats; keys as a Batch has
  // them (for dense tables less the index base).
  bool has_keys = false;  // There is an entry; else the next two mean nothing.
  Key min_key = 0;
  Key max_key = 0;
  uint32_t max_field = 0;  // libffm.
  uint64_t nonzeros = 0;   // Entries, explicit zeros included.

  // Records in which an index occurs more than once.
  uint64_t repeated_index_records = 0;

  // csv: feature columns and, with a header, their names; idx: pixels.
  uint64_t columns = 0;
  std::vector<std::string> column_names;

  // The first kMaxBadExamples records that were passed over.
  std::vector<BadRecord> bad_examples;

  // Of a part: lines that begin in it. Places in a part count from its first
  // line; MergeFacts() counts on from part to part. After the merge: all lines.
  uint64_t lines = 0;

  friend bool operator==(const DatasetFacts&, const DatasetFacts&) = default;
};

// Merges the facts of parts, each a piece of one file whose blocks carry the
// file's index in `files`; the order of `parts` is of no matter. The result is
// the same however the data was cut into parts.
//
// Errors: InvalidArgument if two files have other columns; Internal if the
// parts leave a gap in a file or overlap, or name a file that is not there.
absl::StatusOr<DatasetFacts> MergeFacts(std::vector<InputFile> files,
                                        std::vector<DatasetFacts> parts);

// Errors: InvalidArgument, naming both files, if `validation` has other columns
// (csv, idx) than `train`.
absl::Status CheckSameColumns(const DatasetFacts& train,
                              const DatasetFacts& validation);

// Sums over the blocks.
uint64_t TrainRecords(const DatasetFacts& facts);
uint64_t ValidationRecords(const DatasetFacts& facts);
uint64_t BadRecords(const DatasetFacts& facts);

// What a user should be told once, one sentence each: bad records with the
// first ones by file and line, records with repeated indices.
std::vector<std::string> Warnings(const DatasetFacts& facts);

}  // namespace seraph

#endif  // SERAPH_COMMON_DATASET_DATASET_FACTS_H_
