// Results on standard output.
#ifndef SERAPH_CLIENT_CLI_OUTPUT_H_
#define SERAPH_CLIENT_CLI_OUTPUT_H_

#include <string>

#include "absl/status/status.h"
#include "client/cli/environment.h"
#include "client/render/documents.h"

namespace seraph {

// Prints `document` as JSON or YAML, or `table`, as the options say.
// Errors: standard output cannot be written.
absl::Status PrintResult(const GlobalOptions& options, const Environment& env,
                         const Document& document, const std::string& table);

// Errors: likewise.
absl::Status PrintText(const Environment& env, const std::string& text);

}  // namespace seraph

#endif  // SERAPH_CLIENT_CLI_OUTPUT_H_
