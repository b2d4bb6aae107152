#include "server/functions/function_registry.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/functions/built_ins.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Named final : public Function {
 public:
  explicit Named(FunctionSignature signature)
      : Function(std::move(signature), false) {}
};

std::shared_ptr<const Function> Of(FunctionSignature signature) {
  return std::make_shared<Named>(std::move(signature));
}

FunctionSignature Reading(std::string name, uint32_t version = 1) {
  return {.name = std::move(name),
          .version = version,
          .combine = CombineRule::kList};
}

TEST(FunctionRegistryTest, EveryBuiltInIsThere) {
  FunctionRegistry registry;
  size_t count = 0;
  for (const auto& function : MakeBuiltIns()) {
    EXPECT_TRUE(function->built_in());
    EXPECT_THAT(registry.Add(function), IsOk());
    ++count;
  }
  EXPECT_EQ(FunctionRegistry::BuiltIns().List(), registry.List());
  EXPECT_EQ(registry.List().size(), count);
}

TEST(FunctionRegistryTest, FindsTheNewestOrTheNamedVersion) {
  FunctionRegistry registry;
  const auto one = Of(Reading("f", 1));
  const auto three = Of(Reading("f", 3));
  ASSERT_THAT(registry.Add(three), IsOk());
  ASSERT_THAT(registry.Add(one), IsOk());
  EXPECT_EQ(*registry.Find("f", 0), three);
  EXPECT_EQ(*registry.Find("f", 1), one);
  EXPECT_THAT(registry.Find("f", 2),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("'f'"), HasSubstr("1, 3"))));
  EXPECT_THAT(registry.Find("g", 0),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("'g'"), HasSubstr("f"))));
}

TEST(FunctionRegistryTest, RefusesWhatIsNoFunction) {
  FunctionRegistry registry;
  ASSERT_THAT(registry.Add(Of(Reading("f"))), IsOk());
  EXPECT_THAT(registry.Add(Of(Reading("f"))),
              StatusIs(absl::StatusCode::kAlreadyExists));
  for (const char* name : {"", "F", "1f", "f g", "f-g"}) {
    EXPECT_THAT(registry.Add(Of(Reading(name))),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << name;
  }
  EXPECT_THAT(registry.Add(Of(Reading(std::string(65, 'f')))),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(registry.Add(Of(Reading("h", 0))),
              StatusIs(absl::StatusCode::kInvalidArgument));
  FunctionSignature gap = Reading("h");
  gap.arguments = {{"a", ValueType::kInt, true}, {"b", ValueType::kInt}};
  EXPECT_THAT(registry.Add(Of(gap)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  FunctionSignature both = Reading("h");
  both.writes = true;
  EXPECT_THAT(registry.Add(Of(both)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(FunctionRegistryTest, PlansChecksArgumentsAndColumn) {
  const FunctionRegistry& registry = FunctionRegistry::BuiltIns();
  const auto planned = registry.Plan(
      {.function = "scale", .column = 1, .arguments = {int64_t{2}}}, 2);
  ASSERT_THAT(planned, IsOk());
  EXPECT_EQ(planned->call.version, 1);
  EXPECT_EQ(planned->call.arguments[0], FunctionValue(2.0));
  EXPECT_THAT(registry.Plan({.function = "scale"}, 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("scale(factor: double)")));
  EXPECT_THAT(registry.Plan({.function = "sum", .column = 2}, 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("columns 0 to 1")));
  EXPECT_THAT(
      registry.Plan({.function = "top_k", .arguments = {int64_t{0}}}, 2),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("k is 0")));
  EXPECT_THAT(
      registry.Plan(
          {.function = "normal", .arguments = {0.0, -1.0, int64_t{1}}}, 2),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("scale is -1")));
}

}  // namespace
}  // namespace seraph
