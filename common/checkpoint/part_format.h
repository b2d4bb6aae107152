// The bytes of a part: docs/checkpoint-format.md. They are on people's disks:
// nothing may change without a new version.
#ifndef SERAPH_COMMON_CHECKPOINT_PART_FORMAT_H_
#define SERAPH_COMMON_CHECKPOINT_PART_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/clock.h"
#include "common/base/key.h"

namespace seraph {

// The first byte is no text; a copy that translates line ends is noticed.
inline constexpr absl::string_view kPartMagic("\x89SRPHC\r\n", 8);
inline constexpr uint32_t kPartVersion = 1;
inline constexpr size_t kPartStartBytes = 12;

// The sections, by tag, in their order: one head, blocks, one footer.
inline constexpr absl::string_view kPartHeadTag = "HEAD";
inline constexpr absl::string_view kPartBlockTag = "BLCK";
inline constexpr absl::string_view kPartFooterTag = "FOOT";

// Tag and length before a section's payload, checksum after it.
inline constexpr size_t kPartSectionHeadBytes = 4 + 8;
inline constexpr size_t kPartChecksumBytes = 8;

// A reader refuses longer sections, and blocks that unpack to more: a damaged
// length must not cost memory. The widest row there can be is 16 MiB.
inline constexpr uint64_t kMaxPartSectionBytes = uint64_t{256} << 20;

// What a part is of, and all of its partition that is no row.
struct PartHead {
  std::string job_id;
  uint64_t generation = 0;
  uint64_t cut = 0;
  uint64_t base_cut = 0;  // Whose blocks stay where this part has none. 0: it
                          // has all blocks.
  uint64_t layout = 0;    // Equal in all parts of a chain.
  uint32_t table = 0;
  uint32_t partition = 0;
  KeyRange range;  // Mixed.
  uint32_t row_cells = 0;
  uint64_t blocks = 0;  // Of the partition, not of this file.
  uint64_t rows = 0;    // Likewise.
  // The partition's sums of the lazy terms: common/table/lazy_terms.h.
  double log_decay = 0.0;
  double shrink = 0.0;
  std::vector<Clock> clocks;  // K, by rank.
  std::string state;          // Of the server: ledger, sessions, counters.

  friend bool operator==(const PartHead&, const PartHead&) = default;
};

struct PartBlock {
  uint64_t number = 0;
  std::vector<Key> keys;     // Mixed.
  std::vector<float> cells;  // [keys * row_cells].

  friend bool operator==(const PartBlock&, const PartBlock&) = default;
};

// Where a file has which block.
struct PartIndexEntry {
  uint64_t number = 0;
  uint64_t offset = 0;  // Of the section.
  uint32_t rows = 0;

  friend bool operator==(const PartIndexEntry&,
                         const PartIndexEntry&) = default;
};

// Payloads of the sections. The decoders' errors are InvalidArgument and do not
// name the file.
std::string EncodePartHead(const PartHead& head);
absl::StatusOr<PartHead> DecodePartHead(absl::string_view payload);

// With `try_pack` packs the rows where that makes them at least an eighth
// smaller.
std::string EncodePartBlock(uint64_t number, absl::Span<const Key> keys,
                            absl::Span<const float> cells,
                            bool try_pack = true);
bool IsPacked(absl::string_view block_payload);
absl::StatusOr<PartBlock> DecodePartBlock(absl::string_view payload,
                                          uint32_t row_cells);

std::string EncodePartFooter(const std::vector<PartIndexEntry>& index);
absl::StatusOr<std::vector<PartIndexEntry>> DecodePartFooter(
    absl::string_view payload);

// The seed of a file's sections after the head: of all that its head says, so
// that a block of another part is noticed.
uint64_t PartSeed(absl::string_view head_payload);

// XXH3-64 over a section's tag, length and payload, seeded with `seed` plus its
// offset, so that a section that was moved is noticed. The head's seed is 0.
uint64_t PartSectionChecksum(uint64_t seed, uint64_t offset,
                             absl::string_view head, absl::string_view payload);

// "g2-c17-t0-p3.part".
std::string PartFileName(uint64_t generation, uint64_t cut, uint32_t table,
                         uint32_t partition);

}  // namespace seraph

#endif  // SERAPH_COMMON_CHECKPOINT_PART_FORMAT_H_
