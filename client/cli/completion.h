// Completion scripts for shells.
#ifndef SERAPH_CLIENT_CLI_COMPLETION_H_
#define SERAPH_CLIENT_CLI_COMPLETION_H_

#include <string>

#include "CLI/App.hpp"

namespace seraph {

enum class Shell { kBash, kZsh, kFish };

// A script that completes the verbs of `app`, their flags and the values of
// those that have a choice; elsewhere files.
std::string CompletionScript(const CLI::App& app, Shell shell);

}  // namespace seraph

#endif  // SERAPH_CLIENT_CLI_COMPLETION_H_
