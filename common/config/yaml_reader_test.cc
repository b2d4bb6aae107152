#include "common/config/yaml_reader.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config/overrides.h"
#include "common/config/yaml_writer.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::Pair;

enum class Color { kRed, kGreen };
constexpr std::pair<Color, absl::string_view> kColors[] = {
    {Color::kRed, "red"}, {Color::kGreen, "green"}};
constexpr absl::string_view kPlannedColors[] = {"blue"};

struct Extra {
  uint32_t level = 2;
  friend bool operator==(const Extra&, const Extra&) = default;
};

// A key of every type.
struct Example {
  bool flag = false;
  uint32_t count = 3;
  uint64_t big = 4;
  double rate = 0.5;
  std::string text = "x";
  std::vector<std::string> list = {"a"};
  absl::Duration wait = absl::Seconds(1);
  uint64_t size = 1024;
  uint64_t block_bytes = 0;
  Color color = Color::kRed;
  std::optional<uint32_t> maybe;
  double only_green = 1;
  std::optional<Extra> extra;
  std::string needed;
  friend bool operator==(const Example&, const Example&) = default;
};

void Visit(Section& root, Example* e) {
  root.Key("flag", "A flag.").Bind(&e->flag);
  root.Map("numbers", "Numbers.", [&](Section& s) {
    s.Key("count", "A count.").Between(1, 10).Bind(&e->count);
    s.Key("big", "Any.").Bind(&e->big);
    s.Key("rate", "A rate.").AtLeast(0).Below(1).Bind(&e->rate);
    s.Key("wait", "A wait.").Between(0.5, 60).Bind(&e->wait);
    s.Key("size", "A size.").AtLeast(1024).BindSize(&e->size);
    s.Key("block_bytes", "Bytes.").BindBytes(&e->block_bytes);
    s.Key("maybe", "Perhaps.").DefaultText("none").Bind(&e->maybe);
  });
  root.Key("text", "A text.").NotEmpty().Bind(&e->text);
  root.Key("list", "A list.").NotEmpty().Bind(&e->list);
  root.Key("color", "A color.")
      .Planned(kPlannedColors)
      .BindChoice<Color>(&e->color, kColors);
  root.Key("only_green", "Of green.")
      .Above(0)
      .OnlyIf(root.Failed("color") || e->color == Color::kGreen, "red")
      .Bind(&e->only_green);
  root.OptionalMap<Extra>("extra", "Extra.", &e->extra,
                          [](Section& s, Extra* extra) {
                            s.Key("level", "Level.").Bind(&extra->level);
                          });
  root.Key("needed", "Needed.").Required().Bind(&e->needed);
}

std::vector<KeyInfo> Describe() {
  Example example;
  return DescribeConfig([&](Section& s) { Visit(s, &example); });
}

struct Result {
  Example example;
  std::map<std::string, std::string> origins;
  std::string problems;
};

Result Read(const std::string& text,
            const std::vector<std::string>& sets = {}) {
  Result result;
  Problems problems;
  YamlNode root = *ParseYaml(text, "f", true, &problems);
  for (const std::string& set : sets) ApplySet(set, &root, &problems);
  ReadConfig(
      root, Describe(), [&](Section& s) { Visit(s, &result.example); },
      &problems, &result.origins);
  result.problems = std::string(problems.ToStatus().message());
  return result;
}

std::string Write(Example example) {
  const YamlNode root = WriteConfig([&](Section& s) { Visit(s, &example); });
  return WriteYaml(root, [](absl::string_view) { return std::string(); });
}

