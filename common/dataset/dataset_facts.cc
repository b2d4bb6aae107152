#include "common/dataset/dataset_facts.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

// Where in the sequence of all bytes a part begins.
std::pair<uint32_t, uint64_t> PlaceOf(const DatasetFacts& part) {
  if (part.blocks.empty()) return {0, 0};
  return {part.blocks.front().file, part.blocks.front().begin};
}

absl::Status CheckBlocks(const std::vector<InputFile>& files,
                         const std::vector<DatasetBlock>& blocks) {
  uint32_t file = 0;
  uint64_t end = 0;
  for (const DatasetBlock& block : blocks) {
    if (block.file != file) end = 0;
    file = block.file;
    if (file >= files.size() || block.begin != end ||
        block.end <= block.begin) {
      return absl::InternalError(absl::StrCat(
          "the pass over the data gave block [", block.begin, ", ", block.end,
          ") of file ", file, " of ", files.size(), " after byte ", end));
    }
    end = block.end;
  }
  return absl::OkStatus();
}

absl::Status CheckColumns(const std::string& path, const DatasetFacts& facts,
                          const std::string& first_path,
                          const DatasetFacts& first) {
  if (facts.columns != first.columns) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' has ", facts.columns, " feature columns where '",
        first_path, "' has ", first.columns));
  }
  // A file without a header may stand beside one with it.
  const size_t names =
      std::min(facts.column_names.size(), first.column_names.size());
  for (size_t i = 0; i < names; ++i) {
    if (facts.column_names[i] == first.column_names[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "feature ", i, " is column '", facts.column_names[i], "' in '", path,
        "' and '", first.column_names[i], "' in '", first_path, "'"));
  }
  return absl::OkStatus();
}

// Collects the first occurrences of labels, given in order of their place.
class LabelCollector {
 public:
  explicit LabelCollector(DatasetFacts* facts) : facts_(*facts) {}

  void Add(SeenLabel label) {
    std::pair<double, std::string> identity(label.value, label.text);
    if (seen_.contains(identity)) return;
    if (seen_.size() == DatasetFacts::kMaxLabels) {
      facts_.labels_capped = true;
      return;
    }
    seen_.insert(std::move(identity));
    facts_.labels.push_back(std::move(label));
  }

 private:
  DatasetFacts& facts_;
  absl::flat_hash_set<std::pair<double, std::string>> seen_;
};

void AddKeys(const DatasetFacts& part, DatasetFacts* merged) {
  if (!part.has_keys) return;
  if (!merged->has_keys || part.min_key < merged->min_key) {
    merged->min_key = part.min_key;
  }
  if (!merged->has_keys || part.max_key > merged->max_key) {
    merged->max_key = part.max_key;
  }
  merged->has_keys = true;
}

uint64_t Sum(const DatasetFacts& facts, uint64_t DatasetBlock::*field) {
  uint64_t sum = 0;
  for (const DatasetBlock& block : facts.blocks) sum += block.*field;
  return sum;
}

}  // namespace

absl::StatusOr<DatasetFacts> MergeFacts(std::vector<InputFile> files,
                                        std::vector<DatasetFacts> parts) {
  // A part without blocks is that of an empty file: it has no facts.
  std::erase_if(parts,
                [](const DatasetFacts& part) { return part.blocks.empty(); });
  std::sort(parts.begin(), parts.end(),
            [](const DatasetFacts& a, const DatasetFacts& b) {
              return PlaceOf(a) < PlaceOf(b);
            });
  DatasetFacts merged;
  LabelCollector labels(&merged);
  std::string columns_from;  // The file that `merged` has its columns from.
  uint32_t file = 0;
  uint64_t lines = 0;  // Of the parts of `file` so far.
  for (DatasetFacts& part : parts) {
    if (part.blocks.front().file != file) lines = 0;
    file = part.blocks.front().file;
    merged.blocks.insert(merged.blocks.end(), part.blocks.begin(),
                         part.blocks.end());
    for (SeenLabel& label : part.labels) {
      label.line += lines;
      labels.Add(std::move(label));
    }
    merged.labels_capped = merged.labels_capped || part.labels_capped;
    for (BadRecord& bad : part.bad_examples) {
      if (merged.bad_examples.size() == DatasetFacts::kMaxBadExamples) break;
      bad.line += lines;
      merged.bad_examples.push_back(std::move(bad));
    }
    AddKeys(part, &merged);
    merged.max_field = std::max(merged.max_field, part.max_field);
    merged.nonzeros += part.nonzeros;
    merged.repeated_index_records += part.repeated_index_records;
    if (part.columns != 0 && file < files.size()) {
      const std::string& path = files[file].data.path;
      if (columns_from.empty()) {
        columns_from = path;
        merged.columns = part.columns;
      }
      SERAPH_RETURN_IF_ERROR(CheckColumns(path, part, columns_from, merged));
      if (merged.column_names.empty()) merged.column_names = part.column_names;
    }
    lines += part.lines;
    merged.lines += part.lines;
  }
  SERAPH_RETURN_IF_ERROR(CheckBlocks(files, merged.blocks));
  merged.files = std::move(files);
  return merged;
}

absl::Status CheckSameColumns(const DatasetFacts& train,
                              const DatasetFacts& validation) {
  // An empty set has no columns, and none that differ.
  if (train.columns == 0 || validation.columns == 0) return absl::OkStatus();
  return CheckColumns(validation.files.front().data.path, validation,
                      train.files.front().data.path, train);
}

uint64_t TrainRecords(const DatasetFacts& facts) {
  return Sum(facts, &DatasetBlock::train_records);
}

uint64_t ValidationRecords(const DatasetFacts& facts) {
  return Sum(facts, &DatasetBlock::validation_records);
}

uint64_t BadRecords(const DatasetFacts& facts) {
  return Sum(facts, &DatasetBlock::bad_records);
}

std::vector<std::string> Warnings(const DatasetFacts& facts) {
  std::vector<std::string> warnings;
  if (const uint64_t bad = BadRecords(facts); bad > 0) {
    std::string warning = absl::StrCat("skipped ", bad, " bad records");
    for (size_t i = 0; i < facts.bad_examples.size(); ++i) {
      const BadRecord& example = facts.bad_examples[i];
      absl::StrAppend(&warning, i == 0 ? ": " : "; ",
                      facts.files[example.file].data.path, ":", example.line,
                      ": ", example.reason);
    }
    if (bad > facts.bad_examples.size()) absl::StrAppend(&warning, "; ...");
    warnings.push_back(std::move(warning));
  }
  if (facts.repeated_index_records > 0) {
    warnings.push_back(absl::StrCat(
        facts.repeated_index_records,
        " records repeat an index; the values of a repeated index are added"));
  }
  return warnings;
}

}  // namespace seraph
