// Percentiles of measured times.
#ifndef SERAPH_CLIENT_BENCH_PERCENTILES_H_
#define SERAPH_CLIENT_BENCH_PERCENTILES_H_

#include <vector>

namespace seraph {

struct Percentiles {
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
};

// By the nearest rank: the least value that at least so many hundredths of all
// do not exceed. All 0 without values.
Percentiles PercentilesOf(std::vector<double> values);

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_PERCENTILES_H_
