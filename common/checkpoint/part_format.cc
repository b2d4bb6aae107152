#include "common/checkpoint/part_format.h"

#include <xxhash.h>
#include <zstd.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/little_endian.h"

namespace seraph {
namespace {

enum Encoding : uint8_t { kRaw = 0, kZstd = 1 };

// Fast: what is saved is disk time, and the weights hardly shrink.
constexpr int kZstdLevel = 1;

// Of a block: its number, its rows, and the encoding of what follows.
constexpr size_t kEncodingOffset = 8 + 4;
constexpr size_t kBlockHeadBytes = kEncodingOffset + 1;

constexpr size_t kIndexEntryBytes = 8 + 8 + 4;

void AppendText(absl::string_view text, std::string* to) {
  AppendLittleEndian<uint64_t>(text.size(), to);
  absl::StrAppend(to, text);
}

bool TakeText(absl::string_view* from, std::string* to) {
  uint64_t size = 0;
  if (!TakeLittleEndian(from, &size) || from->size() < size) return false;
  *to = std::string(from->substr(0, size));
  from->remove_prefix(size);
  return true;
}

bool TakeClocks(absl::string_view* from, std::vector<Clock>* to) {
  uint32_t count = 0;
  if (!TakeLittleEndian(from, &count)) return false;
  if (from->size() < count * uint64_t{8}) return false;
  to->resize(count);
  for (Clock& clock : *to) {
    TakeLittleEndian(from, &clock.epoch);
    TakeLittleEndian(from, &clock.step);
  }
  return true;
}

}  // namespace

std::string EncodePartHead(const PartHead& head) {
  std::string payload;
  AppendText(head.job_id, &payload);
  AppendLittleEndian(head.generation, &payload);
  AppendLittleEndian(head.cut, &payload);
  AppendLittleEndian(head.base_cut, &payload);
  AppendLittleEndian(head.layout, &payload);
  AppendLittleEndian(head.table, &payload);
  AppendLittleEndian(head.partition, &payload);
  AppendLittleEndian(head.range.first, &payload);
  AppendLittleEndian(head.range.last, &payload);
  AppendLittleEndian(head.row_cells, &payload);
  AppendLittleEndian(head.blocks, &payload);
  AppendLittleEndian(head.rows, &payload);
  AppendLittleEndian(head.log_decay, &payload);
  AppendLittleEndian(head.shrink, &payload);
  AppendLittleEndian<uint32_t>(head.clocks.size(), &payload);
  for (const Clock& clock : head.clocks) {
    AppendLittleEndian(clock.epoch, &payload);
    AppendLittleEndian(clock.step, &payload);
  }
  AppendText(head.state, &payload);
  return payload;
}

absl::StatusOr<PartHead> DecodePartHead(absl::string_view payload) {
  PartHead head;
  if (!TakeText(&payload, &head.job_id) ||
      !TakeLittleEndian(&payload, &head.generation) ||
      !TakeLittleEndian(&payload, &head.cut) ||
      !TakeLittleEndian(&payload, &head.base_cut) ||
      !TakeLittleEndian(&payload, &head.layout) ||
      !TakeLittleEndian(&payload, &head.table) ||
      !TakeLittleEndian(&payload, &head.partition) ||
      !TakeLittleEndian(&payload, &head.range.first) ||
      !TakeLittleEndian(&payload, &head.range.last) ||
      !TakeLittleEndian(&payload, &head.row_cells) ||
      !TakeLittleEndian(&payload, &head.blocks) ||
      !TakeLittleEndian(&payload, &head.rows) ||
      !TakeLittleEndian(&payload, &head.log_decay) ||
      !TakeLittleEndian(&payload, &head.shrink) ||
      !TakeClocks(&payload, &head.clocks) || !TakeText(&payload, &head.state) ||
      !payload.empty()) {
    return absl::InvalidArgumentError("the head has a wrong length");
  }
  // A reader keeps a bit for each block.
  constexpr uint64_t kMaxBlocks = uint64_t{1} << 36;
  if (head.row_cells == 0 || head.range.first > head.range.last ||
      head.blocks > kMaxBlocks) {
    return absl::InvalidArgumentError("the head says what cannot be");
  }
  return head;
}

std::string EncodePartBlock(uint64_t number, absl::Span<const Key> keys,
                            absl::Span<const float> cells, bool try_pack) {
  std::string payload;
  payload.reserve(kBlockHeadBytes + keys.size() * sizeof(Key) +
                  cells.size() * sizeof(float));
  AppendLittleEndian(number, &payload);
  AppendLittleEndian<uint32_t>(keys.size(), &payload);
  AppendLittleEndian<uint8_t>(kRaw, &payload);
  AppendLittleEndian(keys, &payload);
  AppendLittleEndian(cells, &payload);
  if (!try_pack) return payload;
  const absl::string_view rows =
      absl::string_view(payload).substr(kBlockHeadBytes);
  std::string packed(kBlockHeadBytes + ZSTD_compressBound(rows.size()), '\0');
  const size_t size =
      ZSTD_compress(&packed[kBlockHeadBytes], packed.size() - kBlockHeadBytes,
                    rows.data(), rows.size(), kZstdLevel);
  if (ZSTD_isError(size) || size >= rows.size() - rows.size() / 8) {
    return payload;
  }
  packed.resize(kBlockHeadBytes + size);
  payload[kEncodingOffset] = kZstd;
  packed.replace(0, kBlockHeadBytes, payload, 0, kBlockHeadBytes);
  return packed;
}

bool IsPacked(absl::string_view block_payload) {
  return block_payload[kEncodingOffset] != kRaw;
}

absl::StatusOr<PartBlock> DecodePartBlock(absl::string_view payload,
                                          uint32_t row_cells) {
  PartBlock block;
  uint32_t rows = 0;
  uint8_t encoding = 0;
  if (!TakeLittleEndian(&payload, &block.number) ||
      !TakeLittleEndian(&payload, &rows) ||
      !TakeLittleEndian(&payload, &encoding)) {
    return absl::InvalidArgumentError("a block is too short");
  }
  const uint64_t bytes =
      rows * (sizeof(Key) + row_cells * uint64_t{sizeof(float)});
  if (bytes > kMaxPartSectionBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a block has ", rows, " rows of ", row_cells, " cells"));
  }
  std::string unpacked;
  if (encoding == kZstd) {
    unpacked.resize(bytes);
    const size_t size = ZSTD_decompress(unpacked.data(), unpacked.size(),
                                        payload.data(), payload.size());
    if (ZSTD_isError(size) || size != bytes) {
      return absl::InvalidArgumentError("a block cannot be unpacked");
    }
    payload = unpacked;
  } else if (encoding != kRaw) {
    return absl::InvalidArgumentError(
        absl::StrCat("a block has the encoding ", encoding));
  }
  if (payload.size() != bytes) {
    return absl::InvalidArgumentError("a block has a wrong length");
  }
  block.keys.resize(rows);
  block.cells.resize(rows * size_t{row_cells});
  TakeLittleEndian(&payload, absl::MakeSpan(block.keys));
  TakeLittleEndian(&payload, absl::MakeSpan(block.cells));
  return block;
}

std::string EncodePartFooter(const std::vector<PartIndexEntry>& index) {
  std::string payload;
  AppendLittleEndian<uint64_t>(index.size(), &payload);
  for (const PartIndexEntry& entry : index) {
    AppendLittleEndian(entry.number, &payload);
    AppendLittleEndian(entry.offset, &payload);
    AppendLittleEndian(entry.rows, &payload);
  }
  return payload;
}

absl::StatusOr<std::vector<PartIndexEntry>> DecodePartFooter(
    absl::string_view payload) {
  uint64_t count = 0;
  if (!TakeLittleEndian(&payload, &count) ||
      payload.size() % kIndexEntryBytes != 0 ||
      payload.size() / kIndexEntryBytes != count) {
    return absl::InvalidArgumentError("the footer has a wrong length");
  }
  std::vector<PartIndexEntry> index(count);
  for (PartIndexEntry& entry : index) {
    TakeLittleEndian(&payload, &entry.number);
    TakeLittleEndian(&payload, &entry.offset);
    TakeLittleEndian(&payload, &entry.rows);
  }
  return index;
}

uint64_t PartSeed(absl::string_view head_payload) {
  return XXH3_64bits(head_payload.data(), head_payload.size());
}

uint64_t PartSectionChecksum(uint64_t seed, uint64_t offset,
                             absl::string_view head,
                             absl::string_view payload) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(
      XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset_withSeed(state.get(), seed + offset);
  XXH3_64bits_update(state.get(), head.data(), head.size());
  XXH3_64bits_update(state.get(), payload.data(), payload.size());
  return XXH3_64bits_digest(state.get());
}

std::string PartFileName(uint64_t generation, uint64_t cut, uint32_t table,
                         uint32_t partition) {
  return absl::StrCat("g", generation, "-c", cut, "-t", table, "-p", partition,
                      ".part");
}

}  // namespace seraph
