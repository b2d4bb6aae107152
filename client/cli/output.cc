#include "client/cli/output.h"

#include <cerrno>

#include "client/base/exit_code.h"

namespace seraph {

absl::Status PrintResult(const GlobalOptions& options, const Environment& env,
                         const Document& document, const std::string& table) {
  switch (options.output) {
    case OutputFormat::kJson:
      return PrintText(env, ToJsonText(document));
    case OutputFormat::kYaml:
      return PrintText(env, ToYamlText(document));
    case OutputFormat::kTable:
      break;
  }
  return PrintText(env, table);
}

absl::Status PrintText(const Environment& env, const std::string& text) {
  errno = 0;
  *env.out << text << std::flush;
  if (env.out->good()) return absl::OkStatus();
  // Whoever read has enough, and knows it.
  if (errno == EPIPE) return Reported(ExitCode::kFailed);
  return WithExitCode(absl::InternalError("cannot write to standard output"),
                      ExitCode::kFailed);
}

}  // namespace seraph
