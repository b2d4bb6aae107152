// The cluster file: one file for scheduler, servers and workers.
//
// Each value comes from the first of these that gives it: `--set path=value`,
// the environment (SERAPH_SECTION__KEY), the file, the default below.
// docs/job-reference.md lists every key; a test holds page and code together.
#ifndef SERAPH_COMMON_CONFIG_CLUSTER_CONFIG_H_
#define SERAPH_COMMON_CONFIG_CLUSTER_CONFIG_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/config/key_info.h"

namespace seraph {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };
enum class StoreKind { kSqlite, kEtcd, kMemory };

// Plain data; every default is usable. Addresses are host:port, an IPv6 host in
// brackets; port 0 of a `listen` picks a free port.
struct ClusterConfig {
  struct Cluster {
    std::string name = "seraph";
    // Where everybody finds it; of several "host:port,host:port".
    std::string scheduler = "127.0.0.1:7400";
    friend bool operator==(const Cluster&, const Cluster&) = default;
  };

  struct Scheduler {
    std::string listen = "127.0.0.1:7400";
    std::string advertise;  // "": the address that it listens on.
    StoreKind store = StoreKind::kSqlite;
    std::string state_directory;    // "": scheduler/io/state_folder.h.
    std::vector<std::string> etcd;  // Addresses of its members.
    absl::Duration etcd_lease = absl::Seconds(5);
    // Of jobs that name none. "": in state_directory.
    std::string checkpoint_directory;
    absl::Duration heartbeat_interval = absl::Seconds(1);
    // The lease: a node that is silent for longer is dead.
    absl::Duration heartbeat_timeout = absl::Seconds(5);
    friend bool operator==(const Scheduler&, const Scheduler&) = default;
  };

  struct Server {
    std::string listen = "127.0.0.1:7401";
    std::string advertise;  // "": the address that it listens on.
    uint64_t memory_limit_bytes = uint64_t{4} << 30;
    // Of requests that are not answered yet. 0: an eighth of memory_limit.
    uint64_t inflight_limit_bytes = 0;
    uint32_t threads = 0;  // 0: one per core.
    // Of writing while there are requests, a second. 0: no limit.
    uint64_t checkpoint_rate_bytes = uint64_t{48} << 20;
    // How long a stopping server waits for others to take over.
    absl::Duration drain_timeout = absl::Seconds(30);
    // Shared libraries with functions of users: docs/functions.md.
    std::vector<std::string> functions;
    bool noop = false;  // Answers, and does nothing else: for measurements.
    friend bool operator==(const Server&, const Server&) = default;
  };

  struct Worker {
    std::string listen = "127.0.0.1:7402";
    std::string advertise;        // "": the address that it listens on.
    uint32_t slots = 64;          // Ranks that it runs side by side.
    uint32_t threads = 0;         // 0: one per core.
    std::string spool_directory;  // "": the system's temporary folder.
    uint64_t memory_limit_bytes = uint64_t{1} << 30;
    friend bool operator==(const Worker&, const Worker&) = default;
  };

  struct Tables {
    uint32_t partitions = 8;  // For jobs that do not say.
    friend bool operator==(const Tables&, const Tables&) = default;
  };

  struct Rpc {
    absl::Duration call_timeout = absl::Seconds(10);
    absl::Duration retry_backoff = absl::Milliseconds(20);
    absl::Duration retry_backoff_max = absl::Seconds(2);
    uint64_t max_message_bytes = uint64_t{64} << 20;
    absl::Duration shutdown_grace = absl::Seconds(5);
    friend bool operator==(const Rpc&, const Rpc&) = default;
  };

  // Between processes of one machine.
  struct Transport {
    bool unix_sockets = true;
    bool shared_memory = true;
    friend bool operator==(const Transport&, const Transport&) = default;
  };

  struct Log {
    LogLevel level = LogLevel::kInfo;
    LogFormat format = LogFormat::kText;
    std::string file;  // "": standard error.
    friend bool operator==(const Log&, const Log&) = default;
  };

  Cluster cluster;
  Scheduler scheduler;
  Server server;
  Worker worker;
  Tables tables;
  Rpc rpc;
  Transport transport;
  Log log;

  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};

// Where the values come from. Plain data, so that a test needs no environment.
struct ClusterConfigSources {
  std::string file_name;  // For messages; "": there is no file.
  std::string text;       // The file's contents.
  std::map<std::string, std::string> environment;  // All of it; names matter.
  std::vector<std::string> sets;                   // "path=value", later wins.
};

struct LoadedClusterConfig {
  ClusterConfig config;
  // Path of each value that is not a default -> "cluster.yaml:3:9",
  // "SERAPH_LOG__LEVEL" or "--set log.level".
  std::map<std::string, std::string> origins;
};

// Errors: InvalidArgument with one line for each problem, all of them at once:
//   cluster.yaml:7:3: unknown key 'listn' in 'server' (did you mean 'listen'?)
absl::StatusOr<LoadedClusterConfig> ParseClusterConfig(
    const ClusterConfigSources& sources);

// Reads `path` ("" for none) and this process's environment, then parses.
// Errors: as ParseClusterConfig; NotFound or PermissionDenied for the file.
absl::StatusOr<LoadedClusterConfig> LoadClusterConfig(
    const std::string& path, const std::vector<std::string>& sets);

// Every value as YAML that reads back to the same struct, each with a comment
// that names its origin: what `--check` prints.
std::string EffectiveConfig(const LoadedClusterConfig& loaded);

// Every key, in the file's order.
std::vector<KeyInfo> DescribeClusterConfig();

}  // namespace seraph

#endif  // SERAPH_COMMON_CONFIG_CLUSTER_CONFIG_H_
