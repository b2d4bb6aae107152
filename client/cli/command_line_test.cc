#include "client/cli/command_line.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/exit_code.h"
#include "client/cli/completion.h"
#include "client/cli/flags.h"
#include "client/cli/output.h"
#include "client/cli/test_environment.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::TestEnvironment;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// What "paint" was called with.
struct Call {
  std::string wall;
  std::vector<std::string> sets;
  std::string colour = "white";
  int coats = 1;
  bool dry = false;
  GlobalOptions options;
};

// A verb with one of each kind of flag.
class PaintVerb final : public Verb {
 public:
  PaintVerb(Call* call, absl::Status result)
      : call_(*call), result_(std::move(result)) {}

  std::string name() const override { return "paint"; }
  std::string summary() const override { return "Paints a wall."; }
  std::string examples() const override { return "  seraphctl paint x\n"; }
  void Define(CLI::App* app) override {
    AddArgument(app, "WALL", &call_.wall, "The wall.");
    AddValues(app, "--set", "PATH=VALUE", &call_.sets, "Settings.");
    AddChoice(app, "--colour", {"white", "red"}, &call_.colour, "Of the wall.");
    AddNumber(app, "--coats", 1, 9, &call_.coats, "How many.");
    AddSwitch(app, "-d,--dry", &call_.dry, "Nothing but words.");
  }
  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    call_.options = options;
    return result_;
  }

 private:
  Call& call_;
  const absl::Status result_;
};

class CommandLineTest : public ::testing::Test {
 protected:
  int Run(std::vector<std::string> arguments,
          absl::Status result = absl::OkStatus()) {
    call_ = Call();
    std::vector<std::unique_ptr<Verb>> verbs;
    verbs.push_back(std::make_unique<PaintVerb>(&call_, std::move(result)));
    return env_.Run(std::move(verbs), std::move(arguments));
  }

  TestEnvironment env_;
  Call call_;
};

TEST_F(CommandLineTest, FlagsMayComeBeforeAndAfterTheArguments) {
  EXPECT_EQ(Run({"paint", "--set", "a=1", "wall", "--set=b=[1, 2]", "-d",
                 "--colour", "red", "--coats=3", "-o", "json"}),
            0);
  EXPECT_EQ(call_.wall, "wall");
  EXPECT_THAT(call_.sets, ElementsAre("a=1", "b=[1, 2]"));
  EXPECT_EQ(call_.colour, "red");
  EXPECT_EQ(call_.coats, 3);
  EXPECT_TRUE(call_.dry);
  EXPECT_EQ(call_.options.output, OutputFormat::kJson);
  EXPECT_EQ(env_.out(), "");
  EXPECT_EQ(env_.err(), "");
}

TEST_F(CommandLineTest, GlobalFlagsMayComeBeforeTheVerb) {
  EXPECT_EQ(Run({"-o", "yaml", "--scheduler", "h:1", "--timeout", "250ms",
                 "paint", "x"}),
            0);
  EXPECT_EQ(call_.options.output, OutputFormat::kYaml);
  EXPECT_EQ(call_.options.scheduler, "h:1");
  EXPECT_EQ(call_.options.timeout, absl::Milliseconds(250));
}

TEST_F(CommandLineTest, TheFlagComesBeforeTheVariableBeforeTheDefault) {
  EXPECT_EQ(Run({"paint", "x"}), 0);
  EXPECT_EQ(call_.options.scheduler, "127.0.0.1:7400");
  EXPECT_EQ(call_.options.output, OutputFormat::kTable);
  env_.env.variables = {"SERAPH_SCHEDULER=h:2"};
  EXPECT_EQ(Run({"paint", "x"}), 0);
  EXPECT_EQ(call_.options.scheduler, "h:2");
  EXPECT_FALSE(call_.options.scheduler_given);
  EXPECT_EQ(Run({"paint", "x", "--scheduler", "h:3"}), 0);
  EXPECT_EQ(call_.options.scheduler, "h:3");
  EXPECT_TRUE(call_.options.scheduler_given);
  EXPECT_EQ(Run({"--scheduler", "h:4", "paint", "x"}), 0);
  EXPECT_TRUE(call_.options.scheduler_given);
}

TEST_F(CommandLineTest, WrongUsageIsExplainedAndIsTwo) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"paint"}, "seraphctl paint: WALL is required"},
      {{"paint", "x", "y"}, "not expected: y"},
      {{"paint", "x", "--nope"}, "not expected: --nope"},
      {{"paint", "x", "--colour", "blue"}, "'blue' is not one of white|red"},
      {{"paint", "x", "--coats", "10"}, "--coats"},
      {{"paint", "x", "--coats", "many"}, "--coats"},
      {{"paint", "x", "--set"}, "--set"},
      {{"paint", "x", "-o", "xml"}, "'xml' is not one of table|json|yaml"},
      {{"paint", "x", "--timeout", "5"}, "'5' is no time"},
      {{"paint", "x", "--timeout", "-1s"}, "'-1s' is no time"},
      {{"pain", "x"}, "there is no verb 'pain' (did you mean 'paint'?)"},
      {{"zzz"}, "there is no verb 'zzz'\n"},
      {{"--nope"}, "not expected: --nope"},
  };
  for (const auto& [arguments, want] : cases) {
    EXPECT_EQ(Run(arguments), 2) << absl::StrJoin(arguments, " ");
    EXPECT_THAT(env_.err(), AllOf(StartsWith("seraphctl"), HasSubstr(want),
                                  HasSubstr("--help' shows how to use it")));
    EXPECT_EQ(env_.out(), "");
  }
}

