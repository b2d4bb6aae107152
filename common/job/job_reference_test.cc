// docs/job-reference.md says what the code says: every key, and no other.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/config/cluster_config.h"
#include "common/config/config_file.h"
#include "common/job/job_spec.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::testing::ElementsAreArray;

constexpr char kJobTitle[] = "\n## Job file\n";
constexpr char kClusterTitle[] = "\n## Cluster file\n";

std::string Page() {
  const auto page = ReadConfigFile("docs/job-reference.md");
  EXPECT_THAT(page, IsOk());
  return page.value_or("");
}

std::string JobPart() {
  const std::string page = Page();
  const size_t begin = page.find(kJobTitle);
  return page.substr(begin, page.find(kClusterTitle) - begin);
}

std::string ClusterPart() {
  const std::string page = Page();
  return page.substr(page.find(kClusterTitle));
}

// Headings of sections, the sentence under each, and the rows of their tables.
std::vector<std::string> WrittenLines(const std::string& part) {
  std::vector<std::string> written;
  bool after_heading = false;
  for (const absl::string_view line : absl::StrSplit(part, '\n')) {
    const bool is_heading = absl::StartsWith(line, "### `");
    if (is_heading || absl::StartsWith(line, "| `") ||
        (after_heading && !line.empty())) {
      written.emplace_back(line);
      after_heading = is_heading;
    }
  }
  return written;
}

std::vector<std::string> ExpectedLines(const std::vector<KeyInfo>& keys) {
  std::vector<std::string> lines;
  for (const KeyInfo& key : keys) {
    if (key.type == "section") {
      lines.push_back(absl::StrCat("### `", key.path, "`"));
      lines.push_back(key.doc);
      continue;
    }
    std::string value = key.default_value.empty() ? "none" : key.default_value;
    if (key.required) value = "required";
    lines.push_back(absl::StrCat("| `", key.path, "` | ", key.type, " | ",
                                 value, " | ", key.range, " | ", key.doc,
                                 " |"));
  }
  return lines;
}

TEST(JobReferenceTest, HasTheKeysOfTheJobFileAndNoOther) {
  EXPECT_THAT(WrittenLines(JobPart()),
              ElementsAreArray(ExpectedLines(DescribeJobSpec())));
}

TEST(JobReferenceTest, HasTheKeysOfTheClusterFileAndNoOther) {
  EXPECT_THAT(WrittenLines(ClusterPart()),
              ElementsAreArray(ExpectedLines(DescribeClusterConfig())));
}

// A row must be one row, and a sentence end.
TEST(JobReferenceTest, TextsFitATable) {
  for (const auto& keys : {DescribeJobSpec(), DescribeClusterConfig()}) {
    for (const KeyInfo& key : keys) {
      for (const std::string& text :
           {key.doc, key.range, key.default_value, key.type}) {
        EXPECT_FALSE(absl::StrContains(text, "|")) << key.path;
        EXPECT_FALSE(absl::StrContains(text, "\n")) << key.path;
      }
      EXPECT_FALSE(absl::StrContains(key.doc, "<")) << key.path << ": HTML?";
      EXPECT_TRUE(absl::EndsWith(key.doc, ".")) << key.path;
    }
  }
}

TEST(JobReferenceTest, ItsExampleIsAJobFile) {
  const std::string part = JobPart();
  constexpr char kOpen[] = "```yaml\n";
  const size_t begin = part.find(kOpen) + sizeof(kOpen) - 1;
  const std::string example =
      part.substr(begin, part.find("```", begin) - begin);
  EXPECT_THAT(ParseJobSpec(example, "job-reference.md", {}), IsOk());
}

}  // namespace
}  // namespace seraph
