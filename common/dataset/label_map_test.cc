#include "common/dataset/label_map.h"

#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A data set whose line i + 1 has labels[i].
DatasetFacts Labelled(const std::vector<double>& labels) {
  DatasetFacts facts;
  facts.files = {{{"f", 1, 0}, {}}};
  for (size_t i = 0; i < labels.size(); ++i) {
    facts.labels.push_back({labels[i], "", 0, i + 1});
  }
  return facts;
}

DatasetFacts Texts(const std::vector<std::string>& labels) {
  DatasetFacts facts;
  facts.files = {{{"f", 1, 0}, {}}};
  for (size_t i = 0; i < labels.size(); ++i) {
    facts.labels.push_back({0, labels[i], 0, i + 1});
  }
  return facts;
}

absl::StatusOr<LabelMap> Decide(TaskKind task, uint32_t classes,
                                const DatasetFacts& facts) {
  return DecideLabels(task, classes, {&facts});
}

struct BinaryCase {
  std::string name;
  std::vector<double> labels;
  std::vector<double> want;  // Empty: an error ...
  std::string error;         // ... with this in it.
};

class BinaryLabels : public ::testing::TestWithParam<BinaryCase> {};

TEST_P(BinaryLabels, AreTwoClassesOrAnErrorWithAPlace) {
  const auto map = Decide(TaskKind::kBinary, 0, Labelled(GetParam().labels));
  if (GetParam().want.empty()) {
    EXPECT_THAT(map, StatusIs(absl::StatusCode::kInvalidArgument,
                              HasSubstr(GetParam().error)));
    return;
  }
  ASSERT_THAT(map, IsOk());
  EXPECT_EQ(map->classes, 2);
  for (size_t i = 0; i < GetParam().labels.size(); ++i) {
    EXPECT_THAT(map->Map(GetParam().labels[i]),
                IsOkAndHolds(GetParam().want[i]));
  }
  EXPECT_THAT(map->Map(17), StatusIs(absl::StatusCode::kInvalidArgument));
}

INSTANTIATE_TEST_SUITE_P(
    Labels, BinaryLabels,
    ::testing::Values(
        BinaryCase{"ZeroOne", {1, 0}, {1, 0}, ""},
        BinaryCase{"MinusPlus", {-1, 1}, {0, 1}, ""},
        BinaryCase{"OneTwo", {2, 1}, {1, 0}, ""},
        BinaryCase{"Zero", {0}, {0}, ""}, BinaryCase{"Minus", {-1}, {0}, ""},
        BinaryCase{"Two", {2}, {1}, ""},
        BinaryCase{"OneAlone", {1}, {}, "f:1: label 1 is the only one"},
        BinaryCase{"TwoFour", {2, 4}, {}, "f:2: label 4 is not one of two"},
        BinaryCase{"ThirdClass", {0, 1, 2}, {}, "f:3: label 2 is not"},
        BinaryCase{"Mixed", {-1, 1, 0}, {}, "f:3: label 0 is not"},
        BinaryCase{"ZeroTwo", {0, 2}, {}, "f:2: label 2 is not"},
        BinaryCase{"Fraction", {0.5, 1}, {}, "f:1: label 0.5 is not"}),
    [](const auto& info) { return info.param.name; });

TEST(DecideLabelsTest, SortedByLabelIsDecidedFromAllOfIt) {
  // One part of the data alone would make 1 the positive class.
  const DatasetFacts ones = Labelled({1}), twos = Labelled({2});
  const auto map = DecideLabels(TaskKind::kBinary, 0, {&ones, &twos});
  ASSERT_THAT(map, IsOk());
  EXPECT_THAT(map->Map(1), IsOkAndHolds(0));
  EXPECT_THAT(map->Map(2), IsOkAndHolds(1));
}

