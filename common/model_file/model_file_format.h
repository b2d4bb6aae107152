// The constants of docs/model-format.md. They are on people's disks: none may
// change without a new version.
#ifndef SERAPH_COMMON_MODEL_FILE_MODEL_FILE_FORMAT_H_
#define SERAPH_COMMON_MODEL_FILE_MODEL_FILE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/table/table_spec.h"

namespace seraph {

// A table of a model file.
struct ModelTableHeader {
  std::string name;  // UTF-8.
  TableKind kind = TableKind::kSparse;
  uint64_t keys = 0;   // dense: keys are [0, keys). sparse: 0.
  uint32_t width = 1;  // float32 values per key.

  friend bool operator==(const ModelTableHeader&,
                         const ModelTableHeader&) = default;
};

// The first byte is no text; a copy that translates line ends is noticed.
inline constexpr absl::string_view kModelFileMagic("\x89SRPHM\r\n", 8);
inline constexpr uint32_t kModelFileVersion = 1;

// The sections, by tag.
inline constexpr absl::string_view kMetadataTag = "META";
inline constexpr absl::string_view kTableTag = "TABL";
inline constexpr absl::string_view kRowsTag = "ROWS";
inline constexpr absl::string_view kTableEndTag = "TEND";
inline constexpr absl::string_view kFooterTag = "FOOT";

// Tag and length before a section's payload, checksum after it.
inline constexpr size_t kTagBytes = 4;
inline constexpr size_t kSectionHeadBytes = kTagBytes + 8;
inline constexpr size_t kChecksumBytes = 8;

// A reader refuses longer sections: a damaged length must not cost memory.
inline constexpr uint64_t kMaxSectionBytes = uint64_t{64} << 20;

// What a writer puts into a block of rows, unless a single row is longer.
inline constexpr size_t kBlockBytes = size_t{256} << 10;

inline constexpr size_t kMaxTableNameBytes = 4096;
inline constexpr uint32_t kMaxTableWidth = uint32_t{1} << 23;

// XXH3-64 of the section's tag, length and payload, seeded with the section's
// offset in the file, so that a section that was moved is noticed.
uint64_t SectionChecksum(uint64_t offset, absl::string_view head,
                         absl::string_view payload);

// The payload of the sections that are not rows. The decoders' errors are
// InvalidArgument and do not name the file.
std::string EncodeTableHeader(const ModelTableHeader& header);
absl::StatusOr<ModelTableHeader> DecodeTableHeader(absl::string_view payload);

struct ModelFileFooter {
  uint32_t tables = 0;
  uint64_t rows = 0;   // Over all tables.
  std::string digest;  // "sha256:...".

  friend bool operator==(const ModelFileFooter&,
                         const ModelFileFooter&) = default;
};
std::string EncodeFooter(const ModelFileFooter& footer);
absl::StatusOr<ModelFileFooter> DecodeFooter(absl::string_view payload);

// Errors: InvalidArgument for a name that is empty or longer than
// kMaxTableNameBytes, a width of 0 or above kMaxTableWidth, keys of a sparse
// table, a dense table without keys.
absl::Status CheckTableHeader(const ModelTableHeader& header);

// Checks that `keys` ascend, come after `*last` and belong to the table, and
// moves `*last` (unset: no key yet) to the last of them.
// Errors: InvalidArgument naming table and key.
absl::Status CheckKeys(const ModelTableHeader& table,
                       absl::Span<const Key> keys, std::optional<Key>* last);

}  // namespace seraph

#endif  // SERAPH_COMMON_MODEL_FILE_MODEL_FILE_FORMAT_H_
