// What `seraphctl bench` is asked to measure.
#ifndef SERAPH_CLIENT_BENCH_BENCH_OPTIONS_H_
#define SERAPH_CLIENT_BENCH_BENCH_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/table/table_spec.h"

namespace seraph {

enum class BenchOperation { kPull, kPush, kPushPull, kTrain };

// Which keys a request has.
enum class KeyDistribution {
  kUniform,     // Distinct keys of the table, all equally likely.
  kZipf,        // The key of popularity i with probability ~ 1 / i^1.05, until
                // there are enough distinct ones.
  kSequential,  // Neighbours, from the table's begin to its end and again.
  kFile,        // Those of successive records of a libsvm file.
};

struct BenchOptions {
  BenchOperation operation = BenchOperation::kPull;
  uint64_t keys_per_request = 100'000;
  uint32_t width = 1;  // float32 values of a key.
  uint64_t table_keys = 1'000'000;
  TableKind table = TableKind::kSparse;
  OptimizerKind optimizer = OptimizerKind::kSum;
  KeyDistribution distribution = KeyDistribution::kUniform;
  std::string keys_file;   // With kFile alone.
  uint32_t in_flight = 4;  // Requests of a client that are unanswered.
  absl::Duration duration = absl::Seconds(3);
  int servers = 1;  // Of a local cluster.
  // Each with connections of its own, as a worker process has them.
  uint32_t clients = 1;
  uint32_t replicas = 1;
  uint32_t partitions = 0;   // 0: as many as the cluster is set to.
  bool repeat_keys = false;  // Every request of a client has the same keys.
  // From the end of filling the table until the servers' memory is read, so
  // that they are at rest.
  absl::Duration settle;
  std::string transport = "auto";
  uint64_t seed = 1;

  // train alone.
  uint32_t ranks = 2;
  uint32_t batch_size = 1000;  // Examples of a rank and clock.
  uint64_t examples = 200'000;
  uint32_t nonzeros = 40;  // Of an example.
};

// The transports that there are; auto is the nearest one, as workers take it.
std::vector<std::string> KnownTransports();

// Errors: InvalidArgument, naming the flag.
absl::Status Validate(const BenchOptions& options);

// The names of the command line.
absl::string_view OperationName(BenchOperation operation);
absl::string_view DistributionName(KeyDistribution distribution);
std::vector<std::string> OperationNames();
std::vector<std::string> DistributionNames();

// Requires: the name is one of those above.
BenchOperation ParseOperation(absl::string_view name);
KeyDistribution ParseDistribution(absl::string_view name);

// Bytes of a key and its values, in both directions together, that a request
// cannot do without: what bytes_per_second counts. A dense table's keys are
// [0, table_keys) in ranges, which have no bytes.
uint64_t PayloadBytesPerKey(const BenchOptions& options);

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_BENCH_OPTIONS_H_
