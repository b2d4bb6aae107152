#include "client/cli/output.h"

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
  *env.out << text << std::flush;
  if (env.out->good()) return absl::OkStatus();
  return WithExitCode(absl::InternalError("cannot write to standard output"),
                      ExitCode::kFailed);
}

}  // namespace seraph
