#include "common/config/yaml_tree.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::testing::HasSubstr;
using Kind = YamlNode::Kind;

YamlNode Parse(const std::string& text) {
  Problems problems;
  std::optional<YamlNode> root = ParseYaml(text, "f", true, &problems);
  EXPECT_THAT(problems.ToStatus(), IsOk());
  return root.value_or(YamlNode{});
}

std::string Complaints(const std::string& text) {
  Problems problems;
  ParseYaml(text, "f", true, &problems);
  return std::string(problems.ToStatus().message());
}

TEST(YamlTreeTest, KnowsWhereKeysAndValuesStand) {
  const YamlNode root = Parse(
      "a: 1\n"
      "b:\n"
      "  c: [x, \"y\"]\n"
      "  d: {e: f}\n");
  ASSERT_EQ(root.kind, Kind::kMap);
  ASSERT_EQ(root.entries.size(), 2);
  EXPECT_EQ(root.entries[0].key, "a");
  EXPECT_EQ(ToString(root.entries[0].place), "f:1:1");
  EXPECT_EQ(root.entries[0].value.text, "1");
  EXPECT_EQ(ToString(root.entries[0].value.place), "f:1:4");

  const YamlNode& b = root.Find("b")->value;
  EXPECT_EQ(ToString(b.place), "f:3:3");
  const YamlNode& list = b.Find("c")->value;
  ASSERT_EQ(list.kind, Kind::kList);
  ASSERT_EQ(list.items.size(), 2);
  EXPECT_FALSE(list.items[0].quoted);
  EXPECT_TRUE(list.items[1].quoted);
  EXPECT_EQ(ToString(list.items[1].place), "f:3:10");
  EXPECT_EQ(b.Find("d")->value.Find("e")->value.text, "f");
  EXPECT_EQ(b.Find("x"), nullptr);
  EXPECT_EQ(list.Find("x"), nullptr);
}

TEST(YamlTreeTest, ANullStandsAtItsKey) {
  const YamlNode root = Parse("a:\nb: ~\nc: null\nd: 'null'\n");
  for (const char* key : {"a", "b", "c"}) {
    const YamlEntry* entry = root.Find(key);
    EXPECT_EQ(entry->value.kind, Kind::kNull) << key;
    EXPECT_EQ(entry->value.place, entry->place) << key;
  }
  EXPECT_EQ(root.Find("d")->value.kind, Kind::kScalar);
}

TEST(YamlTreeTest, TakesWindowsLinesAndAByteOrderMark) {
  const YamlNode root = Parse(
      "\xef\xbb\xbf"
      "a: 1\r\nb: 2\r\n");
  EXPECT_EQ(root.Find("a")->value.text, "1");
  EXPECT_EQ(root.Find("b")->value.text, "2");
  EXPECT_EQ(ToString(root.Find("b")->place), "f:2:1");
}

TEST(YamlTreeTest, TextWithoutAValueIsNull) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~"}) {
    const YamlNode root = Parse(text);
    EXPECT_EQ(root.kind, Kind::kNull) << text;
    EXPECT_EQ(ToString(root.place), "f:1:1") << text;
  }
}

TEST(YamlTreeTest, AnOverridesPlaceIsItsName) {
  Problems problems;
  const auto node = ParseYaml("{a: [1]}", "--set x", false, &problems);
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(ToString(node->Find("a")->value.items[0].place), "--set x");
  ParseYaml("[", "--set x", false, &problems);
  EXPECT_THAT(std::string(problems.ToStatus().message()),
              ::testing::StartsWith("--set x: not valid YAML: "));
}

struct Bad {
  std::string name;
  std::string text;
  std::string want;
};

class YamlTreeRefuses : public ::testing::TestWithParam<Bad> {};