TEST(YamlReaderTest, ReadsEveryTypeAndSaysFromWhere) {
  const Result result = Read(
      "flag: true\n"
      "numbers: {count: 7, big: 18446744073709551615, rate: 1e-3,\n"
      "  wait: 59.5s, size: 64MiB, block_bytes: 4096, maybe: 5}\n"
      "text: 12\n"
      "list: [a, '']\n"
      "color: green\n"
      "only_green: 2\n"
      "extra: {level: 9}\n"
      "needed: \"yes\"\n");
  EXPECT_EQ(result.problems, "");
  Example want;
  want.flag = true;
  want.count = 7;
  want.big = 18446744073709551615u;
  want.rate = 1e-3;
  want.wait = absl::Milliseconds(59500);
  want.size = uint64_t{64} << 20;
  want.block_bytes = 4096;
  want.maybe = 5;
  want.text = "12";
  want.list = {"a", ""};
  want.color = Color::kGreen;
  want.only_green = 2;
  want.extra = Extra{9};
  want.needed = "yes";
  EXPECT_EQ(result.example, want);
  EXPECT_EQ(result.origins.at("numbers.rate"), "f:2:54");
  EXPECT_EQ(result.origins.at("list[1]"), "f:5:11");
  EXPECT_EQ(result.origins.count("numbers"), 0);
}

TEST(YamlReaderTest, WhatIsNotGivenKeepsItsDefault) {
  const Result result = Read("needed: x\nnumbers:\nextra: ~\n");
  EXPECT_EQ(result.problems, "");
  Example want;
  want.needed = "x";
  EXPECT_EQ(result.example, want);
  EXPECT_THAT(result.origins, ElementsAre(Pair("needed", "f:1:9")));
  // A map that means something by being there may be empty.
  EXPECT_EQ(Read("needed: x\nextra: {}\n").example.extra, Extra{});
}

TEST(YamlReaderTest, AnOverrideWithoutAValueTakesTheDefaultBack) {
  const Result result =
      Read("needed: x\ntext: y\nextra: {level: 1}\n", {"text=", "extra="});
  EXPECT_EQ(result.problems, "");
  EXPECT_EQ(result.example.text, "x");
  EXPECT_EQ(result.example.extra, std::nullopt);
  EXPECT_EQ(Read("needed: x\n", {"txt="}).problems,
            "--set txt: unknown key 'txt' (did you mean 'text'?)");
  EXPECT_EQ(Read("needed: x\n", {"needed="}).problems,
            "f:1:1: 'needed' is missing");
}

TEST(YamlReaderTest, WritesWhatReadsBack) {
  Example example;
  example.needed = "a: b # c";
  example.list = {"", "true", "12", "tab\there"};
  example.rate = 0.1 + 0.2;
  example.maybe = 0;
  EXPECT_EQ(Read(Write(example)).example, example);
  example.color = Color::kGreen;
  example.only_green = 5;
  example.extra = Extra{0};
  const Result back = Read(Write(example));
  EXPECT_EQ(back.problems, "");
  EXPECT_EQ(back.example, example);
}

TEST(YamlReaderTest, DescribesEveryKey) {
  std::map<std::string, std::string> lines;
  for (const KeyInfo& key : Describe()) {
    lines[key.path] = key.type + "|" + key.default_value + "|" + key.range +
                      (key.required ? "|required" : "");
  }
  EXPECT_EQ(lines.at("flag"), "true or false|false|");
  EXPECT_EQ(lines.at("numbers"), "section||");
  EXPECT_EQ(lines.at("numbers.count"), "whole number|3|1..10");
  EXPECT_EQ(lines.at("numbers.rate"), "number|0.5|[0, 1)");
  EXPECT_EQ(lines.at("numbers.wait"), "duration|1s|500ms..1m");
  EXPECT_EQ(lines.at("numbers.size"), "size|1KiB|>= 1KiB");
  EXPECT_EQ(lines.at("numbers.maybe"), "whole number|none|");
  EXPECT_EQ(lines.at("text"), "text|x|not empty");
  EXPECT_EQ(lines.at("list"), "list of text|[a]|not empty");
  EXPECT_EQ(lines.at("color"), "choice|red|red, green");
  EXPECT_EQ(lines.at("only_green"), "number|1|> 0");
  EXPECT_EQ(lines.at("extra.level"), "whole number|2|");
  EXPECT_EQ(lines.at("needed"), "text|||required");
  EXPECT_EQ(lines.size(), 16);
}

