// Flags and arguments in our form: CLI11's own would take more than one value
// after a flag that may be repeated, and call every value TEXT.
#ifndef SERAPH_CLIENT_CLI_FLAGS_H_
#define SERAPH_CLIENT_CLI_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/time/time.h"

namespace seraph {

// An argument that must be there: "JOB".
CLI::Option* AddArgument(CLI::App* app, const std::string& name,
                         std::string* value, const std::string& help);

// Any number of arguments behind the others: "[ARGS ...]".
CLI::Option* AddArguments(CLI::App* app, const std::string& name,
                          std::vector<std::string>* values,
                          const std::string& help);

// "--flag VALUE".
CLI::Option* AddValue(CLI::App* app, const std::string& flag,
                      const std::string& value_name, std::string* value,
                      const std::string& help);

// "--flag VALUE", any number of times.
CLI::Option* AddValues(CLI::App* app, const std::string& flag,
                       const std::string& value_name,
                       std::vector<std::string>* values,
                       const std::string& help);

// "--flag one|two": one of `choices`.
CLI::Option* AddChoice(CLI::App* app, const std::string& flag,
                       const std::vector<std::string>& choices,
                       std::string* value, const std::string& help);

// "--flag N": a whole number of `least` to `most`.
CLI::Option* AddNumber(CLI::App* app, const std::string& flag, int least,
                       int most, int* value, const std::string& help);

// "--flag N": a whole number that may be large.
CLI::Option* AddCount(CLI::App* app, const std::string& flag, uint64_t* value,
                      const std::string& help);
CLI::Option* AddCount(CLI::App* app, const std::string& flag, uint32_t* value,
                      const std::string& help);

// "--flag SECONDS": a number of `least` to `most`.
CLI::Option* AddSeconds(CLI::App* app, const std::string& flag, double least,
                        double most, double* value, const std::string& help);

// "--flag DURATION", as in "500ms", "10s"; greater than 0.
CLI::Option* AddDuration(CLI::App* app, const std::string& flag,
                         absl::Duration* value, const std::string& help);

// "--flag".
CLI::Option* AddSwitch(CLI::App* app, const std::string& flag, bool* value,
                       const std::string& help);

// The choices of an option that AddChoice made; else empty.
std::vector<std::string> ChoicesOf(const CLI::Option& option);

}  // namespace seraph

#endif  // SERAPH_CLIENT_CLI_FLAGS_H_
