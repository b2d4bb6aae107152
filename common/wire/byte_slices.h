// Bytes that lie in several pieces of memory.
#ifndef SERAPH_COMMON_WIRE_BYTE_SLICES_H_
#define SERAPH_COMMON_WIRE_BYTE_SLICES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace seraph {

// A view of bytes, and what keeps them alive. Copying one copies no byte.
class ByteSlices {
 public:
  ByteSlices() = default;

  // `owner` keeps the pieces; null: they outlive this and all that is taken
  // out of it.
  ByteSlices(absl::Span<const absl::string_view> pieces,
             std::shared_ptr<const void> owner);
  ByteSlices(absl::string_view bytes, std::shared_ptr<const void> owner)
      : ByteSlices(absl::MakeConstSpan(&bytes, 1), std::move(owner)) {}

  // One after the other.
  static ByteSlices Join(std::vector<ByteSlices> parts);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // In order; none is empty.
  absl::Span<const absl::string_view> pieces() const {
    if (!more_.empty()) return more_;
    return absl::MakeConstSpan(&one_, one_.empty() ? 0 : 1);
  }

  // The same bytes in one piece of new memory.
  std::string ToString() const;

 private:
  void Add(absl::string_view piece) {
    if (more_.empty() && one_.empty()) {
      one_ = piece;
      return;
    }
    if (more_.empty()) more_.push_back(one_);
    more_.push_back(piece);
  }

  // Most have but one, which takes no memory.
  absl::string_view one_;
  std::vector<absl::string_view> more_;  // All, where there are several.
  std::shared_ptr<const void> owner_;
  size_t size_ = 0;

  friend class SliceReader;
};

// Goes through bytes from the front. A value.
class SliceReader {
 public:
  explicit SliceReader(ByteSlices slices)
      : slices_(std::move(slices)), left_(slices_.size()) {}

  size_t left() const { return left_; }

  // False, with nothing read, at the end.
  bool ReadByte(unsigned char* byte) {
    if (left_ == 0) return false;
    const absl::string_view piece = Piece();
    *byte = static_cast<unsigned char>(piece[offset_]);
    Advance(1);
    return true;
  }

  // All of these require that so many bytes are left.
  void Skip(size_t bytes) {
    Visit(bytes, [](absl::string_view) {});
  }
  void AppendTo(size_t bytes, std::string* out) {
    Visit(bytes, [out](absl::string_view piece) {
      out->append(piece.data(), piece.size());
    });
  }
  void CopyTo(size_t bytes, void* out);
  // Of the same owner.
  ByteSlices Take(size_t bytes);

 private:
  absl::string_view Piece() const {
    return slices_.more_.empty() ? slices_.one_ : slices_.more_[piece_];
  }
  void Advance(size_t bytes) {
    left_ -= bytes;
    offset_ += bytes;
    if (offset_ == Piece().size()) {
      ++piece_;
      offset_ = 0;
    }
  }
  template <typename Visitor>
  void Visit(size_t bytes, Visitor visit) {
    while (bytes > 0) {
      const absl::string_view rest = Piece().substr(offset_, bytes);
      visit(rest);
      bytes -= rest.size();
      Advance(rest.size());
    }
  }

  ByteSlices slices_;
  size_t left_;
  size_t piece_ = 0;
  size_t offset_ = 0;  // In the piece; below its size.
};

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_BYTE_SLICES_H_
