#include "common/daemon/daemon_flags.h"

#include <string>
#include <vector>

#include "common/version/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ParsedFlags Parse(std::vector<std::string> arguments,
                  const std::string& section = "server") {
  std::vector<const char*> argv = {"ignored"};
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
  }
  return ParseDaemonFlags(static_cast<int>(argv.size()), argv.data(),
                          {.name = "seraph-" + section,
                           .section = section,
                           .summary = "Serves rows."});
}

TEST(DaemonFlagsTest, WithoutFlagsEverythingIsOff) {
  const ParsedFlags parsed = Parse({});
  ASSERT_TRUE(parsed.flags.has_value());
  EXPECT_EQ(parsed.flags->config, "");
  EXPECT_THAT(parsed.flags->sets, IsEmpty());
  EXPECT_FALSE(parsed.flags->check);
  EXPECT_EQ(parsed.flags->ready_file, "");
  EXPECT_EQ(parsed.flags->parent, 0);
}

TEST(DaemonFlagsTest, NamedFlagsAreSetsAndComeLast) {
  const ParsedFlags parsed =
      Parse({"--listen", "0.0.0.0:0", "--set", "log.level=debug", "--config",
             "c.yaml", "--scheduler=s:7400", "--set", "log.file=a b",
             "--ready-file", "r", "--exit-with-parent", "12", "--check"});
  ASSERT_TRUE(parsed.flags.has_value()) << parsed.text;
  EXPECT_EQ(parsed.flags->config, "c.yaml");
  EXPECT_THAT(parsed.flags->sets, ElementsAre("log.level=debug", "log.file=a b",
                                              "server.listen=0.0.0.0:0",
                                              "cluster.scheduler=s:7400"));
  EXPECT_TRUE(parsed.flags->check);
  EXPECT_EQ(parsed.flags->ready_file, "r");
  EXPECT_EQ(parsed.flags->parent, 12);
}

TEST(DaemonFlagsTest, HelpHasExamplesAndExitCodes) {
  const ParsedFlags parsed = Parse({"--help"});
  EXPECT_FALSE(parsed.flags.has_value());
  EXPECT_EQ(parsed.exit_code, 0);
  EXPECT_THAT(parsed.text,
              AllOf(HasSubstr("Serves rows."), HasSubstr("--ready-file"),
                    HasSubstr("seraph-server --config cluster.yaml --check"),
                    HasSubstr("Exit codes")));
}

TEST(DaemonFlagsTest, VersionNamesTheProgram) {
  const ParsedFlags parsed = Parse({"--version"});
  EXPECT_FALSE(parsed.flags.has_value());
  EXPECT_EQ(parsed.exit_code, 0);
  EXPECT_EQ(parsed.text, std::string("seraph-server ") + kVersion + "\n");
}

TEST(DaemonFlagsTest, WrongUsageIsTwo) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--lisen", "a:1"},
                                             {"--config"},
                                             {"--set"},
                                             {"stray"},
                                             {"--set", "a.b=1", "stray"},
                                             {"--exit-with-parent", "x"},
                                             {"--exit-with-parent", "0"},
                                             {"--exit-with-parent", "-1"}}) {
    const ParsedFlags parsed = Parse(arguments);
    EXPECT_FALSE(parsed.flags.has_value()) << arguments[0];
    EXPECT_EQ(parsed.exit_code, 2) << arguments[0];
    EXPECT_THAT(parsed.text, Not(IsEmpty())) << arguments[0];
  }
}

TEST(DaemonFlagsTest, TheSchedulerIsNotToldWhereTheSchedulerIs) {
  EXPECT_EQ(Parse({"--scheduler", "s:7400"}, "scheduler").exit_code, 2);
  EXPECT_THAT(Parse({"--listen", "s:7400"}, "scheduler").flags->sets,
              ElementsAre("scheduler.listen=s:7400"));
}

}  // namespace
}  // namespace seraph
