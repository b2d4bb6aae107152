#include "common/dataset/idx_header.h"

#include "absl/strings/str_cat.h"

namespace seraph {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;

// The product of all sizes stays below this, so that no sum of offsets wraps.
constexpr uint64_t kMaxBytes = uint64_t{1} << 62;

absl::Status TooLarge() {
  return absl::InvalidArgumentError(
      "is no idx file: its header gives more bytes than any file has");
}

}  // namespace

absl::StatusOr<IdxHeader> ParseIdxHeader(absl::string_view head) {
  const auto byte = [head](size_t at) {
    return static_cast<uint8_t>(head[at]);
  };
  if (head.size() < 4 || byte(0) != 0 || byte(1) != 0) {
    return absl::InvalidArgumentError(
        "is no idx file: it does not begin with two zeros");
  }
  if (byte(2) != kUnsignedByte) {
    return absl::InvalidArgumentError(absl::StrCat(
        "is no idx file of unsigned bytes (type 8): its type is ", byte(2)));
  }
  IdxHeader header;
  header.dimensions = byte(3);
  header.header_bytes = 4 + 4 * uint64_t{header.dimensions};
  if (header.dimensions == 0 || header.header_bytes > kMaxIdxHeaderBytes ||
      header.header_bytes > head.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("is no idx file: it has ", header.dimensions,
                     " dimensions in ", head.size(), " bytes"));
  }
  using Wide = unsigned __int128;
  for (uint32_t i = 0; i < header.dimensions; ++i) {
    uint64_t size = 0;
    for (int k = 0; k < 4; ++k) size = size << 8 | byte(4 + 4 * i + k);
    if (i == 0) {
      header.records = size;
    } else if (Wide{header.width} * size > kMaxBytes) {
      return TooLarge();
    } else {
      header.width *= size;
    }
  }
  if (Wide{header.records} * header.width > kMaxBytes) return TooLarge();
  return header;
}

}  // namespace seraph
