// Logs: one event per line, for people or for programs.
//
// Log with spdlog's functions, an event name first, then key=value:
//
//   spdlog::info("job.started job={} ranks={}", id, ranks);
//   spdlog::warn("heartbeat.failed status={} next=retry", LogValue(status));
//
//   2024-05-01T12:34:56.123456Z INFO server 10.0.0.1:7401 job.started job=...
//   {"time":"2024-05-01T12:34:56.123456Z","level":"info","component":"server",
//    "node":"10.0.0.1:7401","event":"job.started","fields":{"job":"..."}}
//
// Whoever decides logs; whoever returns a Status does not. Nothing per request
// above debug.
#ifndef SERAPH_COMMON_LOG_LOG_H_
#define SERAPH_COMMON_LOG_LOG_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/config/cluster_config.h"
#include "spdlog/spdlog.h"

namespace seraph {

// Sends everything that spdlog's default logger gets to config.file, or to
// standard error. `component` is "server", "worker", "scheduler", ... Call it
// once, early; again in tests.
// Errors: the file cannot be opened for appending; then nothing changes.
absl::Status SetUpLogging(const ClusterConfig::Log& config,
                          absl::string_view component);

// The node's name in every line from now on; known once the daemon listens.
void SetLogNode(absl::string_view node);

void SetLogLevel(LogLevel level);

// A value that may have spaces, quotes or line ends, in quotes and escaped.
std::string LogValue(absl::string_view text);
std::string LogValue(const absl::Status& status);

}  // namespace seraph

// absl::string_view as an argument of a log line.
template <>
struct fmt::formatter<absl::string_view> : fmt::formatter<fmt::string_view> {
  template <typename Context>
  auto format(absl::string_view text, Context& context) const {
    return fmt::formatter<fmt::string_view>::format(
        fmt::string_view(text.data(), text.size()), context);
  }
};

#endif  // SERAPH_COMMON_LOG_LOG_H_
