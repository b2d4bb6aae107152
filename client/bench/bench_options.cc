#include "client/bench/bench_options.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace seraph {
namespace {

constexpr std::array<std::pair<BenchOperation, absl::string_view>, 4>
    kOperations = {{{BenchOperation::kPull, "pull"},
                    {BenchOperation::kPush, "push"},
                    {BenchOperation::kPushPull, "pushpull"},
                    {BenchOperation::kTrain, "train"}}};

constexpr std::array<std::pair<KeyDistribution, absl::string_view>, 4>
    kDistributions = {{{KeyDistribution::kUniform, "uniform"},
                       {KeyDistribution::kZipf, "zipf"},
                       {KeyDistribution::kSequential, "sequential"},
                       {KeyDistribution::kFile, "file"}}};

template <typename Names, typename Value>
absl::string_view NameOf(const Names& names, Value value) {
  for (const auto& [one, name] : names) {
    if (one == value) return name;
  }
  return "";
}

template <typename Names>
auto ValueOf(const Names& names, absl::string_view wanted) {
  for (const auto& [one, name] : names) {
    if (name == wanted) return one;
  }
  return names[0].first;
}

template <typename Names>
std::vector<std::string> AllNames(const Names& names) {
  std::vector<std::string> all;
  for (const auto& [one, name] : names) all.emplace_back(name);
  return all;
}

absl::Status Wrong(absl::string_view flag, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", why));
}

}  // namespace

std::vector<std::string> KnownTransports() {
  return {"tcp", "unix", "shm", "auto"};
}

absl::Status Validate(const BenchOptions& options) {
  if (options.keys_per_request == 0) {
    return Wrong("--keys-per-request", "a request has at least one key");
  }
  if (options.table_keys == 0) return Wrong("--table-keys", "at least one");
  if (options.keys_per_request > options.table_keys &&
      options.operation != BenchOperation::kTrain &&
      options.distribution != KeyDistribution::kFile) {
    return Wrong("--keys-per-request",
                 absl::StrCat(options.keys_per_request, " distinct keys of ",
                              options.table_keys, " (--table-keys)"));
  }
  if (options.width == 0 || options.width > 4096) {
    return Wrong("--width", "1 to 4096 values");
  }
  if (options.in_flight == 0) return Wrong("--in-flight", "at least one");
  if (options.clients == 0) return Wrong("--clients", "at least one");
  if (options.duration <= absl::ZeroDuration()) {
    return Wrong("--seconds", "more than 0");
  }
  if ((options.distribution == KeyDistribution::kFile) ==
      options.keys_file.empty()) {
    return Wrong("--keys-file",
                 "goes with --distribution file, and is needed there");
  }
  if (options.distribution == KeyDistribution::kFile &&
      options.table == TableKind::kDense) {
    return Wrong("--distribution",
                 "keys of a file are those of a sparse table");
  }
  if (options.operation == BenchOperation::kTrain) {
    if (options.ranks == 0 || options.batch_size == 0 ||
        options.examples == 0 || options.nonzeros == 0) {
      return Wrong("--ranks, --batch-size, --examples, --nonzeros",
                   "at least one");
    }
    if (options.nonzeros > options.table_keys) {
      return Wrong("--nonzeros",
                   absl::StrCat(options.nonzeros, " distinct features of ",
                                options.table_keys, " (--table-keys)"));
    }
    if (options.distribution == KeyDistribution::kFile) {
      return Wrong("--distribution", "train makes its examples");
    }
    if (options.optimizer != OptimizerKind::kSgd &&
        options.optimizer != OptimizerKind::kAdagrad) {
      return Wrong("--optimizer",
                   "train is measured against tables in this process, which "
                   "know sgd and adagrad");
    }
  }
  const std::vector<std::string> transports = KnownTransports();
  if (std::find(transports.begin(), transports.end(), options.transport) ==
      transports.end()) {
    return Wrong("--transport", absl::StrCat("there is no '", options.transport,
                                             "'; there are ",
                                             absl::StrJoin(transports, ", ")));
  }
  return absl::OkStatus();
}

absl::string_view OperationName(BenchOperation operation) {
  return NameOf(kOperations, operation);
}
absl::string_view DistributionName(KeyDistribution distribution) {
  return NameOf(kDistributions, distribution);
}
std::vector<std::string> OperationNames() { return AllNames(kOperations); }
std::vector<std::string> DistributionNames() {
  return AllNames(kDistributions);
}
BenchOperation ParseOperation(absl::string_view name) {
  return ValueOf(kOperations, name);
}
KeyDistribution ParseDistribution(absl::string_view name) {
  return ValueOf(kDistributions, name);
}

uint64_t PayloadBytesPerKey(const BenchOptions& options) {
  const uint64_t key =
      options.table == TableKind::kDense ? 0 : sizeof(uint64_t);
  const uint64_t values = options.width * sizeof(float);
  // A request that does both names its keys in both.
  return options.operation == BenchOperation::kPushPull ? 2 * (key + values)
                                                        : key + values;
}

}  // namespace seraph