TEST_F(CommandLineTest, WithoutAVerbHelpIsAnError) {
  EXPECT_EQ(Run({}), 2);
  EXPECT_EQ(env_.out(), "");
  EXPECT_THAT(env_.err(), HasSubstr("Usage: seraphctl"));
}

TEST_F(CommandLineTest, HelpAndVersionAreResults) {
  EXPECT_EQ(Run({"--help"}), 0);
  EXPECT_THAT(env_.out(), AllOf(HasSubstr("Usage: seraphctl [OPTIONS] [VERB]"),
                                HasSubstr("paint"), HasSubstr("Paints a wall."),
                                HasSubstr("Examples:")));
  EXPECT_EQ(Run({"paint", "--help"}), 0);
  EXPECT_THAT(env_.out(), AllOf(HasSubstr("Usage: seraphctl paint"),
                                HasSubstr("--colour white|red"),
                                HasSubstr("-o,--output table|json|yaml"),
                                HasSubstr("Examples:\n  seraphctl paint x")));
  EXPECT_EQ(Run({"paint", "--version"}), 0);
  EXPECT_EQ(env_.out(), "seraphctl 0.1.0\n");
  EXPECT_EQ(env_.err(), "");
}

TEST_F(CommandLineTest, ErrorsOfVerbsGoToStandardErrorWithTheirCode) {
  EXPECT_EQ(Run({"paint", "x"}, InputError(absl::NotFoundError("no x"))), 2);
  EXPECT_EQ(env_.err(), "seraphctl: no x\n");
  EXPECT_EQ(Run({"paint", "x"}, CallError(absl::UnavailableError("away"))), 3);
  EXPECT_EQ(Run({"paint", "x"}, absl::InternalError("bad")), 1);
  EXPECT_EQ(Run({"paint", "x"}, CallError(absl::CancelledError("CANCELLED"))),
            130);
  EXPECT_EQ(env_.err(), "seraphctl: interrupted\n");
  EXPECT_EQ(Run({"paint", "x"}, Reported(ExitCode::kInterrupted)), 130);
  EXPECT_EQ(env_.err(), "");
}

TEST(PrintResultTest, StandardOutputThatCannotBeWrittenIsAFailure) {
  std::ostringstream out;
  Environment env;
  env.out = &out;
  EXPECT_TRUE(PrintResult({}, env, {}, "x").ok());
  out.setstate(std::ios::badbit);
  const absl::Status status = PrintResult({}, env, {}, "x");
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kFailed);
  EXPECT_THAT(std::string(status.message()), HasSubstr("standard output"));
}

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() {
    std::vector<std::unique_ptr<Verb>> verbs;
    verbs.push_back(std::make_unique<PaintVerb>(&call_, absl::OkStatus()));
    command_line_ = std::make_unique<CommandLine>(std::move(verbs), &env_.env);
  }

  std::string Script(Shell shell) {
    return CompletionScript(command_line_->app(), shell);
  }

  Call call_;
  TestEnvironment env_;
  std::unique_ptr<CommandLine> command_line_;
};

// The words that bash offers for a line whose last word is being typed.
std::string Complete(const std::string& script,
                     const std::vector<std::string>& words) {
  const std::string program =
      absl::StrCat(script, "COMP_WORDS=('", absl::StrJoin(words, "' '"),
                   "'); COMP_CWORD=", words.size() - 1,
                   "; _seraphctl; printf '%s ' \"${COMPREPLY[@]}\"");
  const std::string file = ::testing::TempDir() + "/seraphctl-completion.sh";
  FILE* const to = fopen(file.c_str(), "w");
  fwrite(program.data(), 1, program.size(), to);
  fclose(to);
  FILE* const from = popen(absl::StrCat("bash ", file).c_str(), "r");
  std::string result;
  char buffer[256];
  while (fgets(buffer, sizeof(buffer), from) != nullptr) result += buffer;
  pclose(from);
  remove(file.c_str());
  return result;
}

TEST_F(CompletionTest, BashOffersVerbsFlagsAndChoices) {
  const std::string script = Script(Shell::kBash);
  EXPECT_THAT(Complete(script, {"seraphctl", "p"}), "paint ");
  EXPECT_THAT(Complete(script, {"seraphctl", "--o"}), "--output ");
  EXPECT_THAT(Complete(script, {"seraphctl", "paint", "--co"}),
              "--colour --coats ");
  EXPECT_THAT(Complete(script, {"seraphctl", "paint", "--colour", ""}),
              "white red ");
  EXPECT_THAT(Complete(script, {"seraphctl", "paint", "-o", "j"}), "json ");
  EXPECT_THAT(Complete(script, {"seraphctl", "paint", "fil"}), " ");
}

TEST_F(CompletionTest, ZshAndFishKnowTheSame) {
  EXPECT_THAT(Script(Shell::kZsh),
              AllOf(StartsWith("#compdef seraphctl"),
                    HasSubstr("'paint:Paints a wall.'"),
                    HasSubstr("'*--colour[Of the wall.]:value:(white red)'")));
  EXPECT_THAT(
      Script(Shell::kFish),
      AllOf(HasSubstr("-f -a paint -d 'Paints a wall.'"),
            HasSubstr("'__fish_seen_subcommand_from paint' -l colour -x -a "
                      "'white red' -d 'Of the wall.'"),
            HasSubstr("-s d -l dry -d 'Nothing but words.'")));
}

}  // namespace
}  // namespace seraph
