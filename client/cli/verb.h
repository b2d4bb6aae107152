// A verb of the command line.
#ifndef SERAPH_CLIENT_CLI_VERB_H_
#define SERAPH_CLIENT_CLI_VERB_H_

#include <string>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "client/cli/environment.h"

namespace seraph {

// Made once, defined once, run once at most.
class Verb {
 public:
  virtual ~Verb() = default;

  virtual std::string name() const = 0;      // "run".
  virtual std::string summary() const = 0;   // One line of the list of verbs.
  virtual std::string examples() const = 0;  // Lines of --help, indented by 2.

  // Adds the verb's own flags and arguments to its part of the command line.
  virtual void Define(CLI::App* app) = 0;

  // Does it. Results go to env.out, errors are returned with an exit code
  // (client/base/exit_code.h).
  virtual absl::Status Run(const GlobalOptions& options,
                           const Environment& env) = 0;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_CLI_VERB_H_
