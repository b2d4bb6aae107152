#include "worker/model/clip.h"

#include <cmath>

namespace seraph {

double ClipByGlobalNorm(double max_norm,
                        std::vector<TableGradient>* gradients) {
  double squares = 0;
  for (const TableGradient& gradient : *gradients) {
    for (const float value : gradient.values) {
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
  }
  const double norm = std::sqrt(squares);
  if (max_norm > 0 && norm > max_norm) {
    const double factor = max_norm / norm;
    for (TableGradient& gradient : *gradients) {
      for (float& value : gradient.values) {
        value = static_cast<float>(static_cast<double>(value) * factor);
      }
    }
  }
  return norm;
}

}  // namespace seraph
