#include "common/wire/dataset_codec.h"

#include "common/testing/status_matchers.h"
#include "common/wire/every_field.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::seraph::testing::UnsetFields;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// No field of the first of each list has its default value.
DatasetFacts UnusualFacts() {
  DatasetFacts facts;
  facts.files = {{{"/data/a.gz", 5, 6}, {"/data/b.gz", 7, 8}},
                 {{"/data/c", 9, 10}, {}}};
  facts.blocks = {{1, 2, 3, 4, 5, 6}, {1, 3, 9, 0, 0, 0}};
  facts.labels = {{-1.5, "yes", 1, 12}, {2, "", 0, 1}};
  facts.labels_capped = true;
  facts.has_keys = true;
  facts.min_key = 3;
  facts.max_key = kMaxKey;
  facts.max_field = 17;
  facts.nonzeros = 18;
  facts.repeated_index_records = 19;
  facts.columns = 20;
  facts.column_names = {"age", "weight"};
  facts.bad_examples = {{1, 21, "not a number"}};
  facts.lines = 22;
  return facts;
}

LabelMap UnusualLabels() {
  return {.task = TaskKind::kMulticlass,
          .negative = -1,
          .positive = 2,
          .first_class = 1,
          .classes = 3,
          .texts = {"a", "b", "c"}};
}

TEST(DatasetCodecTest, EveryFieldOfTheFactsTravels) {
  v1::DatasetFacts message;
  ToProto(UnusualFacts(), &message);
  EXPECT_THAT(UnsetFields(message), IsEmpty());
  EXPECT_THAT(FromProto(message), IsOkAndHolds(UnusualFacts()));
}

TEST(DatasetCodecTest, APartTravelsWithoutItsFiles) {
  DatasetFacts part = UnusualFacts();
  part.files.clear();
  v1::DatasetFacts message;
  ToProto(part, &message);
  EXPECT_THAT(FromProto(message), IsOkAndHolds(part));
}

TEST(DatasetCodecTest, EveryFieldOfTheLabelsTravels) {
  v1::LabelMap message;
  ToProto(UnusualLabels(), &message);
  EXPECT_THAT(UnsetFields(message), IsEmpty());
  EXPECT_THAT(FromProto(message), IsOkAndHolds(UnusualLabels()));
}

TEST(DatasetCodecTest, EveryTaskHasItsName) {
  for (TaskKind task :
       {TaskKind::kRegression, TaskKind::kBinary, TaskKind::kMulticlass}) {
    LabelMap labels;
    labels.task = task;
    v1::LabelMap message;
    ToProto(labels, &message);
    EXPECT_THAT(FromProto(message), IsOkAndHolds(labels));
  }
}

TEST(DatasetCodecTest, RefusesWhatAPeerMayNotSend) {
  v1::DatasetFacts facts;
  ToProto(UnusualFacts(), &facts);
  facts.mutable_blocks(0)->set_file(2);
  EXPECT_THAT(FromProto(facts), StatusIs(kInvalid, HasSubstr("facts.blocks")));

  facts.Clear();
  ToProto(UnusualFacts(), &facts);
  facts.mutable_blocks(0)->set_end(1);
  EXPECT_THAT(FromProto(facts), StatusIs(kInvalid, HasSubstr("facts.blocks")));

  facts.Clear();
  ToProto(UnusualFacts(), &facts);
  facts.mutable_labels(0)->set_file(2);
  EXPECT_THAT(FromProto(facts), StatusIs(kInvalid, HasSubstr("facts.labels")));

  facts.Clear();
  ToProto(UnusualFacts(), &facts);
  facts.mutable_bad_examples(0)->set_file(2);
  EXPECT_THAT(FromProto(facts),
              StatusIs(kInvalid, HasSubstr("facts.bad_examples")));

  EXPECT_THAT(FromProto(v1::LabelMap()),
              StatusIs(kInvalid, HasSubstr("labels.kind")));
}

}  // namespace
}  // namespace seraph
