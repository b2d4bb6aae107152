// docs/command-line.md says what the code does: each verb, flag and choice is
// in the page, and the page names no other.
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/command_line.h"
#include "client/cli/flags.h"
#include "client/cli/test_environment.h"
#include "client/verbs/verbs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::TestEnvironment;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

class DocumentationTest : public ::testing::Test {
 protected:
  DocumentationTest() : command_line_(MakeVerbs(), &env_.env) {
    std::ifstream file("docs/command-line.md");
    page_.assign(std::istreambuf_iterator<char>(file), {});
  }

  std::vector<const CLI::App*> Verbs() const {
    return command_line_.app().get_subcommands(
        [](const CLI::App*) { return true; });
  }

  // The page's section of a verb, without its heading; "" if there is none.
  std::string SectionOf(const std::string& verb) const {
    for (const absl::string_view section : absl::StrSplit(page_, "\n## ")) {
      const std::vector<std::string> lines =
          absl::StrSplit(section, absl::MaxSplits('\n', 1));
      for (const absl::string_view part : absl::StrSplit(lines[0], '`')) {
        const std::vector<std::string> words = absl::StrSplit(part, ' ');
        if (words[0] == verb) return lines[1];
      }
    }
    return "";
  }

  // The flags in the first cells of a section's tables: "--set", "-o".
  static std::set<std::string> FlagsIn(const std::string& section) {
    std::set<std::string> flags;
    for (const absl::string_view line : absl::StrSplit(section, '\n')) {
      if (!absl::StartsWith(line, "| `-")) continue;
      const std::vector<std::string> cells =
          absl::StrSplit(line, absl::MaxSplits(" |", 1));
      for (const absl::string_view part : absl::StrSplit(cells[0], '`')) {
        if (!absl::StartsWith(part, "-")) continue;
        const std::vector<std::string> words = absl::StrSplit(part, ' ');
        flags.insert(words[0]);
      }
    }
    return flags;
  }

  // Of a verb, or with `global` those that all verbs have.
  static std::set<std::string> FlagsOf(const CLI::App& app, bool global) {
    std::set<std::string> flags;
    for (const CLI::Option* option : app.get_options()) {
      const bool is_global = option->get_group() == "Global options" ||
                             option == app.get_help_ptr() ||
                             option == app.get_version_ptr();
      if (is_global != global) continue;
      for (const std::string& name : option->get_snames()) {
        flags.insert(absl::StrCat("-", name));
      }
      for (const std::string& name : option->get_lnames()) {
        flags.insert(absl::StrCat("--", name));
      }
    }
    return flags;
  }

  TestEnvironment env_;
  CommandLine command_line_;
  std::string page_;
};

TEST_F(DocumentationTest, HasASectionForEachVerb) {
  ASSERT_NE(page_, "");
  ASSERT_EQ(Verbs().size(), 20);
  for (const CLI::App* verb : Verbs()) {
    EXPECT_NE(SectionOf(verb->get_name()), "") << verb->get_name();
  }
}

TEST_F(DocumentationTest, HasEachFlagOfEachVerbAndNoOther) {
  for (const CLI::App* verb : Verbs()) {
    EXPECT_THAT(FlagsIn(SectionOf(verb->get_name())),
                UnorderedElementsAreArray(FlagsOf(*verb, /*global=*/false)))
        << verb->get_name();
  }
}

TEST_F(DocumentationTest, HasTheGlobalFlags) {
  const std::vector<std::string> sections = absl::StrSplit(page_, "\n## ");
  const std::set<std::string> documented = FlagsIn(sections[1]);
  EXPECT_THAT(documented, UnorderedElementsAreArray(
                              FlagsOf(command_line_.app(), /*global=*/true)));
  for (const CLI::App* verb : Verbs()) {
    EXPECT_EQ(FlagsOf(*verb, /*global=*/true), documented) << verb->get_name();
  }
}

TEST_F(DocumentationTest, HasTheChoicesOfEachFlag) {
  for (const CLI::App* verb : Verbs()) {
    for (const CLI::Option* option : verb->get_options()) {
      const std::vector<std::string> choices = ChoicesOf(*option);
      if (choices.empty()) continue;
      const bool argument = option->get_lnames().empty();
      EXPECT_THAT(page_,
                  HasSubstr(absl::StrJoin(choices, argument ? "|" : "\\|")))
          << verb->get_name() << " " << option->get_name();
    }
  }
}

TEST_F(DocumentationTest, EveryVerbHasExamplesInItsHelp) {
  for (const CLI::App* verb : Verbs()) {
    EXPECT_EQ(env_.Run(MakeVerbs(), {verb->get_name(), "--help"}), 0);
    EXPECT_THAT(env_.out(), HasSubstr("Examples:\n  ")) << verb->get_name();
    EXPECT_THAT(env_.out(),
                HasSubstr(absl::StrCat("seraphctl ", verb->get_name())));
    for (const absl::string_view line : absl::StrSplit(env_.out(), '\n')) {
      EXPECT_LE(line.size(), 160) << line;
    }
  }
}

}  // namespace
}  // namespace seraph
