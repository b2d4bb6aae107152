#include "common/config/cluster_config.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::HasSubstr;

ClusterConfigSources File(const std::string& text) {
  ClusterConfigSources sources;
  sources.file_name = "cluster.yaml";
  sources.text = text;
  return sources;
}

TEST(ClusterConfigTest, NothingGivenIsTheDefaults) {
  const auto loaded = ParseClusterConfig({});
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->config, ClusterConfig());
  EXPECT_TRUE(loaded->origins.empty());
  EXPECT_EQ(loaded->config.scheduler.listen, "127.0.0.1:7400");
  EXPECT_EQ(loaded->config.server.listen, "127.0.0.1:7401");
  EXPECT_EQ(loaded->config.worker.listen, "127.0.0.1:7402");
  EXPECT_EQ(loaded->config.scheduler.heartbeat_interval, absl::Seconds(1));
  EXPECT_EQ(loaded->config.scheduler.heartbeat_timeout, absl::Seconds(5));
}

TEST(ClusterConfigTest, OverridesBeatEnvironmentBeatsFileBeatsDefault) {
  ClusterConfigSources sources = File(
      "log: {level: warn, format: json, file: /var/log/a}\n"
      "server: {threads: 1}\n");
  sources.environment = {{"SERAPH_LOG__FORMAT", "text"},
                         {"SERAPH_LOG__FILE", "/var/log/b"}};
  sources.sets = {"log.file=/var/log/c", "log.file=/var/log/d"};
  const auto loaded = ParseClusterConfig(sources);
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->config.worker.threads, 0);
  EXPECT_EQ(loaded->config.server.threads, 1);
  EXPECT_EQ(loaded->config.log.level, LogLevel::kWarn);
  EXPECT_EQ(loaded->config.log.format, LogFormat::kText);
  EXPECT_EQ(loaded->config.log.file, "/var/log/d");
  EXPECT_EQ(loaded->origins.at("log.level"), "cluster.yaml:1:14");
  EXPECT_EQ(loaded->origins.at("log.format"), "SERAPH_LOG__FORMAT");
  EXPECT_EQ(loaded->origins.at("log.file"), "--set log.file");
  EXPECT_EQ(loaded->origins.count("worker.threads"), 0);
}

