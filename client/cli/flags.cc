#include "client/cli/flags.h"

#include "CLI/Error.hpp"
#include "CLI/Option.hpp"
#include "CLI/Validators.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace seraph {

CLI::Option* AddArgument(CLI::App* app, const std::string& name,
                         std::string* value, const std::string& help) {
  return app->add_option(name, *value, help)->required()->option_text(" ");
}

CLI::Option* AddArguments(CLI::App* app, const std::string& name,
                          std::vector<std::string>* values,
                          const std::string& help) {
  return app->add_option(name, *values, help)->option_text("...");
}

CLI::Option* AddValue(CLI::App* app, const std::string& flag,
                      const std::string& value_name, std::string* value,
                      const std::string& help) {
  return app->add_option(flag, *value, help)->option_text(value_name);
}

CLI::Option* AddValues(CLI::App* app, const std::string& flag,
                       const std::string& value_name,
                       std::vector<std::string>* values,
                       const std::string& help) {
  return app->add_option(flag, *values, help)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->option_text(absl::StrCat(value_name, " ..."));
}

CLI::Option* AddChoice(CLI::App* app, const std::string& flag,
                       const std::vector<std::string>& choices,
                       std::string* value, const std::string& help) {
  const std::string all = absl::StrJoin(choices, "|");
  const CLI::Validator check(
      [choices, all](std::string& given) {
        for (const std::string& choice : choices) {
          if (given == choice) return std::string();
        }
        return absl::StrCat("'", given, "' is not one of ", all);
      },
      "");
  return app->add_option(flag, *value, help)->check(check)->option_text(all);
}

CLI::Option* AddNumber(CLI::App* app, const std::string& flag, int least,
                       int most, int* value, const std::string& help) {
  return app->add_option(flag, *value, help)
      ->check(CLI::Range(least, most))
      ->option_text("N");
}

CLI::Option* AddCount(CLI::App* app, const std::string& flag, uint64_t* value,
                      const std::string& help) {
  return app->add_option(flag, *value, help)->option_text("N");
}

CLI::Option* AddCount(CLI::App* app, const std::string& flag, uint32_t* value,
                      const std::string& help) {
  return app->add_option(flag, *value, help)->option_text("N");
}

CLI::Option* AddSeconds(CLI::App* app, const std::string& flag, double least,
                        double most, double* value, const std::string& help) {
  return app->add_option(flag, *value, help)
      ->check(CLI::Range(least, most))
      ->option_text("SECONDS");
}

CLI::Option* AddDuration(CLI::App* app, const std::string& flag,
                         absl::Duration* value, const std::string& help) {
  const auto parse = [flag, value](const std::string& text) {
    absl::Duration duration;
    if (!absl::ParseDuration(text, &duration) ||
        duration <= absl::ZeroDuration()) {
      throw CLI::ValidationError(
          flag, absl::StrCat("'", text, "' is no time such as 500ms or 10s"));
    }
    *value = duration;
  };
  return app->add_option_function<std::string>(flag, parse, help)
      ->option_text("DURATION");
}

CLI::Option* AddSwitch(CLI::App* app, const std::string& flag, bool* value,
                       const std::string& help) {
  return app->add_flag(flag, *value, help);
}

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string& text = option.get_option_text();
  if (text.find('|') == std::string::npos) return {};
  return absl::StrSplit(text, '|');
}

}  // namespace seraph
