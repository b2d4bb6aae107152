// The weights of rows, copied.
#ifndef SERAPH_SERVER_UPDATE_ROW_WEIGHTS_H_
#define SERAPH_SERVER_UPDATE_ROW_WEIGHTS_H_

#include <cstddef>

#include "absl/types/span.h"

namespace seraph {

// Copies the first `width` cells of each row. out is [rows.size() * width].
void CopyWeights(absl::Span<const float* const> rows, size_t width, float* out);

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_ROW_WEIGHTS_H_
