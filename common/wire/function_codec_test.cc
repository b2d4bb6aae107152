#include "common/wire/function_codec.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;

using Keys = std::vector<Key>;
using Floats = std::vector<float>;

TEST(FunctionCodecTest, CallsComeBack) {
  const FunctionCall call = {
      .function = "f",
      .version = 3,
      .column = 2,
      .arguments = {int64_t{-7}, 0.1, "", Keys{1, kMaxKey}, Floats{0.5f}, 0.0}};
  v1::FunctionCall message;
  ToProto(call, &message);
  EXPECT_THAT(FromProto(message), IsOkAndHolds(call));
  message.add_arguments();
  EXPECT_THAT(FromProto(message), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(FunctionCodecTest, ResultsComeBack) {
  const PartialResult result = {.sums = {{0, 0.1}, {7, -2.0}},
                                .count = -3,
                                .rows = {{kMaxKey, 1.5f}, {2, -0.5f}},
                                .values = {"x", Keys{}}};
  v1::PartialResult message;
  ToProto(result, &message);
  EXPECT_THAT(FromProto(message), IsOkAndHolds(result));
  v1::PartialResult broken = message;
  broken.add_sums(1);
  EXPECT_THAT(FromProto(broken), StatusIs(absl::StatusCode::kInvalidArgument));
  broken = message;
  broken.add_keys(1);
  EXPECT_THAT(FromProto(broken), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(FunctionCodecTest, RulesComeBack) {
  for (const CombineRule rule :
       {CombineRule::kNothing, CombineRule::kSum, CombineRule::kRoot,
        CombineRule::kCount, CombineRule::kLeast, CombineRule::kLargest,
        CombineRule::kList}) {
    EXPECT_THAT(FromProto(ToProto(rule)), IsOkAndHolds(rule));
  }
  EXPECT_THAT(FromProto(static_cast<v1::CombineRule>(99)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace seraph
