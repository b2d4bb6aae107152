#include "worker/data/epoch_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"
#include "worker/data/record_bytes.h"

namespace seraph {
namespace {

std::vector<Slice> PlanOf(const DatasetFacts& facts,
                          const EpochStreamOptions& options) {
  if (options.shuffle) {
    return PlanShuffled(facts.blocks, options.seed, options.epoch,
                        options.ranks, options.rank);
  }
  return PlanInOrder(facts.blocks, options.part, options.ranks, options.rank);
}

// How many bytes of blocks give group_bytes of records: by what the whole data
// set takes as records, so that it is the same for every rank and attempt.
uint64_t BlockBytesOfGroup(const DatasetFacts& facts,
                           const RecordRules& rules) {
  uint64_t stored = 0;
  for (const DatasetBlock& block : facts.blocks) {
    stored += block.end - block.begin;
  }
  const uint64_t in_memory = RecordBytes(facts, rules.format);
  if (in_memory == 0) return 0;
  return static_cast<uint64_t>(
      static_cast<unsigned __int128>(rules.options.group_bytes) * stored /
      in_memory);
}

EpochStreamOptions Effective(EpochStreamOptions options) {
  options.shuffle = options.shuffle && options.part == RecordPart::kTrain;
  return options;
}

}  // namespace

EpochStream::EpochStream(BlockSource* source, const EpochStreamOptions& options)
    : source_(*source),
      options_(Effective(options)),
      slices_(PlanOf(source->facts(), options_)) {
  // What is not shuffled needs one block at a time.
  group_starts_ = GroupSlices(
      source->facts().blocks, slices_,
      options_.shuffle ? BlockBytesOfGroup(source->facts(), source->rules())
                       : 0);
  slice_starts_.reserve(slices_.size() + 1);
  for (const Slice& slice : slices_) {
    slice_starts_.push_back(records_);
    records_ += slice.take;
  }
  slice_starts_.push_back(records_);
}

absl::Status EpochStream::Seek(uint64_t record) {
  if (record > records_) {
    return absl::OutOfRangeError(absl::StrCat(
        "record ", record, " of ", records_, " of rank ", options_.rank));
  }
  position_ = record;
  return absl::OkStatus();
}

absl::Status EpochStream::NextBatch(size_t n, Batch* batch) {
  batch->Clear();
  const uint64_t end = position_ + std::min<uint64_t>(n, records_ - position_);
  for (uint64_t record = position_; record < end;) {
    const size_t index = GroupOf(record);
    if (group_ == nullptr || group_->index != index) {
      SERAPH_RETURN_IF_ERROR(LoadGroup(index));
    }
    const uint64_t group_end = slice_starts_[group_starts_[index + 1]];
    for (; record < end && record < group_end; ++record) {
      AppendRecord(record, batch);
    }
  }
  position_ = end;
  return absl::OkStatus();
}

size_t EpochStream::GroupOf(uint64_t record) const {
  // The slice with the record, then the group with the slice.
  const size_t slice =
      std::upper_bound(slice_starts_.begin(), slice_starts_.end(), record) -
      slice_starts_.begin() - 1;
  return std::upper_bound(group_starts_.begin(), group_starts_.end(), slice) -
         group_starts_.begin() - 1;
}

absl::Status EpochStream::LoadGroup(size_t index) {
  group_.reset();  // Its memory is free before the next one's is needed.
  auto group = std::make_unique<Group>();
  group->index = index;
  const size_t first = group_starts_[index];
  const size_t end = group_starts_[index + 1];
  for (size_t i = first; i < end; ++i) {
    SERAPH_ASSIGN_OR_RETURN(std::shared_ptr<const Batch> block,
                            source_.Load(slices_[i].block, options_.part));
    group->blocks.push_back(std::move(block));
  }
  if (options_.shuffle) {
    const uint64_t size = slice_starts_[end] - slice_starts_[first];
    group->order = ShuffleGroup(options_.seed, options_.epoch, options_.rank,
                                index, static_cast<uint32_t>(size));
  }
  group_ = std::move(group);
  return absl::OkStatus();
}

void EpochStream::AppendRecord(uint64_t record, Batch* batch) const {
  const size_t first = group_starts_[group_->index];
  const uint64_t group_begin = slice_starts_[first];
  if (!group_->order.empty()) {
    record = group_begin + group_->order[record - group_begin];
  }
  const auto begin = slice_starts_.begin() + first;
  const size_t in_group =
      std::upper_bound(begin, begin + group_->blocks.size(), record) - begin -
      1;
  const Slice& slice = slices_[first + in_group];
  const uint64_t row = slice.skip + (record - slice_starts_[first + in_group]);
  batch->AppendRow(*group_->blocks[in_group], row);
}

}  // namespace seraph
