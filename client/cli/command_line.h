// The whole command line: verbs, global flags, help, errors, exit codes.
#ifndef SERAPH_CLIENT_CLI_COMMAND_LINE_H_
#define SERAPH_CLIENT_CLI_COMMAND_LINE_H_

#include <memory>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "client/cli/environment.h"
#include "client/cli/verb.h"

namespace seraph {

class CommandLine {
 public:
  // `env` must outlive this.
  CommandLine(std::vector<std::unique_ptr<Verb>> verbs, const Environment* env);

  // Parses `arguments` (without the program's name), runs the verb, prints
  // errors to standard error, and returns the exit code.
  int Run(std::vector<std::string> arguments);

  // For completions and the documentation's test.
  const CLI::App& app() const { return app_; }

 private:
  void AddGlobalFlags(CLI::App* app);
  int ParseError(const CLI::ParseError& error);
  int Usage(const std::string& message);

  const std::vector<std::unique_ptr<Verb>> verbs_;
  const Environment& env_;
  CLI::App app_;
  std::string output_ = "table";
  GlobalOptions options_;
  // The flag --scheduler, of all verbs or of one.
  std::vector<const CLI::Option*> scheduler_flags_;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_CLI_COMMAND_LINE_H_
