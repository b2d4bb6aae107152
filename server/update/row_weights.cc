#include "server/update/row_weights.h"

#include <cstring>

namespace seraph {
namespace {

// The compiler makes a move or two of a copy whose size it knows, and a call of
// one that it does not.
template <size_t kWidth>
void Copy(absl::Span<const float* const> rows, float* out) {
  for (const float* row : rows) {
    std::memcpy(out, row, kWidth * sizeof(float));
    out += kWidth;
  }
}

}  // namespace

void CopyWeights(absl::Span<const float* const> rows, size_t width,
                 float* out) {
  switch (width) {
    case 1:
      return Copy<1>(rows, out);
    case 2:
      return Copy<2>(rows, out);
    case 4:
      return Copy<4>(rows, out);
    case 8:
      return Copy<8>(rows, out);
    case 16:
      return Copy<16>(rows, out);
    case 32:
      return Copy<32>(rows, out);
    case 64:
      return Copy<64>(rows, out);
  }
  for (const float* row : rows) {
    std::memcpy(out, row, width * sizeof(float));
    out += width;
  }
}

}  // namespace seraph
