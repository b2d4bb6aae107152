#include "common/config/problems.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;

TEST(ProblemsTest, NoneIsOk) {
  EXPECT_TRUE(Problems().empty());
  EXPECT_THAT(Problems().ToStatus(), IsOk());
}

TEST(ProblemsTest, AreInTheFilesOrderAndOverridesComeLast) {
  Problems problems;
  problems.Add({"--set b", 0, 0}, "first override");
  problems.Add({"job.yaml", 10, 2}, "third");
  problems.Add({"job.yaml", 9, 7}, "second");
  problems.Add({"--set a", 0, 0}, "second override");
  problems.Add({"job.yaml", 9, 1}, "first");
  EXPECT_THAT(problems.ToStatus(), StatusIs(absl::StatusCode::kInvalidArgument,
                                            "job.yaml:9:1: first\n"
                                            "job.yaml:9:7: second\n"
                                            "job.yaml:10:2: third\n"
                                            "--set b: first override\n"
                                            "--set a: second override"));
}

TEST(ProblemsTest, AHundredAreEnough) {
  Problems problems;
  for (int line = 1; line <= 250; ++line) {
    problems.Add({"f", line, 1}, "wrong");
    EXPECT_EQ(problems.full(), line >= 100);
  }
  const std::vector<std::string> lines =
      absl::StrSplit(std::string(problems.ToStatus().message()), '\n');
  ASSERT_EQ(lines.size(), 101);
  EXPECT_EQ(lines[99], "f:100:1: wrong");
  EXPECT_EQ(lines[100], "... and 150 more");
}

TEST(QuotedTest, EscapesAndCuts) {
  EXPECT_EQ(Quoted("plain"), "'plain'");
  EXPECT_EQ(Quoted("a\nb\tc\x1b"), "'a\\nb\\tc\\033'");
  EXPECT_EQ(Quoted("\"x\\y'z\""), "'\"x\\y'z\"'");
  EXPECT_EQ(Quoted("caf\xc3\xa9"), "'caf\xc3\xa9'");
  EXPECT_EQ(Quoted(std::string(60, 'x')),
            absl::StrCat("'", std::string(60, 'x'), "'"));
  EXPECT_EQ(Quoted(std::string(61, 'x')),
            absl::StrCat("'", std::string(60, 'x'), "...'"));
  // 59 bytes and a character of two: it is left out whole.
  EXPECT_EQ(Quoted(absl::StrCat(std::string(59, 'x'), "\xc3\xa9z")),
            absl::StrCat("'", std::string(59, 'x'), "...'"));
}

}  // namespace
}  // namespace seraph
