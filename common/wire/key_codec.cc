#include "common/wire/key_codec.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/wire/slice_values.h"

namespace seraph {
namespace {

constexpr uint64_t kMaxOffset32 = std::numeric_limits<uint32_t>::max();
constexpr int kLongestVarint = 10;
// Where the mean gap has so few bits, nearly all gaps are one byte: less work
// than four bytes are. Two bytes are as much as four, and still less than
// eight. docs/performance.md has the numbers.
constexpr int kOneByteBits = 6;
constexpr int kTwoByteBits = 13;

uint8_t* WriteVarint(uint64_t value, uint8_t* to) {
  for (; value >= 0x80; value >>= 7) {
    *to++ = static_cast<uint8_t>(value | 0x80);
  }
  *to++ = static_cast<uint8_t>(value);
  return to;
}

// Null where the bytes end before the varint does, or it has more than 64 bits.
const uint8_t* ReadVarint(const uint8_t* from, const uint8_t* end,
                          uint64_t* value) {
  uint64_t result = 0;
  for (int shift = 0; shift < 7 * kLongestVarint && from != end; shift += 7) {
    const uint8_t byte = *from++;
    if (shift == 63 && byte > 1) return nullptr;
    result |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) {
      *value = result;
      return from;
    }
  }
  return nullptr;
}

absl::Status ReadDeltas(Key first, size_t count, absl::string_view bytes,
                        std::vector<Key>* keys) {
  // A byte each at least.
  if (count > bytes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(bytes.size(), " bytes are too few for ", count, " keys"));
  }
  const auto* from = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t* const end = from + bytes.size();
  keys->reserve(count);
  uint64_t last = first;  // What the next gap is counted from, with `more`.
  uint64_t more = 0;
  for (size_t i = 0; i < count; ++i, more = 1) {
    uint64_t gap = 0;
    if (from != end && *from < 0x80) {
      gap = *from++;
    } else if ((from = ReadVarint(from, end, &gap)) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("key ", i, ": no varint of 64 bits"));
    }
    if (gap > kMaxKey - last || kMaxKey - last - gap < more) {
      return absl::InvalidArgumentError(
          absl::StrCat("key ", i, " is beyond the greatest key"));
    }
    last += gap + more;
    keys->push_back(last);
  }
  if (from != end) {
    return absl::InvalidArgumentError(
        absl::StrCat(end - from, " bytes behind the last key"));
  }
  return absl::OkStatus();
}

absl::Status ReadOffsets(Key first, const std::vector<uint32_t>& offsets,
                         std::vector<Key>* keys) {
  const Key room = kMaxKey - first;
  keys->resize(offsets.size());
  uint32_t highest = 0;
  for (size_t i = 0; i < offsets.size(); ++i) {
    (*keys)[i] = first + offsets[i];
    highest = std::max(highest, offsets[i]);
  }
  if (highest <= room) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "an offset of ", highest, " from ", first, ": beyond the greatest key"));
}

}  // namespace

KeyForm ChooseKeyForm(absl::Span<const Key> keys) {
  if (keys.empty()) return KeyForm::kRaw64;
  const uint64_t span = keys.back() - keys.front();
  if (span == keys.size() - 1) return KeyForm::kRange;
  const int bits = std::bit_width(span / keys.size());
  if (bits <= kOneByteBits) return KeyForm::kDelta;
  if (span <= kMaxOffset32) return KeyForm::kOffset32;
  return bits <= kTwoByteBits ? KeyForm::kDelta : KeyForm::kRaw64;
}

void AppendKeys(KeyForm form, absl::Span<const Key> keys, std::string* out) {
  const size_t before = out->size();
  switch (form) {
    case KeyForm::kRange:
      return;
    case KeyForm::kRaw64:
      out->append(reinterpret_cast<const char*>(keys.data()),
                  keys.size() * sizeof(Key));
      return;
    case KeyForm::kOffset32: {
      out->resize(before + keys.size() * sizeof(uint32_t));
      char* to = out->data() + before;
      for (const Key key : keys) {
        const auto offset = static_cast<uint32_t>(key - keys.front());
        std::memcpy(to, &offset, sizeof(offset));
        to += sizeof(offset);
      }
      return;
    }
    case KeyForm::kDelta: {
      // In blocks: not the longest form for all of them at once.
      uint8_t block[1024 + kLongestVarint];
      uint8_t* to = block;
      for (size_t i = 0; i < keys.size(); ++i) {
        to = WriteVarint(i == 0 ? 0 : keys[i] - keys[i - 1] - 1, to);
        if (to - block < 1024) continue;
        out->append(reinterpret_cast<const char*>(block), to - block);
        to = block;
      }
      out->append(reinterpret_cast<const char*>(block), to - block);
      return;
    }
  }
}

absl::Status TakeKeys(KeyForm form, Key first, size_t count, size_t bytes,
                      SliceReader* from, std::vector<Key>* keys) {
  keys->clear();
  if (form == KeyForm::kRaw64) {
    TakeValues(count, from, keys);
    return absl::OkStatus();
  }
  if (form == KeyForm::kOffset32) {
    std::vector<uint32_t> offsets;
    TakeValues(count, from, &offsets);
    return ReadOffsets(first, offsets, keys);
  }
  const ByteSlices taken = from->Take(bytes);
  if (taken.pieces().size() == 1) {
    return ReadDeltas(first, count, taken.pieces()[0], keys);
  }
  return ReadDeltas(first, count, taken.ToString(), keys);
}

}  // namespace seraph
