#include "common/wire/bulk_split.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace seraph {
namespace {

constexpr int kLongestVarint = 10;
// Bulk of so few bytes is copied sooner than it is found.
constexpr size_t kWhole = 1024;
// Of a tag or a length, as protobuf reads them.
constexpr size_t kLongestVarint32 = 5;

enum WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kFixed32 = 5,
};

// Also appends the bytes that it reads.
bool ReadVarint(SliceReader* in, std::string* out, uint64_t* value) {
  *value = 0;
  for (int i = 0; i < kLongestVarint; ++i) {
    unsigned char byte;
    if (!in->ReadByte(&byte)) return false;
    out->push_back(static_cast<char>(byte));
    *value |= uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) return true;
  }
  return false;
}

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) {
    out->push_back(static_cast<char>(value | 0x80));
  }
  out->push_back(static_cast<char>(value));
}

// Whether it is that of several messages in one, which are to stay apart.
bool HasRepeated(const BulkSchema& schema) {
  return std::any_of(schema.fields.begin(), schema.fields.end(),
                     [](const BulkField& field) { return field.repeated; });
}

class Splitter {
 public:
  Splitter(SliceReader in, std::vector<FoundBulk>* bulk)
      : in_(std::move(in)), bulk_(*bulk) {}

  // The message in the next `size` bytes.
  bool Split(size_t size, const BulkSchema& schema, std::string* head) {
    if (size > in_.left()) return false;
    const size_t end = in_.left() - size;  // What is left behind it.
    uint64_t seen = 0;                     // By index of the schema's fields.
    while (in_.left() > end) {
      const size_t before = head->size();
      uint64_t tag;
      if (!ReadVarint(&in_, head, &tag)) return false;
      if (tag > std::numeric_limits<uint32_t>::max() || tag < 8 ||
          head->size() - before > kLongestVarint32) {
        return false;
      }
      if ((tag & 7) == kLengthDelimited) {
        const BulkField* field = nullptr;
        for (size_t i = 0; i < schema.fields.size(); ++i) {
          if (schema.fields[i].number != tag >> 3) continue;
          field = &schema.fields[i];
          const uint64_t bit = uint64_t{1} << i;
          if (!field->repeated && (seen & (schema.one_of ? ~0ull : bit)) != 0) {
            return false;
          }
          seen |= bit;
        }
        if (!TakeField(tag, field, end, before, head)) return false;
      } else if (!CopyScalar(tag & 7, head)) {
        return false;
      }
      if (in_.left() < end || head->size() > kMaxHead) return false;
    }
    return true;
  }

 private:
  // Protobuf has no larger messages.
  static constexpr size_t kMaxHead = std::numeric_limits<int32_t>::max();

  // One whose tag stands in `head`, from `before` on.
  bool TakeField(uint64_t tag, const BulkField* field, size_t end,
                 size_t before, std::string* head) {
    uint64_t length;
    const size_t tagged = head->size();
    if (!ReadVarint(&in_, head, &length) ||
        head->size() - tagged > kLongestVarint32 || in_.left() < end ||
        length > in_.left() - end) {
      return false;
    }
    if (field == nullptr) {
      in_.AppendTo(length, head);
      return true;
    }
    head->resize(before);
    if (field->message == nullptr) {
      bulk_.push_back({field, in_.Take(length)});
      return true;
    }
    std::string inner;
    if (!Split(length, *field->message, &inner)) return false;
    AppendVarint(tag, head);
    AppendVarint(inner.size(), head);
    head->append(inner);
    return true;
  }

  // Of a field that has no length.
  bool CopyScalar(uint32_t type, std::string* head) {
    uint64_t value;
    size_t bytes = 0;
    switch (type) {
      case kVarint:
        return ReadVarint(&in_, head, &value);
      case kFixed64:
        bytes = 8;
        break;
      case kFixed32:
        bytes = 4;
        break;
      default:
        return false;  // Groups, and what does not exist.
    }
    if (in_.left() < bytes) return false;
    in_.AppendTo(bytes, head);
    return true;
  }

  SliceReader in_;
  std::vector<FoundBulk>& bulk_;
};

}  // namespace

bool SplitBulk(const ByteSlices& message, const BulkSchema& schema,
               std::string* head, std::vector<FoundBulk>* bulk) {
  return Splitter(SliceReader(message), bulk)
      .Split(message.size(), schema, head);
}

absl::Status ParseOutside(const ByteSlices& bytes, const BulkSchema& schema,
                          google::protobuf::MessageLite* message,
                          std::vector<FoundBulk>* bulk) {
  bool parsed = false;
  if (bytes.size() <= kWhole && bytes.pieces().size() == 1 &&
      !HasRepeated(schema)) {
    const absl::string_view piece = bytes.pieces()[0];
    parsed = message->ParseFromArray(piece.data(), piece.size());
  } else {
    std::string head;
    if (!SplitBulk(bytes, schema, &head, bulk)) {
      head = bytes.ToString();
      bulk->clear();
    }
    parsed = message->ParseFromString(head);
  }
  if (parsed) return absl::OkStatus();
  return absl::InvalidArgumentError("bytes that are no such message");
}

}  // namespace seraph