TEST_P(YamlTreeRefuses, WithThePlace) {
  EXPECT_EQ(Complaints(GetParam().text), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, YamlTreeRefuses,
    ::testing::Values(
        Bad{"DuplicateKey", "a: 1\nb: {c: 1, c: 2}\na: 3\n",
            "f:2:11: key 'c' a second time, first at f:2:5\n"
            "f:3:1: key 'a' a second time, first at f:1:1"},
        Bad{"SecondDocument", "a: 1\n---\nb: 2\n",
            "f:2:1: a second YAML document begins here"},
        Bad{"Directive", "%YAML 1.2\n---\na: 1\n",
            "f:1:1: YAML directives (%) are not used here"},
        Bad{"AnchorAndAlias", "a: &x 1\nb: *x\n",
            "f:1:4: YAML anchors (&) are not used here\n"
            "f:2:4: YAML aliases (*) are not used here: write the value out"},
        Bad{"UnknownAlias", "a: *x\n",
            "f:1:4: not valid YAML: the referenced anchor is not defined"},
        Bad{"Tag", "a: !!int 5\nb: !x [1]\n",
            "f:1:4: YAML tags (!) are not used here\n"
            "f:2:4: YAML tags (!) are not used here"},
        Bad{"ListAsKey", "? [a]\n: 1\n",
            "f:1:3: a key must be plain text, not a list"},
        Bad{"NullAsKey", "~: 1\n",
            "f:1:1: a key must be plain text, not nothing"},
        Bad{"TabInTheIndentation", "a:\n  b: 1\n \tc: 2\n",
            "f:3:2: a tab in the indentation: YAML wants spaces"},
        Bad{"OpenList", "a: [1,\nb: 2\n",
            "f:3:1: not valid YAML: end of sequence flow not found"},
        Bad{"OpenDoubleQuote", "a: \"x\nb: 2\n",
            "f:1:4: this quote is never closed"},
        Bad{"OpenSingleQuote", "a: 'it''s\n",
            "f:1:4: this quote is never closed"},
        Bad{"TwoColons", "a: b: c\n",
            "f:1:5: not valid YAML: illegal map value"},
        Bad{"NulByte", std::string("a: 1\nb\0", 7),
            "f:2:2: not a text file: a control character"},
        Bad{"Escape", "a: \x1b[31m",
            "f:1:4: not a text file: a control character"},
        Bad{"LoneCarriageReturn", "a: 1\rb: 2\r",
            "f:1:5: a carriage return that ends no line"},
        Bad{"Latin1", "a: caf\xe9\n",
            "f:1:7: not a text file: the bytes are not UTF-8"},
        Bad{"OverlongUtf8", "a: \xc0\xaf",
            "f:1:4: not a text file: the bytes are not UTF-8"},
        Bad{"Surrogate", "a: \xed\xa0\x80",
            "f:1:4: not a text file: the bytes are not UTF-8"},
        Bad{"CutUtf8", "a: \xe2\x82",
            "f:1:4: not a text file: the bytes are not UTF-8"},
        Bad{"Utf16",
            std::string("\xff\xfe"
                        "a\0",
                        4),
            "f:1:1: not a text file: the bytes are not UTF-8"}),
    [](const auto& info) { return info.param.name; });

TEST(YamlTreeTest, QuotesThatCloseAreFine) {
  Parse("a: \"x\\\"y\"\nb: 'it''s'\nc: |\n  \"open\nd: \"two\n  lines\"\n");
}

TEST(YamlTreeTest, RefusesTooMuch) {
  EXPECT_EQ(Complaints(std::string(kMaxYamlBytes + 1, '#')),
            "f: larger than 1 MiB");
  EXPECT_EQ(Complaints(std::string(kMaxYamlBytes, '#')), "");

  std::string wide = "a: [";
  for (int i = 0; i < 100'000; ++i) absl::StrAppend(&wide, "1,");
  EXPECT_THAT(Complaints(absl::StrCat(wide, "1]")),
              HasSubstr("more than 100000 values"));

  const auto nested = [](int levels) {
    return absl::StrCat(std::string(levels, '['), std::string(levels, ']'));
  };
  EXPECT_EQ(Complaints(nested(32)), "");
  EXPECT_EQ(Complaints(nested(33)),
            "f:1:33: more than 32 lists and maps inside one another");
}

TEST(YamlTreeTest, DeepAndWideJunkEndsWithAnError) {
  for (const char* piece : {"[",     "{",  "- ", "? ",  "a: ",   "&a ",  "!",
                            "*",     "\"", "'",  "|\n", "---\n", "{a: ", "[[",
                            "a:\n ", ": ", ",",  "}",   "]",     "...\n"}) {
    std::string text;
    while (text.size() < 200'000) text += piece;
    Problems problems;
    const auto root = ParseYaml(text, "f", true, &problems);
    EXPECT_TRUE(!problems.empty() || root->kind != Kind::kMap) << piece;
  }
}

TEST(YamlTreeTest, AnchorsAreNeverMultipliedOut) {
  // 3^20 values if anyone expanded them.
  std::string bomb = "a0: &a0 [x, x, x]\n";
  for (int i = 1; i <= 20; ++i) {
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [*a", i - 1, ", *a", i - 1,
                    ", *a", i - 1, "]\n");
  }
  EXPECT_THAT(Complaints(bomb), HasSubstr("aliases (*) are not used here"));
}

}  // namespace
}  // namespace seraph
