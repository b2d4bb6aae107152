#include "common/config/overrides.h"

#include <map>
#include <string>
#include <vector>

#include "common/config/yaml_writer.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;

YamlNode Parse(const std::string& text) {
  Problems problems;
  return *ParseYaml(text, "f", true, &problems);
}

// The tree in one line, and then the problems.
std::string After(const std::string& text,
                  const std::vector<std::string>& sets) {
  YamlNode root = Parse(text);
  Problems problems;
  for (const std::string& set : sets) ApplySet(set, &root, &problems);
  std::string result = WriteInline(root);
  if (!problems.empty()) {
    result += " ";
    result += std::string(problems.ToStatus().message());
  }
  return result;
}

TEST(ApplySetTest, ReplacesAndAdds) {
  EXPECT_EQ(After("a: 1\nb: {c: 2}\n", {"a=3"}), "{a: 3, b: {c: 2}}");
  EXPECT_EQ(After("b: {c: 2}\n", {"b.d=3", "b.c=4"}), "{b: {c: 4, d: 3}}");
  EXPECT_EQ(After("", {"a.b.c=x"}), "{a: {b: {c: x}}}");
  EXPECT_EQ(After("a:\n", {"a.b=1"}), "{a: {b: 1}}");
  EXPECT_EQ(After("a: 1\n", {"a=2", "a=3"}), "{a: 3}") << "the later wins";
}

TEST(ApplySetTest, TheValueIsYaml) {
  EXPECT_EQ(After("", {"a=[x, y]"}), "{a: [x, y]}");
  EXPECT_EQ(After("", {"a={b: 1, c: d}"}), "{a: {b: 1, c: d}}");
  EXPECT_EQ(After("", {"a=x=y"}), "{a: x=y}");
  EXPECT_EQ(After("", {"a=127.0.0.1:0"}), "{a: 127.0.0.1:0}");
  EXPECT_EQ(After("a: 1", {"a="}), "{a: null}");
}

TEST(ApplySetTest, MarksItsNodesWithItsName) {
  YamlNode root = Parse("a: {b: 1}\n");
  Problems problems;
  ApplySet("a.b=2", &root, &problems);
  ApplySet("a.c=[3]", &root, &problems);
  const YamlNode& a = root.Find("a")->value;
  EXPECT_EQ(ToString(a.Find("b")->value.place), "--set a.b");
  EXPECT_EQ(ToString(a.Find("c")->place), "--set a.c");
  EXPECT_EQ(ToString(a.Find("c")->value.items[0].place), "--set a.c");
  EXPECT_THAT(problems.ToStatus(), IsOk());
}

TEST(ApplySetTest, ABadOneLeavesTheTree) {
  EXPECT_EQ(After("a: 1", {"a"}), "{a: 1} --set a: expected path=value");
  EXPECT_EQ(After("a: 1", {""}), "{a: 1} --set : expected path=value");
  EXPECT_EQ(After("a: 1", {"=2"}), "{a: 1} --set : an empty name in the path");
  EXPECT_EQ(After("a: 1", {"b..c=2"}),
            "{a: 1} --set b..c: an empty name in the path");
  EXPECT_EQ(After("a: 1", {"b.=2"}),
            "{a: 1} --set b.: an empty name in the path");
  EXPECT_EQ(After("a: 1", {"a.b=2"}),
            "{a: 1} --set a.b: 'a' is '1' and has no keys");
  EXPECT_EQ(After("a: [1]", {"a.b=2"}),
            "{a: [1]} --set a.b: 'a' is a list and has no keys");
  EXPECT_EQ(After("a: 1", {"b=[1"}),
            "{a: 1} --set b: not valid YAML: end of sequence flow not found");
  EXPECT_EQ(After("a: 1", {"b={c: 1, c: 2}"}),
            "{a: 1, b: {c: 1, c: 2}} --set b: key 'c' a second time, first at "
            "--set b");
}

TEST(ApplyEnvironmentTest, TakesNamesWithTwoUnderscores) {
  YamlNode root = Parse("log: {level: info}\n");
  Problems problems;
  ApplyEnvironment({{"SERAPH_LOG__LEVEL", "debug"},
                    {"SERAPH_SERVER__MEMORY_LIMIT", "1GiB"},
                    {"SERAPH_SCHEDULER", "host:1"},       // The client's.
                    {"SERAPH_SERVER_PORT", "tcp://x:1"},  // Kubernetes'.
                    {"OTHER_LOG__LEVEL", "error"},
                    {"HOME", "/"}},
                   &root, &problems);
  EXPECT_THAT(problems.ToStatus(), IsOk());
  EXPECT_EQ(WriteInline(root),
            "{log: {level: debug}, server: {memory_limit: 1GiB}}");
  EXPECT_EQ(ToString(root.Find("log")->value.Find("level")->value.place),
            "SERAPH_LOG__LEVEL");
}

TEST(ApplyEnvironmentTest, ComplainsUnderTheVariablesName) {
  YamlNode root = Parse("log: text\n");
  Problems problems;
  ApplyEnvironment({{"SERAPH_LOG__LEVEL", "x"}, {"SERAPH_A____B", "x"}}, &root,
                   &problems);
  EXPECT_EQ(problems.ToStatus().message(),
            "SERAPH_A____B: an empty name in the path\n"
            "SERAPH_LOG__LEVEL: 'log' is 'text' and has no keys");
}

}  // namespace
}  // namespace seraph
