// What a measurement found, and how it is shown.
#ifndef SERAPH_CLIENT_BENCH_BENCH_REPORT_H_
#define SERAPH_CLIENT_BENCH_BENCH_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "client/bench/bench_options.h"
#include "client/bench/percentiles.h"
#include "client/render/documents.h"

namespace seraph {

// Of pulls and pushes. Rates are over all clients; what is unset could not be
// measured (the servers are not ours, or not on this machine).
struct TableReport {
  BenchOptions options;
  uint64_t requests = 0;
  uint64_t keys = 0;
  double seconds = 0;
  double requests_per_second = 0;
  double keys_per_second = 0;
  Percentiles latency_us;
  double request_bytes = 0;  // Of the messages of a request, and of its answer.
  double reply_bytes = 0;
  std::optional<double> server_bytes_per_key;  // Resident, of the table's keys.
  std::optional<double> server_cpu_ns_per_key;
  double client_cpu_ns_per_key = 0;
  // As the servers count them, from before the first request to after the
  // last: entries of pushes by partition.
  uint64_t table_rows = 0;
  uint64_t log_records = 0;
  uint64_t pushed_entries = 0;  // As the clients count the same.

  // Of this machine, for exchanges of the same sizes.
  double tcp_requests_per_second = 0;
  double memcpy_bytes_per_second = 0;
  double noop_keys_per_second = 0;
  double echo_messages_per_second = 0;

  double bytes_per_second() const {
    return keys_per_second * double(PayloadBytesPerKey(options));
  }
  double tcp_bytes_per_second() const;
};

Document ReportDocument(const TableReport& report);
std::string ReportText(const TableReport& report);

// Of training.
struct TrainReport {
  BenchOptions options;
  uint64_t examples = 0;  // Of an epoch.
  double seconds = 0;     // Of an epoch, the median.
  uint32_t epochs = 0;
  double examples_per_second = 0;
  double log_loss = 0;  // Of the last epoch.
  double local_examples_per_second = 0;
  double local_log_loss = 0;
  // Processor time of all of it, by the examples of all epochs: of servers and
  // workers, where they are ours, and of this process.
  std::optional<double> cpu_us_per_example;
  double local_cpu_us_per_example = 0;

  double ratio() const {
    return local_examples_per_second > 0
               ? examples_per_second / local_examples_per_second
               : 0;
  }
};

Document ReportDocument(const TrainReport& report);
std::string ReportText(const TrainReport& report);

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_BENCH_REPORT_H_