struct Bad {
  std::string name;
  std::string text;  // `needed` is given besides.
  std::string want;
};

class YamlReaderRefuses : public ::testing::TestWithParam<Bad> {};

TEST_P(YamlReaderRefuses, WithPlaceAndReason) {
  const Result result = Read("needed: x\n" + GetParam().text);
  EXPECT_EQ(result.problems, GetParam().want);
  Example want;
  want.needed = "x";
  want.color = result.example.color;
  EXPECT_EQ(result.example, want) << "a bad value must not get through";
}

INSTANTIATE_TEST_SUITE_P(
    Values, YamlReaderRefuses,
    ::testing::Values(
        Bad{"Bool", "flag: yes\n",
            "f:2:7: flag: expected true or false, got 'yes'"},
        Bad{"QuotedBool", "flag: 'true'\n",
            "f:2:7: flag: expected true or false, got the text 'true': remove "
            "the quotes"},
        Bad{"NoValue", "flag:\n",
            "f:2:1: flag: expected true or false, got nothing"},
        Bad{"TooSmall", "numbers: {count: 0}\n",
            "f:2:18: numbers.count: 0 is not in 1..10"},
        Bad{"TooLarge", "numbers: {count: 11}\n",
            "f:2:18: numbers.count: 11 is not in 1..10"},
        Bad{"Negative", "numbers: {big: -1}\n",
            "f:2:16: numbers.big: -1 is not >= 0"},
        Bad{"PastUint64", "numbers: {big: 18446744073709551616}\n",
            "f:2:16: numbers.big: 18446744073709551616 is too large"},
        Bad{"PastUint32", "numbers: {maybe: 4294967296}\n",
            "f:2:18: numbers.maybe: 4294967296 is too large"},
        Bad{"Fraction", "numbers: {count: 1.5}\n",
            "f:2:18: numbers.count: expected a whole number, got '1.5'"},
        Bad{"QuotedNumber", "numbers: {count: \"5\"}\n",
            "f:2:18: numbers.count: expected a whole number, got the text '5': "
            "remove the quotes"},
        Bad{"HalfOpen", "numbers: {rate: 1}\n",
            "f:2:17: numbers.rate: 1 is not in [0, 1)"},
        Bad{"Nan", "numbers: {rate: nan}\n",
            "f:2:17: numbers.rate: expected a finite number, got 'nan'"},
        Bad{"Infinite", "numbers: {rate: .inf}\n",
            "f:2:17: numbers.rate: expected a finite number, got '.inf'"},
        Bad{"PastDouble", "numbers: {rate: 1e999}\n",
            "f:2:17: numbers.rate: 1e999 is more than a double can hold"},
        Bad{"NotAbove", "color: green\nonly_green: 0\n",
            "f:3:13: only_green: 0 is not > 0"},
        Bad{"NoUnitOfTime", "numbers: {wait: 5}\n",
            "f:2:17: numbers.wait: expected a duration such as 500ms, 5s or "
            "2m, got '5': add a unit"},
        Bad{"TimeRange", "numbers: {wait: 61s}\n",
            "f:2:17: numbers.wait: 61s is not in 500ms..1m"},
        Bad{"NegativeTime", "numbers: {wait: -5s}\n",
            "f:2:17: numbers.wait: -5s is not in 500ms..1m"},
        Bad{"NoUnitOfSize", "numbers: {size: 2048}\n",
            "f:2:17: numbers.size: expected a size such as 64KiB, 512MiB or "
            "1GiB, got '2048': add a unit"},
        Bad{"SizeRange", "numbers: {size: 1000B}\n",
            "f:2:17: numbers.size: 1000B is not >= 1KiB"},
        Bad{"Bytes", "numbers: {block_bytes: 1.5}\n",
            "f:2:24: numbers.block_bytes: expected a size such as 64KiB, "
            "512MiB or 1GiB, got '1.5'"},
        Bad{"EmptyText", "text: ''\n", "f:2:7: text: must not be empty"},
        Bad{"ListForText", "text: [a]\n",
            "f:2:7: text: expected text, got a list"},
        Bad{"ControlCharacter", "text: \"a\\nb\"\n",
            "f:2:7: text: a control character in 'a\\nb'"},
        Bad{"TextForList", "list: a\n",
            "f:2:7: list: expected a list of text, got 'a': put it in "
            "brackets"},
        Bad{"MapForList", "list: {a: b}\n",
            "f:2:7: list: expected a list of text, got a map"},
        Bad{"EmptyList", "list: []\n", "f:2:7: list: must not be empty"},
        Bad{"BadItems", "list: [a, [b], ~, c]\n",
            "f:2:11: list[1]: expected text, got a list\n"
            "f:2:16: list[2]: expected text, got nothing: quote it if it is "
            "meant as text"},
        Bad{"Choice", "color: gren\n",
            "f:2:8: color: unknown value 'gren' (did you mean 'green'?); known "
            "are red, green"},
        Bad{"PlannedChoice", "color: blue\nonly_green: 1\n",
            "f:2:8: color: 'blue' is not in this version; it has red, green"},
        Bad{"MapForChoice", "color: {a: b}\n",
            "f:2:8: color: expected one of red, green, got a map"},
        Bad{"Unused", "only_green: 2\n", "f:2:13: only_green: not used by red"},
        Bad{"TextForMap", "numbers: 5\n",
            "f:2:10: numbers: expected a map, got '5'"},
        Bad{"ListForMap", "numbers:\n- count: 5\n",
            "f:3:1: numbers: expected a map, got a list"},
        Bad{"UnknownKey", "numbers:\n  cuont: 5\n",
            "f:3:3: unknown key 'cuont' in 'numbers' (did you mean 'count'?)"},
        Bad{"UnknownTopKey", "flagg: true\n",
            "f:2:1: unknown key 'flagg' (did you mean 'flag'?)"},
        Bad{"NothingNear", "zzz: 1\n", "f:2:1: unknown key 'zzz'"},
        Bad{"OfAnotherSection", "count: 1\nnumbers: {flag: true}\n",
            "f:2:1: unknown key 'count' (it belongs in 'numbers')\n"
            "f:3:11: unknown key 'flag' in 'numbers' (it belongs at the top)"},
        Bad{"MergeKey", "numbers:\n  <<: {count: 1}\n",
            "f:3:3: unknown key '<<' in 'numbers'"}),
    [](const auto& info) { return info.param.name; });

