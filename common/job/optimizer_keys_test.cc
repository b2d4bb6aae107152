#include "common/job/optimizer_keys.h"

#include <string>

#include "common/table/table_validation.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(OptimizerKeysTest, DefaultsAreThoseOfTheAlgorithms) {
  const auto defaults = [](OptimizerKind kind) {
    return DefaultOptimizer(kind);
  };
  EXPECT_EQ(defaults(OptimizerKind::kSgd).learning_rate, 0.1);
  EXPECT_EQ(defaults(OptimizerKind::kMomentum).momentum, 0.9);
  EXPECT_EQ(defaults(OptimizerKind::kNesterov).momentum, 0.9);
  EXPECT_EQ(defaults(OptimizerKind::kAdagrad).learning_rate, 0.1);
  EXPECT_EQ(defaults(OptimizerKind::kAdagrad).epsilon, 1e-10);
  EXPECT_EQ(defaults(OptimizerKind::kRmsprop).rho, 0.9);
  EXPECT_EQ(defaults(OptimizerKind::kRmsprop).epsilon, 1e-8);
  EXPECT_EQ(defaults(OptimizerKind::kAdadelta).rho, 0.95);
  EXPECT_EQ(defaults(OptimizerKind::kAdadelta).epsilon, 1e-6);
  EXPECT_EQ(defaults(OptimizerKind::kAdadelta).learning_rate, 1);
  EXPECT_EQ(defaults(OptimizerKind::kAdam).beta1, 0.9);
  EXPECT_EQ(defaults(OptimizerKind::kAdam).beta2, 0.999);
  EXPECT_EQ(defaults(OptimizerKind::kAdam).epsilon, 1e-8);
  EXPECT_EQ(defaults(OptimizerKind::kAdamw).weight_decay, 0.01);
  EXPECT_EQ(defaults(OptimizerKind::kFtrl).alpha, 0.1);
  EXPECT_EQ(defaults(OptimizerKind::kFtrl).beta, 1);
  EXPECT_EQ(defaults(OptimizerKind::kFtrl).l1, 0);
}

TEST(OptimizerKeysTest, EveryDefaultCanBeRun) {
  EXPECT_EQ(OptimizerKinds().size(), 11);
  for (const auto& [kind, name] : OptimizerKinds()) {
    const OptimizerSpec spec = DefaultOptimizer(kind);
    EXPECT_EQ(spec.kind, kind);
    EXPECT_EQ(OptimizerKindName(kind), name);
    EXPECT_THAT(ValidateOptimizer(spec), testing::IsOk()) << std::string(name);
  }
}

// A letter for each key in the order of the enumeration, '.' where unused.
std::string Keys(OptimizerKind kind) {
  std::string keys;
  for (int key = 0; key <= static_cast<int>(OptimizerKey::kClipNorm); ++key) {
    keys += UsesKey(kind, static_cast<OptimizerKey>(key)) ? "emre12wab12vn"[key]
                                                          : '.';
  }
  return keys;
}

TEST(OptimizerKeysTest, EachKindUsesItsOwn) {
  EXPECT_EQ(Keys(OptimizerKind::kSgd), "e........12vn");
  EXPECT_EQ(Keys(OptimizerKind::kMomentum), "em.......12vn");
  EXPECT_EQ(Keys(OptimizerKind::kNesterov), "em.......12vn");
  EXPECT_EQ(Keys(OptimizerKind::kAdagrad), "e..e.....12vn");
  EXPECT_EQ(Keys(OptimizerKind::kRmsprop), "e.re.....12vn");
  EXPECT_EQ(Keys(OptimizerKind::kAdadelta), "e.re.....12vn");
  EXPECT_EQ(Keys(OptimizerKind::kAdam), "e..e12...12vn");
  EXPECT_EQ(Keys(OptimizerKind::kAdamw), "e..e12w..12vn");
  EXPECT_EQ(Keys(OptimizerKind::kFtrl), ".......ab12vn");
  EXPECT_EQ(Keys(OptimizerKind::kSum), ".............");
  EXPECT_EQ(Keys(OptimizerKind::kAssign), ".............");
}

}  // namespace
}  // namespace seraph
