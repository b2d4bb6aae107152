// How a log line looks. No clock, no file, no spdlog.
#ifndef SERAPH_COMMON_LOG_LOG_LINE_H_
#define SERAPH_COMMON_LOG_LOG_LINE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/config/cluster_config.h"

namespace seraph {

struct LogLine {
  absl::Time time;
  LogLevel level = LogLevel::kInfo;
  absl::string_view component;
  absl::string_view node;     // "": not known yet.
  absl::string_view message;  // "event key=value key=\"quoted value\" ..."
};

// Without a line end, and without one inside: control characters of the message
// are escaped.
//   2024-05-01T12:34:56.123456Z INFO server 10.0.0.1:7401 job.started job=j7
std::string TextLogLine(const LogLine& line);

// One JSON object on one line. A message of the usual form becomes "event" and
// "fields", whose values are texts; any other becomes "message". Bytes that are
// not UTF-8 become U+FFFD.
std::string JsonLogLine(const LogLine& line);

// `text` in quotes, with quotes, backslashes and control characters escaped.
std::string QuotedForLog(absl::string_view text);

}  // namespace seraph

#endif  // SERAPH_COMMON_LOG_LOG_LINE_H_
