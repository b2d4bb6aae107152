// Examples of a classification that can be learnt, made from a seed.
#ifndef SERAPH_CLIENT_BENCH_GENERATED_EXAMPLES_H_
#define SERAPH_CLIENT_BENCH_GENERATED_EXAMPLES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "client/bench/bench_options.h"

namespace seraph {

struct ExampleOptions {
  uint64_t examples = 1;
  uint32_t nonzeros = 1;  // Distinct features of an example, of value 1.
  uint64_t features = 1;  // Numbered 1 to `features`; >= nonzeros.
  KeyDistribution distribution = KeyDistribution::kZipf;  // Not kFile.
  uint64_t seed = 1;
};

// Writes them as a libsvm file. Each feature has a weight, drawn from a normal
// distribution; the label is drawn with the probability that a logistic
// regression with these weights gives it.
// Errors: what keeps the file from being written.
absl::Status WriteExamples(const ExampleOptions& options,
                           const std::string& path);

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_GENERATED_EXAMPLES_H_
