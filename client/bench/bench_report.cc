#include "client/bench/bench_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/text_table.h"
#include "common/job/optimizer_keys.h"

namespace seraph {
namespace {

Document OrNull(const std::optional<double>& value) {
  return value.has_value() ? Document(*value) : Document(nullptr);
}

double Ratio(double measured, double of) { return of > 0 ? measured / of : 0; }

// "16.3 M", "812 k", "12".
std::string Short(double number) {
  if (number >= 1e9) return absl::StrFormat("%.2f G", number / 1e9);
  if (number >= 1e6) return absl::StrFormat("%.1f M", number / 1e6);
  if (number >= 1e4) return absl::StrFormat("%.0f k", number / 1e3);
  return absl::StrFormat("%.4g", number);
}

std::string OrUnknown(const std::optional<double>& value) {
  return value.has_value() ? absl::StrFormat("%.1f", *value) : "unknown";
}

absl::string_view TableName(TableKind kind) {
  return kind == TableKind::kDense ? "dense" : "sparse";
}

std::string ToText(const std::vector<std::vector<std::string>>& rows) {
  TextTable table({{""}, {"", true}, {""}});
  for (const auto& row : rows) table.AddRow(row);
  const std::string text = table.ToString();
  return text.substr(text.find('\n') + 1);  // Without titles.
}

}  // namespace

double TableReport::tcp_bytes_per_second() const {
  return requests > 0 ? tcp_requests_per_second * (double(keys) / requests) *
                            double(PayloadBytesPerKey(options))
                      : 0;
}

Document ReportDocument(const TableReport& report) {
  const BenchOptions& options = report.options;
  Document document;
  document["operation"] = std::string(OperationName(options.operation));
  document["parameters"] = {
      {"keys_per_request", options.keys_per_request},
      {"width", options.width},
      {"table_keys", options.table_keys},
      {"table", std::string(TableName(options.table))},
      {"optimizer", std::string(OptimizerKindName(options.optimizer))},
      {"distribution", std::string(DistributionName(options.distribution))},
      {"in_flight", options.in_flight},
      {"servers", options.servers},
      {"clients", options.clients},
      {"replicas", options.replicas},
      {"repeat_keys", options.repeat_keys},
      {"transport", options.transport},
      {"seed", options.seed}};
  document["requests"] = report.requests;
  document["keys"] = report.keys;
  document["seconds"] = report.seconds;
  document["keys_per_second"] = report.keys_per_second;
  document["bytes_per_second"] = report.bytes_per_second();
  document["latency_us"] = {{"p50", report.latency_us.p50},
                            {"p90", report.latency_us.p90},
                            {"p99", report.latency_us.p99},
                            {"max", report.latency_us.max}};
  document["server_bytes_per_key"] = OrNull(report.server_bytes_per_key);
  document["server_cpu_ns_per_key"] = OrNull(report.server_cpu_ns_per_key);
  document["client_cpu_ns_per_key"] = report.client_cpu_ns_per_key;
  const double keys_per_request = Ratio(report.keys, report.requests);
  document["wire"] = {
      {"request_bytes", report.request_bytes},
      {"reply_bytes", report.reply_bytes},
      {"bytes_per_key",
       Ratio(report.request_bytes + report.reply_bytes, keys_per_request)}};
  document["server"] = {{"rows", report.table_rows},
                        {"log_records", report.log_records},
                        {"pushed_entries", report.pushed_entries}};
  document["baselines"] = {
      {"tcp_bytes_per_second", report.tcp_bytes_per_second()},
      {"memcpy_bytes_per_second", report.memcpy_bytes_per_second},
      {"noop_keys_per_second", report.noop_keys_per_second},
      {"echo_stream_messages_per_second", report.echo_messages_per_second}};
  document["ratios"] = {
      {"to_tcp",
       Ratio(report.bytes_per_second(), report.tcp_bytes_per_second())},
      {"to_memcpy",
       Ratio(report.bytes_per_second(), report.memcpy_bytes_per_second)},
      {"to_noop", Ratio(report.keys_per_second, report.noop_keys_per_second)},
      {"to_echo_stream",
       Ratio(report.requests_per_second, report.echo_messages_per_second)}};
  return document;
}

std::string ReportText(const TableReport& report) {
  const BenchOptions& options = report.options;
  const auto percent = [](double measured, double of) {
    return of > 0 ? absl::StrFormat("%.0f %% of it is reached",
                                    100 * measured / of)
                  : std::string();
  };
  std::string text = absl::StrFormat(
      "%s: %d keys a request of %d in a %s table of width %d (%s), %s keys%s, "
      "%d in flight; servers %d, clients %d, replicas %d\n\n",
      OperationName(options.operation), options.keys_per_request,
      options.table_keys, TableName(options.table), options.width,
      OptimizerKindName(options.optimizer),
      DistributionName(options.distribution),
      options.repeat_keys ? " (the same each time)" : "", options.in_flight,
      options.servers, options.clients, options.replicas);
  const double keys_per_request = Ratio(report.keys, report.requests);
  absl::StrAppend(
      &text,
      ToText({{"keys", Short(report.keys_per_second), "a second"},
              {"payload", Short(report.bytes_per_second()), "bytes a second"},
              {"requests", Short(report.requests_per_second), "a second"},
              {"latency",
               absl::StrFormat("%.0f / %.0f / %.0f", report.latency_us.p50,
                               report.latency_us.p90, report.latency_us.p99),
               "us: p50, p90, p99"},
              {"server", OrUnknown(report.server_cpu_ns_per_key),
               "ns of processor time a key"},
              {"client", absl::StrFormat("%.1f", report.client_cpu_ns_per_key),
               "ns of processor time a key"},
              {"wire",
               absl::StrFormat("%.2f",
                               Ratio(report.request_bytes + report.reply_bytes,
                                     keys_per_request)),
               "bytes a key, both ways"},
              {"memory", OrUnknown(report.server_bytes_per_key),
               "bytes a key of the table, resident at the servers"}}),
      "\nwhat this machine does with the same sizes:\n",
      ToText({{"bare TCP", Short(report.tcp_bytes_per_second()),
               "payload bytes a second; " +
                   percent(report.bytes_per_second(),
                           report.tcp_bytes_per_second())},
              {"memcpy", Short(report.memcpy_bytes_per_second),
               "bytes a second; " + percent(report.bytes_per_second(),
                                            report.memcpy_bytes_per_second)},
              {"server without work", Short(report.noop_keys_per_second),
               "keys a second; " + percent(report.keys_per_second,
                                           report.noop_keys_per_second)},
              {"gRPC stream", Short(report.echo_messages_per_second),
               "messages a second; " +
                   percent(report.requests_per_second,
                           report.echo_messages_per_second)}}));
  return text;
}

Document ReportDocument(const TrainReport& report) {
  const BenchOptions& options = report.options;
  Document document;
  document["operation"] = std::string(OperationName(options.operation));
  document["parameters"] = {
      {"examples", options.examples},
      {"nonzeros", options.nonzeros},
      {"table_keys", options.table_keys},
      {"distribution", std::string(DistributionName(options.distribution))},
      {"optimizer", std::string(OptimizerKindName(options.optimizer))},
      {"ranks", options.ranks},
      {"batch_size", options.batch_size},
      {"servers", options.servers},
      {"replicas", options.replicas},
      {"seed", options.seed}};
  document["epochs"] = report.epochs;
  document["examples"] = report.examples;
  document["seconds"] = report.seconds;
  document["examples_per_second"] = report.examples_per_second;
  document["log_loss"] = report.log_loss;
  document["cpu_us_per_example"] = OrNull(report.cpu_us_per_example);
  document["baselines"] = {
      {"local_examples_per_second", report.local_examples_per_second},
      {"local_log_loss", report.local_log_loss},
      {"local_cpu_us_per_example", report.local_cpu_us_per_example}};
  document["ratios"] = {{"to_local", report.ratio()}};
  return document;
}

std::string ReportText(const TrainReport& report) {
  const BenchOptions& options = report.options;
  return absl::StrCat(
      absl::StrFormat(
          "train: logistic regression, %d examples of %d features of %d, %s, "
          "batches of %d, ranks %d, servers %d\n\n",
          options.examples, options.nonzeros, options.table_keys,
          OptimizerKindName(options.optimizer), options.batch_size,
          options.ranks, options.servers),
      ToText({{"on servers", Short(report.examples_per_second),
               absl::StrFormat("examples a second, log loss %.4f; %s us of "
                               "processor time each",
                               report.log_loss,
                               OrUnknown(report.cpu_us_per_example))},
              {"on local tables", Short(report.local_examples_per_second),
               absl::StrFormat("examples a second, log loss %.4f; %.1f us of "
                               "processor time each",
                               report.local_log_loss,
                               report.local_cpu_us_per_example)},
              {"ratio", absl::StrFormat("%.2f", report.ratio()), ""}}));
}

}  // namespace seraph
