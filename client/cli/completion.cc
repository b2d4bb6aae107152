#include "client/cli/completion.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/cli/flags.h"

namespace seraph {
namespace {

struct Flag {
  std::vector<std::string> names;  // With their dashes.
  std::vector<std::string> choices;
  bool takes_value = false;
  std::string help;
};

std::vector<Flag> FlagsOf(const CLI::App& app) {
  std::vector<Flag> flags;
  for (const CLI::Option* option : app.get_options()) {
    Flag flag;
    for (const std::string& name : option->get_snames()) {
      flag.names.push_back(absl::StrCat("-", name));
    }
    for (const std::string& name : option->get_lnames()) {
      flag.names.push_back(absl::StrCat("--", name));
    }
    if (flag.names.empty()) continue;  // An argument.
    flag.choices = ChoicesOf(*option);
    flag.takes_value = option->get_items_expected_max() > 0;
    flag.help = option->get_description();
    flags.push_back(flag);
  }
  return flags;
}

std::vector<std::string> NamesOf(const std::vector<Flag>& flags) {
  std::vector<std::string> names;
  for (const Flag& flag : flags) {
    names.insert(names.end(), flag.names.begin(), flag.names.end());
  }
  return names;
}

std::vector<const CLI::App*> VerbsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> VerbNamesOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : VerbsOf(app)) names.push_back(verb->get_name());
  return names;
}

// A text inside of single quotes.
std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// The lines "verb:flag) words=...;;" of a case, for each flag with choices.
std::string ChoiceCases(const CLI::App& app, const std::string& indent) {
  std::string cases;
  for (const CLI::App* verb : VerbsOf(app)) {
    for (const Flag& flag : FlagsOf(*verb)) {
      if (flag.choices.empty()) continue;
      for (const std::string& name : flag.names) {
        absl::StrAppend(&cases, indent, verb->get_name(), ":", name,
                        ") words='", absl::StrJoin(flag.choices, " "),
                        "' ;;\n");
      }
    }
  }
  return cases;
}

std::string BashScript(const CLI::App& app) {
  std::string flags;
  for (const CLI::App* verb : VerbsOf(app)) {
    absl::StrAppend(&flags, "      ", verb->get_name(), ") words='",
                    absl::StrJoin(NamesOf(FlagsOf(*verb)), " "), "' ;;\n");
  }
  return absl::StrCat(
      "# bash completion for seraphctl: source <(seraphctl completion bash)\n"
      "_seraphctl() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} verb='' word words=''\n"
      "  local previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \" ",
      absl::StrJoin(VerbNamesOf(app), " "),
      " \" in *\" $word \"*) verb=$word; break ;; esac\n"
      "  done\n"
      "  case \"$verb:$previous\" in\n",
      ChoiceCases(app, "    "),
      "  esac\n"
      "  if [ -z \"$words\" ] && [ -z \"$verb\" ]; then\n"
      "    words='",
      absl::StrJoin(VerbNamesOf(app), " "), " ",
      absl::StrJoin(NamesOf(FlagsOf(app)), " "),
      "'\n"
      "  elif [ -z \"$words\" ] && [[ $current == -* ]]; then\n"
      "    case \"$verb\" in\n",
      flags,
      "    esac\n"
      "  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}\n"
      "complete -o default -F _seraphctl seraphctl\n");
}

std::string ZshScript(const CLI::App& app) {
  std::string verbs, cases;
  for (const CLI::App* verb : VerbsOf(app)) {
    absl::StrAppend(
        &verbs, "    ",
        Quoted(absl::StrCat(verb->get_name(), ":", verb->get_description())),
        "\n");
    absl::StrAppend(&cases, "    ", verb->get_name(), ")\n      _arguments");
    for (const Flag& flag : FlagsOf(*verb)) {
      // Brackets and colons mean something to _arguments.
      const std::string help = absl::StrReplaceAll(
          flag.help, {{"[", "("}, {"]", ")"}, {":", "\\:"}});
      for (const std::string& name : flag.names) {
        std::string spec = absl::StrCat("*", name, "[", help, "]");
        if (!flag.choices.empty()) {
          absl::StrAppend(&spec, ":value:(", absl::StrJoin(flag.choices, " "),
                          ")");
        } else if (flag.takes_value) {
          absl::StrAppend(&spec, ":value:_files");
        }
        absl::StrAppend(&cases, " \\\n        ", Quoted(spec));
      }
    }
    absl::StrAppend(&cases, " \\\n        '*:file:_files' ;;\n");
  }
  return absl::StrCat(
      "#compdef seraphctl\n"
      "# zsh completion for seraphctl: put it into a folder of $fpath as "
      "_seraphctl\n"
      "_seraphctl() {\n"
      "  local -a verbs\n"
      "  verbs=(\n",
      verbs,
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe 'verb' verbs\n"
      "    return\n"
      "  fi\n"
      "  case $words[2] in\n",
      cases,
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _seraphctl ]; then\n"
      "  _seraphctl \"$@\"\n"
      "else\n"
      "  compdef _seraphctl seraphctl\n"
      "fi\n");
}

std::string FishScript(const CLI::App& app) {
  std::string lines;
  for (const CLI::App* verb : VerbsOf(app)) {
    absl::StrAppend(
        &lines, "complete -c seraphctl -n __fish_use_subcommand -f -a ",
        verb->get_name(), " -d ", Quoted(verb->get_description()), "\n");
    for (const Flag& flag : FlagsOf(*verb)) {
      absl::StrAppend(&lines,
                      "complete -c seraphctl -n '__fish_seen_subcommand_from ",
                      verb->get_name(), "'");
      for (const std::string& name : flag.names) {
        const bool is_long = name.size() > 2;
        absl::StrAppend(&lines, is_long ? " -l " : " -s ",
                        name.substr(is_long ? 2 : 1));
      }
      if (!flag.choices.empty()) {
        absl::StrAppend(&lines, " -x -a '", absl::StrJoin(flag.choices, " "),
                        "'");
      } else if (flag.takes_value) {
        absl::StrAppend(&lines, " -r");
      }
      absl::StrAppend(&lines, " -d ", Quoted(flag.help), "\n");
    }
  }
  return absl::StrCat(
      "# fish completion for seraphctl: seraphctl completion fish | source\n",
      lines);
}

}  // namespace

std::string CompletionScript(const CLI::App& app, Shell shell) {
  switch (shell) {
    case Shell::kBash:
      return BashScript(app);
    case Shell::kZsh:
      return ZshScript(app);
    case Shell::kFish:
      return FishScript(app);
  }
  return "";
}

}  // namespace seraph
