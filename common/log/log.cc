#include "common/log/log.h"

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/concurrent/mutex.h"
#include "common/log/log_line.h"
#include "spdlog/sinks/basic_file_sink.h"
#include "spdlog/sinks/stdout_sinks.h"

namespace seraph {
namespace {

LogLevel FromSpdlog(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return LogLevel::kDebug;
    case spdlog::level::info:
      return LogLevel::kInfo;
    case spdlog::level::warn:
      return LogLevel::kWarn;
    default:
      return LogLevel::kError;
  }
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

class LineFormatter final : public spdlog::formatter {
 public:
  LineFormatter(LogFormat format, std::string component, std::string node)
      : format_(format),
        component_(std::move(component)),
        node_(std::move(node)) {}

  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& result) override {
    const LogLine line = {
        .time = absl::FromChrono(message.time),
        .level = FromSpdlog(message.level),
        .component = component_,
        .node = node_,
        .message = {message.payload.data(), message.payload.size()}};
    const std::string text =
        format_ == LogFormat::kJson ? JsonLogLine(line) : TextLogLine(line);
    result.append(text.data(), text.data() + text.size());
    result.push_back('\n');
  }

  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(format_, component_, node_);
  }

 private:
  const LogFormat format_;
  const std::string component_;
  const std::string node_;
};

// What the lines of this process have in common.
struct Style {
  Mutex mu;
  LogFormat format ABSL_GUARDED_BY(mu) = LogFormat::kText;
  std::string component ABSL_GUARDED_BY(mu);
};

Style& ProcessStyle() {
  static Style* const style = new Style();
  return *style;
}

absl::StatusOr<spdlog::sink_ptr> MakeSink(const std::string& file) {
  if (file.empty()) return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  try {
    return std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
  } catch (const spdlog::spdlog_ex& error) {
    return absl::UnavailableError(
        absl::StrCat("cannot open the log file (log.file): ", error.what()));
  }
}

}  // namespace

absl::Status SetUpLogging(const ClusterConfig::Log& config,
                          absl::string_view component) {
  absl::StatusOr<spdlog::sink_ptr> sink = MakeSink(config.file);
  if (!sink.ok()) return sink.status();
  auto logger = std::make_shared<spdlog::logger>(std::string(component),
                                                 *std::move(sink));
  logger->set_level(ToSpdlog(config.level));
  logger->flush_on(spdlog::level::trace);  // A crash loses no line.
  {
    Style& style = ProcessStyle();
    MutexLock lock(&style.mu);
    style.format = config.format;
    style.component = std::string(component);
  }
  logger->set_formatter(std::make_unique<LineFormatter>(
      config.format, std::string(component), ""));
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

void SetLogNode(absl::string_view node) {
  std::unique_ptr<LineFormatter> formatter;
  {
    Style& style = ProcessStyle();
    MutexLock lock(&style.mu);
    formatter = std::make_unique<LineFormatter>(style.format, style.component,
                                                std::string(node));
  }
  spdlog::default_logger()->set_formatter(std::move(formatter));
}

void SetLogLevel(LogLevel level) {
  spdlog::default_logger()->set_level(ToSpdlog(level));
}

std::string LogValue(absl::string_view text) { return QuotedForLog(text); }

std::string LogValue(const absl::Status& status) {
  return QuotedForLog(status.ToString());
}

}  // namespace seraph
