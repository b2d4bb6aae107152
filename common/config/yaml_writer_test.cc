#include "common/config/yaml_writer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using Kind = YamlNode::Kind;

YamlNode Text(std::string text, bool quoted = true) {
  YamlNode node;
  node.kind = Kind::kScalar;
  node.text = std::move(text);
  node.quoted = quoted;
  return node;
}

YamlNode Map(std::vector<YamlEntry> entries) {
  YamlNode node;
  node.kind = Kind::kMap;
  node.entries = std::move(entries);
  return node;
}

std::string NoComment(absl::string_view) { return ""; }

TEST(YamlWriterTest, WritesBlocksWithComments) {
  YamlNode list;
  list.kind = Kind::kList;
  list.items = {Text("a"), Text("b c")};
  const YamlNode root =
      Map({{"name", {}, Text("x")},
           {"train",
            {},
            Map({{"epochs", {}, Text("3", false)}, {"files", {}, list}})},
           {"empty", {}, Map({})}});
  EXPECT_EQ(WriteYaml(root,
                      [](absl::string_view path) -> std::string {
                        return path == "train.epochs" ? "why" : "";
                      }),
            "name: x\n"
            "train:\n"
            "  epochs: 3  # why\n"
            "  files: [a, \"b c\"]\n"
            "empty: {}\n");
  EXPECT_EQ(WriteInline(root),
            "{name: x, train: {epochs: 3, files: [a, \"b c\"]}, empty: {}}");
  EXPECT_EQ(WriteInline(YamlNode{}), "null");
}

// Texts that look like something else, and characters of every kind.
std::string DrawText(uint64_t seed, uint64_t i) {
  static const std::vector<std::string> pieces = {"a",
                                                  "Z",
                                                  "7",
                                                  " ",
                                                  "-",
                                                  ".",
                                                  ":",
                                                  ": ",
                                                  " #",
                                                  "#",
                                                  "'",
                                                  "\"",
                                                  "\\",
                                                  "[",
                                                  "]",
                                                  "{",
                                                  "}",
                                                  ",",
                                                  "&",
                                                  "*",
                                                  "!",
                                                  "%",
                                                  "@",
                                                  "`",
                                                  "|",
                                                  ">",
                                                  "?",
                                                  "~",
                                                  "\t",
                                                  "null",
                                                  "---",
                                                  "...",
                                                  "true",
                                                  "no",
                                                  "0x1",
                                                  "1e3",
                                                  "\xc3\xa9",
                                                  "\xe2\x80\xa8",
                                                  "\xf0\x9f\x98\x80",
                                                  "\xc2\x85",
                                                  "\xef\xbb\xbf"};
  std::string text;
  const uint64_t length = ToBelow(Draw(seed, {i, 0}), 8);
  for (uint64_t j = 0; j < length; ++j) {
    text += pieces[ToBelow(Draw(seed, {i, 1, j}), pieces.size())];
  }
  return text;
}

TEST(YamlWriterTest, AnyTextReadsBack) {
  constexpr uint64_t kSeed = 1;
  int quoted = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    const std::string text = DrawText(kSeed, i);
    YamlNode list;
    list.kind = Kind::kList;
    list.items = {Text(text), Text("next")};
    const std::string yaml = WriteYaml(
        Map({{"text", {}, Text(text)}, {"list", {}, list}}), NoComment);
    quoted += absl::StrCat("\"", text, "\"") == WriteInline(Text(text));
    Problems problems;
    const auto back = ParseYaml(yaml, "f", true, &problems);
    ASSERT_THAT(problems.ToStatus(), testing::IsOk())
        << yaml << " seed " << kSeed << " draw " << i;
    ASSERT_EQ(back->Find("text")->value.kind, Kind::kScalar) << yaml;
    ASSERT_EQ(back->Find("text")->value.text, text) << yaml;
    ASSERT_EQ(back->Find("list")->value.items.size(), 2) << yaml;
    ASSERT_EQ(back->Find("list")->value.items[0].text, text) << yaml;
  }
  EXPECT_GT(quoted, 1000) << "texts that need quotes were hardly drawn";
}

}  // namespace
}  // namespace seraph
