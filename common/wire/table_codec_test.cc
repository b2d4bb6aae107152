#include "common/wire/table_codec.h"

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

// No field has its default value.
TableSpec UnusualTable() {
  TableSpec spec;
  spec.name = "weights";
  spec.kind = TableKind::kSparse;
  spec.keys = 77;
  spec.width = 3;
  spec.scramble = true;
  spec.partitions = 7;
  spec.seed = 11;
  spec.admit_after = 4;
  spec.expire_after_epochs = 5;
  spec.transport = ValueKind::kBfloat16;
  spec.initializer = {InitializerKind::kNormal, 0.25, 0.5};
  spec.optimizer = {.kind = OptimizerKind::kFtrl,
                    .learning_rate = 0.11,
                    .momentum = 0.12,
                    .rho = 0.13,
                    .epsilon = 0.14,
                    .beta1 = 0.15,
                    .beta2 = 0.16,
                    .weight_decay = 0.17,
                    .alpha = 0.18,
                    .beta = 0.19,
                    .l1 = 0.2,
                    .l2 = 0.21,
                    .clip_value = 0.22};
  spec.schedule = {.kind = ScheduleKind::kCosine,
                   .decay_rate = 0.75,
                   .decay_steps = 5,
                   .total_steps = 6,
                   .min_factor = 0.125,
                   .warmup_steps = 8};
  return spec;
}

TEST(TableCodecTest, EveryFieldOfATableTravels) {
  v1::TableSpec message;
  ToProto(UnusualTable(), &message);
  EXPECT_THAT(UnsetFields(message), IsEmpty());
  EXPECT_THAT(FromProto(message), IsOkAndHolds(UnusualTable()));
}

TEST(TableCodecTest, ADenseTableStaysDense) {
  TableSpec spec = UnusualTable();
  spec.kind = TableKind::kDense;
  v1::TableSpec message;
  ToProto(spec, &message);
  EXPECT_THAT(FromProto(message), IsOkAndHolds(spec));
}

TEST(TableCodecTest, EveryFieldOfTheSyncModeTravels) {
  const SyncSpec spec = {.mode = SyncMode::kSsp,
                         .staleness = 3,
                         .combine = Combine::kSum,
                         .pipeline = 2};
  v1::SyncSpec message;
  ToProto(spec, &message);
  EXPECT_THAT(UnsetFields(message), IsEmpty());
  EXPECT_THAT(FromProto(message), IsOkAndHolds(spec));
}

TEST(TableCodecTest, EveryKindHasItsName) {
  for (int kind = 0; kind <= static_cast<int>(OptimizerKind::kAssign); ++kind) {
    OptimizerSpec spec;
    spec.kind = static_cast<OptimizerKind>(kind);
    v1::OptimizerSpec message;
    ToProto(spec, &message);
    EXPECT_THAT(FromProto(message), IsOkAndHolds(spec));
  }
  for (int kind = 0; kind <= static_cast<int>(ScheduleKind::kCosine); ++kind) {
    ScheduleSpec spec;
    spec.kind = static_cast<ScheduleKind>(kind);
    v1::ScheduleSpec message;
    ToProto(spec, &message);
    EXPECT_THAT(FromProto(message), IsOkAndHolds(spec));
  }
  for (int kind = 0; kind <= static_cast<int>(InitializerKind::kNormal);
       ++kind) {
    InitializerSpec spec;
    spec.kind = static_cast<InitializerKind>(kind);
    v1::InitializerSpec message;
    ToProto(spec, &message);
    EXPECT_THAT(FromProto(message), IsOkAndHolds(spec));
  }
  for (int mode = 0; mode <= static_cast<int>(SyncMode::kAsp); ++mode) {
    SyncSpec spec;
    spec.mode = static_cast<SyncMode>(mode);
    v1::SyncSpec message;
    ToProto(spec, &message);
    EXPECT_THAT(FromProto(message), IsOkAndHolds(spec));
  }
}

TEST(TableCodecTest, AnUnknownNameIsRefusedWithItsField) {
  v1::TableSpec table;
  ToProto(UnusualTable(), &table);
  table.mutable_optimizer()->set_kind("lion");
  EXPECT_THAT(FromProto(table), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("optimizer.kind")));
  EXPECT_THAT(
      FromProto(v1::SyncSpec()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sync.mode")));
}

}  // namespace
}  // namespace seraph
