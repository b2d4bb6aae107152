#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/config/cluster_config.h"
#include "common/config/config_file.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

constexpr char kClusterFile[] = "deploy/cluster.yaml";

// Nothing of the test's own environment.
absl::StatusOr<LoadedClusterConfig> Parse(const std::string& path) {
  absl::StatusOr<std::string> text = ReadConfigFile(path);
  if (!text.ok()) return text.status();
  ClusterConfigSources sources;
  sources.file_name = path;
  sources.text = *text;
  return ParseClusterConfig(sources);
}

TEST(ClusterFilesTest, TheCommentedFileSaysTheDefaults) {
  const auto loaded = Parse(kClusterFile);
  ASSERT_THAT(loaded, testing::IsOk());
  EXPECT_EQ(loaded->config, ClusterConfig());
}

TEST(ClusterFilesTest, TheCommentedFileShowsEveryKey) {
  const auto text = ReadConfigFile(kClusterFile);
  ASSERT_THAT(text, testing::IsOk());
  // "server.listen" is a line "  listen: ..." or "  # listen: ..." after the
  // line "server:".
  for (const KeyInfo& key : DescribeClusterConfig()) {
    const std::vector<std::string> path = absl::StrSplit(key.path, '.');
    if (path.size() != 2) continue;  // A section.
    const size_t section = text->find(absl::StrCat("\n", path[0], ":\n"));
    ASSERT_NE(section, std::string::npos) << key.path;
    const size_t end = text->find("\n\n", section);
    const std::string body = text->substr(section, end - section);
    EXPECT_TRUE(absl::StrContains(body, absl::StrCat("\n  ", path[1], ":")) ||
                absl::StrContains(body, absl::StrCat("\n  # ", path[1], ":")))
        << key.path;
  }
}

TEST(ClusterFilesTest, TheKubernetesFileListensForOtherPods) {
  const auto loaded = Parse("deploy/kubernetes/cluster.yaml");
  ASSERT_THAT(loaded, testing::IsOk());
  for (const std::string& listen :
       {loaded->config.scheduler.listen, loaded->config.server.listen,
        loaded->config.worker.listen}) {
    EXPECT_THAT(listen, ::testing::StartsWith("0.0.0.0:"));
  }
  EXPECT_NE(loaded->config.scheduler.state_directory, "");
}

}  // namespace
}  // namespace seraph
