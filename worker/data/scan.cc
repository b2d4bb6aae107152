#include "worker/data/scan.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "worker/data/record_block.h"

namespace seraph {
namespace {

// Adds blocks, in order, to the facts of a part.
class PartScan {
 public:
  PartScan(uint32_t file, const RecordRules& rules, DatasetFacts* facts)
      : file_(file), rules_(rules), facts_(*facts) {}

  void Add(uint64_t begin, uint64_t end, const RecordBlock& block) {
    DatasetBlock counts{.file = file_, .begin = begin, .end = end};
    for (size_t i = 0; i < block.records.size(); ++i) {
      if (PartOf(rules_, file_, block.offsets[i]) == RecordPart::kTrain) {
        ++counts.train_records;
      } else {
        ++counts.validation_records;
      }
      AddLabel(block, i);
    }
    counts.bad_records = block.bad.size();
    for (const RecordBlock::Bad& bad : block.bad) {
      if (facts_.bad_examples.size() == DatasetFacts::kMaxBadExamples) break;
      facts_.bad_examples.push_back(
          {file_, facts_.lines + bad.line + 1, bad.reason});
    }
    AddEntries(block.records);
    facts_.repeated_index_records += block.repeated_index_records;
    facts_.blocks.push_back(counts);
    facts_.lines += block.line_count;
  }

 private:
  void AddLabel(const RecordBlock& block, size_t i) {
    const double value = block.records.labels[i] + 0.0;  // No negative zero.
    if (std::isnan(value)) return;  // Optional, and not there.
    // Most labels are the one before.
    const std::string& text =
        block.label_texts.empty() ? no_text_ : block.label_texts[i];
    if (has_last_ && value == last_value_ && text == last_text_) return;
    has_last_ = true;
    last_value_ = value;
    last_text_ = text;
    std::pair<double, std::string> identity(value, text);
    if (facts_.labels_capped || seen_.contains(identity)) return;
    if (seen_.size() == DatasetFacts::kMaxLabels) {
      facts_.labels_capped = true;
      return;
    }
    seen_.insert(std::move(identity));
    facts_.labels.push_back(
        {value, text, file_, facts_.lines + block.lines[i] + 1});
  }

  void AddEntries(const Batch& records) {
    if (records.keys.empty()) return;
    const auto [low, high] =
        std::minmax_element(records.keys.begin(), records.keys.end());
    facts_.min_key = facts_.has_keys ? std::min(facts_.min_key, *low) : *low;
    facts_.max_key = facts_.has_keys ? std::max(facts_.max_key, *high) : *high;
    facts_.has_keys = true;
    facts_.nonzeros += records.keys.size();
    for (const uint32_t field : records.fields) {
      facts_.max_field = std::max(facts_.max_field, field);
    }
  }

  const uint32_t file_;
  const RecordRules& rules_;
  DatasetFacts& facts_;
  absl::flat_hash_set<std::pair<double, std::string>> seen_;
  const std::string no_text_;
  bool has_last_ = false;
  double last_value_ = 0;
  std::string last_text_;
};

}  // namespace

absl::StatusOr<DatasetFacts> ScanPart(const ScanTask& task,
                                      const RecordRules& rules, Spool* spool) {
  if (task.block_bytes == 0 || task.begin > task.end ||
      task.begin % task.block_bytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a scan of bytes [", task.begin, ", ", task.end,
                     ") in blocks of ", task.block_bytes, " bytes"));
  }
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<RecordReader> reader,
                          RecordReader::Open(task.file, rules, spool));
  const uint64_t end = std::min(task.end, reader->size());
  if (end % task.block_bytes != 0 && end != reader->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a scan that ends inside a block, at byte ", task.end));
  }
  DatasetFacts facts;
  facts.columns = reader->columns();
  facts.column_names = reader->column_names();
  PartScan scan(task.file_index, rules, &facts);
  RecordBlock block;
  for (uint64_t begin = task.begin; begin < end; begin += task.block_bytes) {
    const uint64_t block_end = std::min(begin + task.block_bytes, end);
    SERAPH_RETURN_IF_ERROR(reader->ReadBlock(begin, block_end, &block));
    scan.Add(begin, block_end, block);
  }
  return facts;
}

}  // namespace seraph
