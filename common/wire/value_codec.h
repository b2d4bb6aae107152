// Values in fewer bytes.
//
// Rounding never depends on what else is in a message: a row's bytes are a
// function of its own values, of its key and of who sends it when. So messages
// may be cut, and partitions be placed, in any way.
#ifndef SERAPH_COMMON_WIRE_VALUE_CODEC_H_
#define SERAPH_COMMON_WIRE_VALUE_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/clock.h"
#include "common/base/key.h"
#include "common/table/value_kind.h"

namespace seraph {

// Bytes of a row of `width` values:
//   float32  4 width
//   float16, bfloat16  2 width, little-endian
//   int8     1 + width: a signed exponent e, then the multiples of 2^e
size_t RowBytes(ValueKind kind, uint32_t width);

// Where the random bits of int8 come from, so that on average nothing is lost:
// drawn from the job's seed and the place of the row (common/base/draw.h), the
// same in every attempt.
struct RoundingDraw {
  uint64_t seed = 0;
  uint64_t table = 0;  // DrawLabel of its name.
  uint32_t rank = 0;
  Clock clock;
};

// float16 and bfloat16: the nearest value, of two the even one. A value beyond
// the kind's range becomes the largest there is of its sign.
//
// int8: e is the least for which no value of the row is beyond 127 multiples,
// and not below -128 (a multiple that float32 cannot
// hold, of values near its largest, becomes the one below). A value that is not
// finite becomes one that is no number. With `draw` a value
// between two multiples becomes the upper one with a probability that is its
// distance from the lower one (in 2^-16 steps), and else the lower one; without
// it, the nearest, half away from zero.
//
// keys [n] (used with `draw` alone), values [n * width]. Appends n *
// RowBytes to `*to`. Returns how many values were beyond the range.
uint64_t EncodeValues(ValueKind kind, uint32_t width,
                      absl::Span<const Key> keys,
                      absl::Span<const float> values, const RoundingDraw* draw,
                      std::string* to);

// Sets one row of RowBytes bytes.
void DecodeRow(ValueKind kind, const char* bytes, absl::Span<float> row);

// Sets `values`, [n * width], which may be what is not finite.
// Errors: InvalidArgument where `bytes` is not n * RowBytes long.
absl::Status DecodeValues(ValueKind kind, uint32_t width,
                          absl::string_view bytes, absl::Span<float> values);

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_VALUE_CODEC_H_
