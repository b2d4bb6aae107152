#include "common/config/nearest.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(EditDistanceTest, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("abc", "abc"), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("optimiser", "optimizer"), 1);
  EXPECT_EQ(EditDistance("epoch", "epochs"), 1);
  EXPECT_EQ(EditDistance("epcohs", "epochs"), 1) << "a swap is one change";
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("ca", "abc"), 3) << "a swapped pair is not split";
}

TEST(EditDistanceTest, TakesCaseAndKindOfDashAsEqual) {
  EXPECT_EQ(EditDistance("Batch-Size", "batch_size"), 0);
}

struct Case {
  std::string name;
  std::string want;
};

class NearestTest : public ::testing::TestWithParam<Case> {};

TEST_P(NearestTest, IsWhatWasMeant) {
  const std::vector<std::string> known = {
      "epochs", "batch_size", "learning_rate", "l1", "l2", "kind", "keys"};
  EXPECT_EQ(Nearest(GetParam().name, known), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Names, NearestTest,
    ::testing::Values(Case{"epoch", "epochs"}, Case{"Epochs", "epochs"},
                      Case{"bach_size", "batch_size"},
                      Case{"batch-size", "batch_size"},
                      Case{"batchsize", "batch_size"},
                      Case{"learning", "learning_rate"},  // A beginning.
                      Case{"kindred", "kind"},            // And the reverse.
                      Case{"l3", "l1"},                   // The first of two.
                      Case{"kins", "kind"}, Case{"optimizer", ""},
                      Case{"x", ""}, Case{"", ""},
                      Case{std::string(1000, 'e'), ""}));

TEST(DidYouMeanTest, IsEmptyWithoutANearName) {
  EXPECT_EQ(DidYouMean("optimiser", {"optimizer"}),
            " (did you mean 'optimizer'?)");
  EXPECT_EQ(DidYouMean("zzz", {"optimizer"}), "");
  EXPECT_EQ(DidYouMean("zzz", {}), "");
}

}  // namespace
}  // namespace seraph