TEST(DecideLabelsTest, MulticlassCountsFromZeroOrOne) {
  const auto first = [](uint32_t classes, std::vector<double> labels) {
    const auto map = Decide(TaskKind::kMulticlass, classes, Labelled(labels));
    EXPECT_THAT(map, IsOk());
    return map.ok() ? std::make_pair(map->first_class, map->classes)
                    : std::make_pair(int64_t{-1}, 0u);
  };
  EXPECT_EQ(first(3, {2, 0, 1}), std::make_pair(int64_t{0}, 3u));
  EXPECT_EQ(first(3, {3, 1}), std::make_pair(int64_t{1}, 3u));
  EXPECT_EQ(first(7, {1, 2}), std::make_pair(int64_t{0}, 7u));
  EXPECT_EQ(first(0, {1, 7}), std::make_pair(int64_t{1}, 7u));
  EXPECT_EQ(first(0, {0, 6}), std::make_pair(int64_t{0}, 7u));

  const auto map = Decide(TaskKind::kMulticlass, 3, Labelled({1, 2, 3}));
  EXPECT_THAT(map->Map(3), IsOkAndHolds(2));
  EXPECT_THAT(map->Map(0), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(map->Map(1.5), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(DecideLabelsTest, MulticlassNamesTheLabelThatIsNoClass) {
  const auto status = [](uint32_t classes, std::vector<double> labels) {
    return Decide(TaskKind::kMulticlass, classes, Labelled(labels)).status();
  };
  EXPECT_THAT(status(3, {0, 3}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("f:2: label 3 is not one of")));
  EXPECT_THAT(status(3, {1, 4}), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("0..2 or 1..3")));
  EXPECT_THAT(status(3, {1, -1}), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("f:2: label -1")));
  EXPECT_THAT(status(3, {1, 1.5}), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("f:2: label 1.5")));
}

TEST(DecideLabelsTest, RegressionTakesNumbersAsTheyAre) {
  const auto map = Decide(TaskKind::kRegression, 0, Labelled({24, -0.5}));
  ASSERT_THAT(map, IsOk());
  EXPECT_THAT(map->Map(-0.5), IsOkAndHolds(-0.5));
  EXPECT_THAT(Decide(TaskKind::kRegression, 0, Texts({"x"})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("f:1: label 'x' is not a number")));
}

TEST(DecideLabelsTest, TextsAreSortedByTheirBytes) {
  const auto binary = Decide(TaskKind::kBinary, 0, Texts({">50K", "<=50K"}));
  ASSERT_THAT(binary, IsOk());
  EXPECT_THAT(binary->MapText("<=50K"), IsOkAndHolds(0));
  EXPECT_THAT(binary->MapText(">50K"), IsOkAndHolds(1));
  EXPECT_THAT(binary->MapText("x"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(binary->Map(1), StatusIs(absl::StatusCode::kInvalidArgument));

  const auto three =
      Decide(TaskKind::kMulticlass, 3, Texts({"versi", "setosa", "virgi"}));
  ASSERT_THAT(three, IsOk());
  EXPECT_THAT(three->texts, ElementsAre("setosa", "versi", "virgi"));
  EXPECT_THAT(Decide(TaskKind::kMulticlass, 2, Texts({"a", "b", "c"})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("3 texts where 2 classes are wanted")));
  EXPECT_THAT(Decide(TaskKind::kBinary, 0, Texts({"a"})),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(DecideLabelsTest, TextsDoNotMixWithNumbers) {
  DatasetFacts facts = Labelled({1, 2});
  facts.labels.push_back({0, "three", 0, 3});
  EXPECT_THAT(Decide(TaskKind::kMulticlass, 3, facts),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("f:3: label 'three' does not go with")));
}

TEST(DecideLabelsTest, NoLabelsAreAnError) {
  EXPECT_THAT(Decide(TaskKind::kRegression, 0, Labelled({})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("f: the data has no records")));
  EXPECT_THAT(DecideLabels(TaskKind::kRegression, 0, {}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace seraph
