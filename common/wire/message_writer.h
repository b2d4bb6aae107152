// Writes a protobuf message whose bulk stays where it lies.
#ifndef SERAPH_COMMON_WIRE_MESSAGE_WRITER_H_
#define SERAPH_COMMON_WIRE_MESSAGE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/message_lite.h"

namespace seraph {

// A piece of a message, and what keeps it alive.
struct OwnedSlice {
  absl::string_view bytes;
  std::shared_ptr<const void> owner;
};

// Puts the wire form of one message together: small fields are copied, bulk is
// referred to. What comes out is what protobuf would have written, or the same
// fields in another order.
class MessageWriter {
 public:
  // All fields that are set in `head`, which is of the message's type.
  void Head(const google::protobuf::MessageLite& head);

  // A `bytes` field, of several pieces one after the other. Little is copied,
  // so that not each small array costs a slice. No field if there is no byte.
  void Bytes(uint32_t field, absl::Span<const OwnedSlice> pieces);
  void Bytes(uint32_t field, OwnedSlice bytes) {
    Bytes(field, absl::MakeConstSpan(&bytes, 1));
  }

  // An embedded message.
  void Message(uint32_t field, MessageWriter message);

  size_t size() const { return size_; }

  // The message. Leaves this empty.
  std::vector<OwnedSlice> Finish();

  // Bulk of so many bytes is copied.
  static constexpr size_t kCopied = 2048;

 private:
  // Bulk behind the first `at` bytes of small_.
  struct Bulk {
    size_t at = 0;
    OwnedSlice slice;
  };

  void Tag(uint32_t field, size_t length);
  void Add(OwnedSlice slice);

  std::string small_;
  std::vector<Bulk> bulk_;
  size_t size_ = 0;
};

// Of numbers that `owner` keeps.
template <typename T>
OwnedSlice SliceOf(absl::Span<const T> values,
                   std::shared_ptr<const void> owner) {
  return {
      {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)},
      std::move(owner)};
}

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_MESSAGE_WRITER_H_
