#include "common/wire/byte_slices.h"

#include <cstring>

namespace seraph {

ByteSlices::ByteSlices(absl::Span<const absl::string_view> pieces,
                       std::shared_ptr<const void> owner)
    : owner_(std::move(owner)) {
  for (const absl::string_view piece : pieces) {
    if (piece.empty()) continue;
    Add(piece);
    size_ += piece.size();
  }
}

ByteSlices ByteSlices::Join(std::vector<ByteSlices> parts) {
  const auto owner =
      std::make_shared<const std::vector<ByteSlices>>(std::move(parts));
  ByteSlices joined;
  for (const ByteSlices& part : *owner) {
    for (const absl::string_view piece : part.pieces()) joined.Add(piece);
    joined.size_ += part.size_;
  }
  joined.owner_ = owner;
  return joined;
}

std::string ByteSlices::ToString() const {
  std::string bytes;
  bytes.reserve(size_);
  for (const absl::string_view piece : pieces()) {
    bytes.append(piece.data(), piece.size());
  }
  return bytes;
}

void SliceReader::CopyTo(size_t bytes, void* out) {
  char* to = static_cast<char*>(out);
  Visit(bytes, [&to](absl::string_view piece) {
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  });
}

ByteSlices SliceReader::Take(size_t bytes) {
  ByteSlices taken;
  taken.owner_ = slices_.owner_;
  taken.size_ = bytes;
  Visit(bytes, [&](absl::string_view piece) { taken.Add(piece); });
  return taken;
}

}  // namespace seraph
