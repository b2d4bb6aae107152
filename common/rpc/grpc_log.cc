#include "common/rpc/grpc_log.h"

#include "absl/strings/string_view.h"
#include "common/log/log.h"
#include "grpc/support/log.h"

namespace seraph {
namespace {

absl::string_view FileName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

void Log(gpr_log_func_args* line) {
  spdlog::log(line->severity == GPR_LOG_SEVERITY_ERROR ? spdlog::level::warn
                                                       : spdlog::level::debug,
              "grpc.log place={}:{} message={}", FileName(line->file),
              line->line, LogValue(line->message));
}

}  // namespace

void SendGrpcLogsToOurs() { gpr_set_log_function(Log); }

}  // namespace seraph
