#include "worker/data/block_source.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/dataset/input_files.h"
#include "common/status/status_macros.h"
#include "worker/data/record_block.h"

namespace seraph {
namespace {

// What a batch with reserve in its vectors would waste for many epochs.
void DropReserve(Batch* batch) {
  batch->labels.shrink_to_fit();
  batch->row_starts.shrink_to_fit();
  batch->keys.shrink_to_fit();
  batch->values.shrink_to_fit();
  batch->fields.shrink_to_fit();
  batch->groups.shrink_to_fit();
}

uint64_t RecordsOf(const DatasetBlock& block, RecordPart part) {
  return part == RecordPart::kTrain ? block.train_records
                                    : block.validation_records;
}

}  // namespace

BlockSource::BlockSource(DatasetFacts facts, RecordRules rules, LabelMap labels,
                         uint64_t cache_bytes, Spool* spool)
    : facts_(std::move(facts)),
      rules_(std::move(rules)),
      labels_(std::move(labels)),
      cache_bytes_(cache_bytes),
      spool_(*spool) {}

BlockSource::~BlockSource() = default;

uint64_t BlockSource::live_bytes() const { return meter_->live.load(); }
uint64_t BlockSource::peak_bytes() const { return meter_->peak.load(); }

absl::Status BlockSource::CheckUnchanged() const {
  for (const InputFile& file : facts_.files) {
    SERAPH_RETURN_IF_ERROR(VerifyUnchanged(file.data));
    if (file.labels.path.empty()) continue;
    SERAPH_RETURN_IF_ERROR(VerifyUnchanged(file.labels));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Batch>> BlockSource::Load(
    size_t block, RecordPart part) {
  const BlockId id(block, part);
  {
    MutexLock lock(&mu_);
    if (const auto found = cache_.find(id); found != cache_.end()) {
      return found->second;
    }
  }
  SERAPH_ASSIGN_OR_RETURN(Batch records, Read(block, part));
  DropReserve(&records);
  const uint64_t bytes = records.ByteSize();
  std::shared_ptr<const Batch> loaded(
      new Batch(std::move(records)),
      [meter = meter_, bytes](const Batch* batch) {
        meter->live -= bytes;
        delete batch;
      });
  const uint64_t live = meter_->live += bytes;
  uint64_t peak = meter_->peak.load();
  while (live > peak && !meter_->peak.compare_exchange_weak(peak, live)) {
  }
  MutexLock lock(&mu_);
  if (bytes <= cache_bytes_ - cached_bytes_ &&
      cache_.try_emplace(id, loaded).second) {
    cached_bytes_ += bytes;
  }
  return loaded;
}

absl::StatusOr<Batch> BlockSource::Read(size_t block, RecordPart part) {
  const DatasetBlock& place = facts_.blocks[block];
  SERAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const RecordReader> reader,
                          ReaderOf(place.file));
  RecordBlock raw;
  SERAPH_RETURN_IF_ERROR(reader->ReadBlock(place.begin, place.end, &raw));

  std::vector<size_t> rows;  // Of the part.
  for (size_t row = 0; row < raw.records.size(); ++row) {
    if (PartOf(rules_, place.file, raw.offsets[row]) != part) continue;
    rows.push_back(row);
    const std::string& text =
        raw.label_texts.empty() ? std::string() : raw.label_texts[row];
    double& label = raw.records.labels[row];
    if (std::isnan(label)) continue;  // Optional, and not there.
    const absl::StatusOr<double> mapped =
        text.empty() ? labels_.Map(label) : labels_.MapText(text);
    if (!mapped.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(reader->path(), ": the record at byte ",
                       raw.offsets[row], ": ", mapped.status().message()));
    }
    label = *mapped;
  }
  if (rows.size() != RecordsOf(place, part)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", reader->path(), "' has changed since the job began: bytes [",
        place.begin, ", ", place.end, ") have ", rows.size(),
        " records where there were ", RecordsOf(place, part)));
  }
  if (rows.size() == raw.records.size()) return std::move(raw.records);
  Batch records;
  for (const size_t row : rows) records.AppendRow(raw.records, row);
  return records;
}

absl::StatusOr<std::shared_ptr<const RecordReader>> BlockSource::ReaderOf(
    uint32_t file) {
  std::vector<std::shared_ptr<const SpooledFile>> wanted;
  {
    MutexLock lock(&mu_);
    const auto found = std::find_if(
        open_files_.begin(), open_files_.end(),
        [file](const OpenFile& open) { return open.file == file; });
    if (found != open_files_.end()) {
      open_files_.splice(open_files_.begin(), open_files_, found);
      return found->reader;
    }
  }
  const InputFile& input = facts_.files[file];
  SERAPH_ASSIGN_OR_RETURN(std::shared_ptr<const SpooledFile> data,
                          spool_.Get(input.data));
  wanted.push_back(std::move(data));
  if (!input.labels.path.empty()) {
    SERAPH_ASSIGN_OR_RETURN(std::shared_ptr<const SpooledFile> labels,
                            spool_.Get(input.labels));
    wanted.push_back(std::move(labels));
  }
  SERAPH_ASSIGN_OR_RETURN(std::shared_ptr<const RecordReader> reader,
                          RecordReader::Open(input, rules_, &spool_));
  MutexLock lock(&mu_);
  spooled_.insert_or_assign(file, std::move(wanted));
  open_files_.push_front({file, reader});
  if (open_files_.size() > kMaxOpenFiles) open_files_.pop_back();
  return reader;
}

}  // namespace seraph