TEST(YamlReaderTest, ReportsAllProblemsAtOnceInTheFilesOrder) {
  EXPECT_EQ(Read("text: ''\nnumbers: {count: 0, x: 1}\nflag: 1\n").problems,
            "f:1:1: 'needed' is missing\n"
            "f:1:7: text: must not be empty\n"
            "f:2:18: numbers.count: 0 is not in 1..10\n"
            "f:2:21: unknown key 'x' in 'numbers'\n"
            "f:3:7: flag: expected true or false, got '1'");
}

TEST(YamlReaderTest, AnOverrideIsReportedUnderItsName) {
  EXPECT_EQ(Read("needed: x\n",
                 {"numbers.count=0", "list=[[]]", "numbers={cont: 1, rate: 2}"})
                .problems,
            "--set numbers: numbers.rate: 2 is not in [0, 1)\n"
            "--set numbers: unknown key 'cont' in 'numbers' (did you mean "
            "'count'?)\n"
            "--set list: list[0]: expected text, got a list");
  EXPECT_EQ(Read("needed: x\n", {"numbers.count=0"}).problems,
            "--set numbers.count: 0 is not in 1..10");
}

TEST(YamlReaderTest, TheRootMustBeAMap) {
  EXPECT_EQ(Read("- a\n").problems,
            "f:1:1: expected a map of keys, got a list");
  EXPECT_EQ(Read("word\n").problems,
            "f:1:1: expected a map of keys, got 'word'");
  EXPECT_EQ(Read("").problems, "f:1:1: 'needed' is missing");
}

}  // namespace
}  // namespace seraph