TEST(ClusterConfigTest, TheEffectiveConfigurationNamesOriginsAndReadsBack) {
  ClusterConfigSources sources = File(
      "cluster: {name: test, scheduler: \"[::1]:9\"}\n"
      "server: {memory_limit: 2GiB, listen: 0.0.0.0:0}\n"
      "rpc: {call_timeout: 1m30s}\n");
  sources.sets = {"worker.slots=3"};
  const auto loaded = ParseClusterConfig(sources);
  ASSERT_THAT(loaded, IsOk());
  const std::string text = EffectiveConfig(*loaded);
  for (const char* line :
       {"  name: test  # cluster.yaml:1:17\n",
        "  memory_limit: 2GiB  # cluster.yaml:2:24\n",
        "  slots: 3  # --set worker.slots\n", "  partitions: 8  # default\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  const auto back = ParseClusterConfig(File(text));
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(back->config, loaded->config);
}

TEST(ClusterConfigTest, SchedulersAndMembersAreLists) {
  ClusterConfigSources sources = File(
      "cluster: {scheduler: 'a:1, b:2'}\n"
      "scheduler: {store: etcd}\n");
  sources.sets = {"scheduler.etcd=[127.0.0.1:2379,h:2380]"};
  const auto loaded = ParseClusterConfig(sources);
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->config.cluster.scheduler, "a:1, b:2");
  EXPECT_EQ(loaded->config.scheduler.store, StoreKind::kEtcd);
  EXPECT_EQ(loaded->config.scheduler.etcd,
            (std::vector<std::string>{"127.0.0.1:2379", "h:2380"}));
}

struct Bad {
  std::string name;
  std::string text;
  std::string want;
};

class ClusterConfigRefuses : public ::testing::TestWithParam<Bad> {};

TEST_P(ClusterConfigRefuses, WithPlaceAndReason) {
  EXPECT_THAT(ParseClusterConfig(File(GetParam().text)),
              StatusIs(absl::StatusCode::kInvalidArgument, GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Files, ClusterConfigRefuses,
    ::testing::Values(
        Bad{"UnknownKey", "server:\n  listn: x:1\n",
            "cluster.yaml:2:3: unknown key 'listn' in 'server' (did you mean "
            "'listen'?)"},
        Bad{"UnknownSection", "sever: {}\n",
            "cluster.yaml:1:1: unknown key 'sever' (did you mean 'server'?)"},
        Bad{"KeyOfAnotherSection", "server: {slots: 4}\n",
            "cluster.yaml:1:10: unknown key 'slots' in 'server' (it belongs in "
            "'worker')"},
        Bad{"NoPort", "worker: {listen: localhost}\n",
            "cluster.yaml:1:18: worker.listen: expected host:port such as "
            "127.0.0.1:7400, got 'localhost': there is no port"},
        Bad{"BadAdvertise", "worker: {advertise: 'x:'}\n",
            "cluster.yaml:1:21: worker.advertise: expected host:port such as "
            "127.0.0.1:7400, got 'x:': the port is not in 0..65535"},
        Bad{"FreePortOfTheScheduler", "cluster: {scheduler: h:0}\n",
            "cluster.yaml:1:22: cluster.scheduler: the port is not in "
            "1..65535"},
        Bad{"OneOfSeveralSchedulers", "cluster: {scheduler: 'h:1,h'}\n",
            "cluster.yaml:1:22: cluster.scheduler: expected host:port such as "
            "127.0.0.1:7400, got 'h': there is no port"},
        Bad{"EtcdWithoutMembers", "scheduler: {store: etcd}\n",
            "cluster.yaml:1:12: scheduler.etcd: store etcd needs the addresses "
            "of its members"},
        Bad{"FunctionsOfNoPlace", "server: {functions: [libx.so]}\n",
            "cluster.yaml:1:21: server.functions: 'libx.so' is not an absolute "
            "path"},
        Bad{"NoMember", "scheduler: {etcd: [h:1, h]}\n",
            "cluster.yaml:1:19: scheduler.etcd: expected host:port such as "
            "127.0.0.1:7400, got 'h': there is no port"},
        Bad{"NoName", "cluster: {name: ''}\n",
            "cluster.yaml:1:17: cluster.name: must not be empty"},
        Bad{"SizeWithoutUnit", "server: {memory_limit: 4000000000}\n",
            "cluster.yaml:1:24: server.memory_limit: expected a size such as "
            "64KiB, 512MiB or 1GiB, got '4000000000': add a unit"},
        Bad{"LittleMemory", "server: {memory_limit: 1MiB}\n",
            "cluster.yaml:1:24: server.memory_limit: 1MiB is not in "
            "16MiB..16TiB"},
        Bad{"HastyLease",
            "scheduler: {heartbeat_interval: 3s, heartbeat_timeout: 5s}\n",
            "cluster.yaml:1:56: scheduler.heartbeat_timeout: 5s is less than "
            "twice heartbeat_interval (3s): one lost heartbeat would be a "
            "death"},
        Bad{"BackoffUpsideDown", "rpc: {retry_backoff: 5s}\n",
            "cluster.yaml:1:6: rpc.retry_backoff_max: 2s is less than "
            "retry_backoff (5s)"},
        Bad{"LogLevel", "log: {level: inf}\n",
            "cluster.yaml:1:14: log.level: unknown value 'inf' (did you mean "
            "'info'?); known are debug, info, warn, error"},
        Bad{"NotYaml", "log: [\n",
            "cluster.yaml:2:1: not valid YAML: end of sequence flow not found"},
        Bad{"NoMap", "- log\n",
            "cluster.yaml:1:1: expected a map of keys, got a list"}),
    [](const auto& info) { return info.param.name; });

TEST(ClusterConfigTest, ReportsBadOverridesAndEnvironmentTogether) {
  ClusterConfigSources sources = File("tables: {partitions: 0}\n");
  sources.environment = {{"SERAPH_LOG__LEVL", "info"}};
  sources.sets = {"server.thread=2", "worker"};
  EXPECT_THAT(ParseClusterConfig(sources),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "cluster.yaml:1:22: tables.partitions: 0 is not in "
                       "1..4096\n"
                       "--set worker: expected path=value\n"
                       "--set server.thread: unknown key 'thread' in 'server' "
                       "(did you mean 'threads'?)\n"
                       "SERAPH_LOG__LEVL: unknown key 'levl' in 'log' (did you "
                       "mean 'level'?)"));
}

TEST(ClusterConfigTest, EveryKeyIsFoundByItsMisspelling) {
  for (const KeyInfo& key : DescribeClusterConfig()) {
    const std::vector<std::string> path = absl::StrSplit(key.path, '.');
    const std::string name = path.back();
    const std::string bad = absl::StrCat(name, "x");
    const std::string text = path.size() == 1
                                 ? absl::StrCat(bad, ": 1\n")
                                 : absl::StrCat(path[0], ": {", bad, ": 1}\n");
    EXPECT_THAT(ParseClusterConfig(File(text)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("unknown key '", bad, "'"))));
    EXPECT_THAT(
        ParseClusterConfig(File(text)),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr(absl::StrCat("(did you mean '", name, "'?)"))));
  }
}

TEST(LoadClusterConfigTest, ReadsTheEnvironmentAndNoFileForAnEmptyPath) {
  ASSERT_EQ(setenv("SERAPH_TABLES__PARTITIONS", "77", /*overwrite=*/1), 0);
  const auto loaded = LoadClusterConfig("", {"worker.slots=5"});
  unsetenv("SERAPH_TABLES__PARTITIONS");
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->config.tables.partitions, 77);
  EXPECT_EQ(loaded->config.worker.slots, 5);
  EXPECT_THAT(
      LoadClusterConfig("/no/such.yaml", {}),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such.yaml")));
}

}  // namespace
}  // namespace seraph
