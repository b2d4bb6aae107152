#include "client/bench/generated_examples.h"

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;

std::string Examples(const ExampleOptions& options) {
  const testing::TempFolder folder;
  const std::string path = folder.path() + "/data";
  EXPECT_THAT(WriteExamples(options, path), IsOk());
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(GeneratedExamplesTest, EachHasItsDistinctFeatures) {
  std::istringstream lines(Examples({.examples = 5000,  // More than at once.
                                     .nonzeros = 4,
                                     .features = 30}));
  int examples = 0, positive = 0;
  for (std::string line; std::getline(lines, line); ++examples) {
    std::istringstream words(line);
    int label = -1;
    words >> label;
    ASSERT_TRUE(label == 0 || label == 1) << line;
    positive += label;
    std::set<int> features;
    for (std::string word; words >> word;) {
      ASSERT_EQ(word.substr(word.find(':')), ":1");
      const int feature = std::stoi(word);
      ASSERT_GE(feature, 1);
      ASSERT_LE(feature, 30);
      features.insert(feature);
    }
    ASSERT_EQ(features.size(), 4u) << line;
  }
  EXPECT_EQ(examples, 5000);
  // Both labels are there to be told apart.
  EXPECT_GT(positive, 500);
  EXPECT_LT(positive, 4500);
}

TEST(GeneratedExamplesTest, TheSeedDecides) {
  const ExampleOptions options{.examples = 50, .nonzeros = 4, .features = 300};
  ExampleOptions other = options;
  other.seed = 2;
  EXPECT_EQ(Examples(options), Examples(options));
  EXPECT_NE(Examples(options), Examples(other));
}

TEST(GeneratedExamplesTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_FALSE(WriteExamples({.examples = 1}, "/nowhere/at/all").ok());
}

}  // namespace
}  // namespace seraph
