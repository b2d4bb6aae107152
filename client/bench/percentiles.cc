#include "client/bench/percentiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace seraph {

Percentiles PercentilesOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](int hundredths) {
    const size_t rank = (values.size() * hundredths + 99) / 100;
    return values[std::max<size_t>(rank, 1) - 1];
  };
  return {.p50 = at(50), .p90 = at(90), .p99 = at(99), .max = values.back()};
}

}  // namespace seraph
