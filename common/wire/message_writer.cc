#include "common/wire/message_writer.h"

#include <utility>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"

namespace seraph {
namespace {

using google::protobuf::internal::WireFormatLite;

void AppendVarint(uint64_t value, std::string* out) {
  uint8_t bytes[10];
  const uint8_t* const end =
      google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(value,
                                                                    bytes);
  out->append(reinterpret_cast<const char*>(bytes), end - bytes);
}

}  // namespace

void MessageWriter::Head(const google::protobuf::MessageLite& head) {
  const size_t before = small_.size();
  head.AppendToString(&small_);
  size_ += small_.size() - before;
}

void MessageWriter::Tag(uint32_t field, size_t length) {
  const size_t before = small_.size();
  AppendVarint(
      WireFormatLite::MakeTag(static_cast<int>(field),
                              WireFormatLite::WIRETYPE_LENGTH_DELIMITED),
      &small_);
  AppendVarint(length, &small_);
  size_ += small_.size() - before;
}

void MessageWriter::Add(OwnedSlice slice) {
  size_ += slice.bytes.size();
  if (slice.bytes.size() <= kCopied) {
    small_.append(slice.bytes.data(), slice.bytes.size());
  } else {
    bulk_.push_back({small_.size(), std::move(slice)});
  }
}

void MessageWriter::Bytes(uint32_t field, absl::Span<const OwnedSlice> pieces) {
  size_t length = 0;
  for (const OwnedSlice& piece : pieces) length += piece.bytes.size();
  if (length == 0) return;
  Tag(field, length);
  for (const OwnedSlice& piece : pieces) Add(piece);
}

void MessageWriter::Message(uint32_t field, MessageWriter message) {
  Tag(field, message.size());
  const size_t base = small_.size();
  small_.append(message.small_);
  for (Bulk& bulk : message.bulk_) {
    bulk_.push_back({base + bulk.at, std::move(bulk.slice)});
  }
  size_ += message.size();
}

std::vector<OwnedSlice> MessageWriter::Finish() {
  std::vector<OwnedSlice> slices;
  const auto small =
      std::make_shared<const std::string>(std::exchange(small_, std::string()));
  size_t done = 0;
  const auto add_small = [&](size_t to) {
    if (to == done) return;
    slices.push_back(
        {absl::string_view(*small).substr(done, to - done), small});
    done = to;
  };
  for (Bulk& bulk : bulk_) {
    add_small(bulk.at);
    slices.push_back(std::move(bulk.slice));
  }
  add_small(small->size());
  bulk_.clear();
  size_ = 0;
  return slices;
}

}  // namespace seraph
