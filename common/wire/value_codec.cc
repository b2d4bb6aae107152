#include "common/wire/value_codec.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "common/base/little_endian.h"

namespace seraph {
namespace {

// Of the counters of draws: no other draw begins with it.
constexpr uint64_t kRoundingLabel = 0x726f756e64696e67;  // "rounding"

constexpr float kMaxFloat16 = 65504.0f;
// Half way to the value after the largest one, which is even.
constexpr float kBeyondFloat16 = 65520.0f;
constexpr float kMaxBfloat16 = 0x1.fep127f;
constexpr float kBeyondBfloat16 = 0x1.ffp127f;

constexpr double kMaxFloat = std::numeric_limits<float>::max();
constexpr int kLeastExponent = -128;
// In place of a value that is not finite; no multiple goes so far.
constexpr int8_t kNotFinite = -128;
// Values that share 64 random bits.
constexpr uint32_t kValuesOfDraw = 4;

template <typename Small>
uint64_t EncodeSmall(absl::Span<const float> values, float beyond, float most,
                     std::string* to) {
  const size_t begin = to->size();
  to->resize(begin + 2 * values.size());
  char* out = to->data() + begin;
  uint64_t saturated = 0;
  for (const float value : values) {
    Small small(value);
    if (std::abs(value) >= beyond) {
      small = Small(std::copysign(most, value));
      ++saturated;
    }
    const uint16_t bits = Eigen::numext::bit_cast<uint16_t>(small);
    out[0] = static_cast<char>(bits & 0xff);
    out[1] = static_cast<char>(bits >> 8);
    out += 2;
  }
  return saturated;
}

template <typename Small>
void DecodeSmall(absl::string_view bytes, absl::Span<float> values) {
  const auto* from = reinterpret_cast<const unsigned char*>(bytes.data());
  for (float& value : values) {
    const uint16_t bits = from[0] | (uint16_t{from[1]} << 8);
    value = static_cast<float>(Eigen::numext::bit_cast<Small>(bits));
    from += 2;
  }
}

// The least e with most <= 127 * 2^e, at least kLeastExponent.
int ExponentOf(float most) {
  if (most == 0) return kLeastExponent;
  int exponent;
  // most = fraction * 2^exponent, 1/2 <= fraction < 1, both exactly: 2^7 of
  // fraction fit into 127 or not, and 2^8 never do.
  const float fraction = std::frexp(most, &exponent);
  const int e = exponent - (fraction <= 127.0f / 128.0f ? 7 : 6);
  return std::max(e, kLeastExponent);
}

// Returns how many values would have become infinite.
uint64_t EncodeInt8Row(absl::Span<const float> row, Key key,
                       const RoundingDraw* draw, char* out) {
  float most = 0;
  for (const float value : row) {
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  }
  const int e = ExponentOf(most);
  *out++ = static_cast<char>(static_cast<int8_t>(e));
  const double scale = std::ldexp(1.0, e);
  const double inverse = std::ldexp(1.0, -e);
  uint64_t saturated = 0;
  uint64_t bits = 0;
  for (uint32_t j = 0; j < row.size(); ++j) {
    const double exact = row[j] * inverse;
    if (draw != nullptr && j % kValuesOfDraw == 0) {
      bits = Draw(draw->seed,
                  {kRoundingLabel, draw->table, draw->rank, draw->clock.epoch,
                   draw->clock.step, key, j / kValuesOfDraw});
    }
    double multiple;
    if (!std::isfinite(row[j])) {
      bits >>= 16;
      *out++ = static_cast<char>(kNotFinite);
      continue;
    }
    if (draw == nullptr) {
      multiple = std::round(exact);
    } else {
      const double chance = static_cast<double>(bits & 0xffff) * 0x1p-16;
      bits >>= 16;
      const double lower = std::floor(exact);
      multiple = lower + (exact - lower > chance ? 1.0 : 0.0);
    }
    if (std::abs(multiple) * scale > kMaxFloat) {
      multiple -= std::copysign(1.0, multiple);
      ++saturated;
    }
    *out++ = static_cast<char>(static_cast<int8_t>(multiple));
  }
  return saturated;
}

void DecodeInt8Row(const char* from, absl::Span<float> row) {
  const double scale = std::ldexp(1.0, static_cast<int8_t>(*from++));
  for (float& value : row) {
    const auto multiple = static_cast<int8_t>(*from++);
    value = multiple == kNotFinite ? std::numeric_limits<float>::quiet_NaN()
                                   : static_cast<float>(multiple * scale);
  }
}

}  // namespace

size_t RowBytes(ValueKind kind, uint32_t width) {
  switch (kind) {
    case ValueKind::kFloat32:
      return sizeof(float) * width;
    case ValueKind::kFloat16:
    case ValueKind::kBfloat16:
      return size_t{2} * width;
    case ValueKind::kInt8:
      return size_t{1} + width;
  }
  return 0;
}

uint64_t EncodeValues(ValueKind kind, uint32_t width,
                      absl::Span<const Key> keys,
                      absl::Span<const float> values, const RoundingDraw* draw,
                      std::string* to) {
  switch (kind) {
    case ValueKind::kFloat32:
      AppendLittleEndian(values, to);
      return 0;
    case ValueKind::kFloat16:
      return EncodeSmall<Eigen::half>(values, kBeyondFloat16, kMaxFloat16, to);
    case ValueKind::kBfloat16:
      return EncodeSmall<Eigen::bfloat16>(values, kBeyondBfloat16, kMaxBfloat16,
                                          to);
    case ValueKind::kInt8: {
      const size_t rows = values.size() / width;
      const size_t begin = to->size();
      to->resize(begin + rows * RowBytes(kind, width));
      uint64_t saturated = 0;
      for (size_t i = 0; i < rows; ++i) {
        saturated += EncodeInt8Row(
            values.subspan(i * width, width), draw == nullptr ? 0 : keys[i],
            draw, to->data() + begin + i * RowBytes(kind, width));
      }
      return saturated;
    }
  }
  return 0;
}

void DecodeRow(ValueKind kind, const char* bytes, absl::Span<float> row) {
  absl::string_view from(bytes, RowBytes(kind, row.size()));
  switch (kind) {
    case ValueKind::kFloat32:
      TakeLittleEndian(&from, row);
      break;
    case ValueKind::kFloat16:
      DecodeSmall<Eigen::half>(from, row);
      break;
    case ValueKind::kBfloat16:
      DecodeSmall<Eigen::bfloat16>(from, row);
      break;
    case ValueKind::kInt8:
      DecodeInt8Row(bytes, row);
      break;
  }
}

absl::Status DecodeValues(ValueKind kind, uint32_t width,
                          absl::string_view bytes, absl::Span<float> values) {
  const size_t rows = width == 0 ? 0 : values.size() / width;
  if (bytes.size() != rows * RowBytes(kind, width)) {
    return absl::InvalidArgumentError(absl::StrCat(
        bytes.size(), " bytes of values, where ", rows, " rows of ", width,
        " values have ", rows * RowBytes(kind, width)));
  }
  if (kind == ValueKind::kInt8) {
    for (size_t i = 0; i < rows; ++i) {
      DecodeInt8Row(bytes.data() + i * RowBytes(kind, width),
                    values.subspan(i * width, width));
    }
  } else if (!values.empty()) {
    DecodeRow(kind, bytes.data(), values);  // One row is as all of them.
  }
  return absl::OkStatus();
}

}  // namespace seraph
