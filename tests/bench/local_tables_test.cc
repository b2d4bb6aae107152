// Local tables compute what servers do, bit for bit: what is compared is where
// the rows are, and nothing else.
#include "worker/train/local_tables.h"

#include <random>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "server/update/make_update_rule.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;

TEST(LocalTablesTest, RowsMoveAsThoseOfAServer) {
  const unsigned seed = 3;
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdagrad}) {
    TableSpec spec{.name = "t"};
    spec.optimizer.kind = kind;
    spec.optimizer.learning_rate = 0.3;
    const auto tables = LocalTables::Make({spec});
    ASSERT_THAT(tables, IsOk());
    const auto made = MakeUpdateRule(spec.optimizer, 1);
    ASSERT_THAT(made, IsOk());
    const UpdateRule& rule = **made;
    const float zero = 0;
    std::vector<float> row(rule.row_cells());
    rule.InitRow({&zero, 1}, {}, row.data());
    const Key key = 77;
    for (int i = 0; i < 200; ++i) {
      const float gradient = normal(random);
      float* const place = row.data();
      rule.Step({&place, 1}, &gradient, rule.NextStep({}, 0.3));
      Step step;
      step.entry.emplace().tables = {
          {.keys = {&key, 1}, .values = {&gradient, 1}}};
      step.pull = ClockPull{.clock = {}, .keys = {{&key, 1}}};
      EXPECT_EQ((*tables)->Take(step).rows[0], FloatBuffer{row[0]})
          << "step " << i << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace seraph
