#include "common/config/cluster_config.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/config/address.h"
#include "common/config/config_file.h"
#include "common/config/overrides.h"
#include "common/config/problems.h"
#include "common/config/yaml_reader.h"
#include "common/config/yaml_tree.h"
#include "common/config/yaml_writer.h"
#include "common/status/status_macros.h"

extern char** environ;

namespace seraph {
namespace {

using Cluster = ClusterConfig::Cluster;
using Scheduler = ClusterConfig::Scheduler;
using Server = ClusterConfig::Server;
using Worker = ClusterConfig::Worker;
using Rpc = ClusterConfig::Rpc;
using Transport = ClusterConfig::Transport;
using Log = ClusterConfig::Log;

constexpr std::pair<LogLevel, absl::string_view> kLogLevels[] = {
    {LogLevel::kDebug, "debug"},
    {LogLevel::kInfo, "info"},
    {LogLevel::kWarn, "warn"},
    {LogLevel::kError, "error"},
};

constexpr std::pair<LogFormat, absl::string_view> kLogFormats[] = {
    {LogFormat::kText, "text"},
    {LogFormat::kJson, "json"},
};

constexpr std::pair<StoreKind, absl::string_view> kStoreKinds[] = {
    {StoreKind::kSqlite, "sqlite"},
    {StoreKind::kEtcd, "etcd"},
    {StoreKind::kMemory, "memory"},
};

constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;
constexpr double kGiB = 1024 * kMiB;

enum class Port { kAny, kNotZero };

void CheckAddress(Section& section, absl::string_view key,
                  const std::string& text, Port wanted) {
  const absl::StatusOr<Address> address = ParseAddress(text);
  if (!address.ok()) {
    section.Complain(key, address.status().message());
  } else if (wanted == Port::kNotZero && address->port == 0) {
    section.Complain(key, "the port is not in 1..65535");
  }
}

void VisitListen(Section& section, std::string* listen) {
  section
      .Key("listen",
           "Where it takes calls. Port 0 picks a free port and logs it; the "
           "host 0.0.0.0 or [::] takes calls on every interface.")
      .Bind(listen);
  CheckAddress(section, "listen", *listen, Port::kAny);
}

void VisitAdvertise(Section& section, std::string* advertise) {
  section
      .Key("advertise",
           "The address under which others reach it. Empty: the one that it "
           "listens on, with the machine's name in place of 0.0.0.0 or [::]. "
           "Port 0 stands for the port that it listens on.")
      .Bind(advertise);
  if (!advertise->empty()) {
    CheckAddress(section, "advertise", *advertise, Port::kAny);
  }
}

void VisitCluster(Section& section, Cluster* cluster) {
  section
      .Key("name",
           "Daemons of another cluster name are refused at registration.")
      .NotEmpty()
      .Bind(&cluster->name);
  section
      .Key("scheduler",
           "Where servers, workers and the command line find the scheduler; "
           "of several schedulers all addresses, with commas between them.")
      .Bind(&cluster->scheduler);
  for (const absl::string_view address :
       absl::StrSplit(cluster->scheduler, ',')) {
    const absl::string_view one = absl::StripAsciiWhitespace(address);
    CheckAddress(section, "scheduler", std::string(one.data(), one.size()),
                 Port::kNotZero);
  }
}

void VisitScheduler(Section& section, Scheduler* scheduler) {
  VisitListen(section, &scheduler->listen);
  VisitAdvertise(section, &scheduler->advertise);
  section
      .Key("store",
           "What keeps the scheduler's records over its restart. sqlite: a "
           "file in state_directory. etcd: the members named by etcd, so that "
           "another scheduler can take over. memory: nothing.")
      .BindChoice<StoreKind>(&scheduler->store, kStoreKinds);
  section
      .Key("state_directory",
           "Where the scheduler keeps its files, on a local disk. Made when "
           "absent. Empty: seraph/NAME-PORT in $XDG_STATE_HOME or "
           "~/.local/state; where listen has port 0 or there is no home, a "
           "temporary folder, and nothing is kept over a restart.")
      .Bind(&scheduler->state_directory);
  section
      .Key("etcd",
           "Addresses of the members of an etcd cluster, of version 3.4 or "
           "later; for store etcd. Its history is compacted.")
      .Bind(&scheduler->etcd);
  for (const std::string& address : scheduler->etcd) {
    CheckAddress(section, "etcd", address, Port::kNotZero);
  }
  if (scheduler->store == StoreKind::kEtcd && scheduler->etcd.empty()) {
    section.Complain("etcd", "store etcd needs the addresses of its members");
  }
  section
      .Key("etcd_lease",
           "How long a leading scheduler that is not heard of keeps others "
           "from leading. etcd may make it longer, and counts in whole "
           "seconds.")
      .Between(1, 60)
      .Bind(&scheduler->etcd_lease);
  section
      .Key(
          "checkpoint_directory",
          "Where checkpoints go that a job without `checkpoint` is asked for. "
          "The scheduler and all servers must see it at the same place. Empty: "
          "`checkpoints` in state_directory.")
      .Bind(&scheduler->checkpoint_directory);
  section
      .Key("heartbeat_interval",
           "How often a server or worker says it is here.")
      .Between(0.01, 60)
      .Bind(&scheduler->heartbeat_interval);
  section
      .Key("heartbeat_timeout",
           "The lease: a server or worker that is silent for longer is dead. "
           "At least twice the interval.")
      .Between(0.05, 600)
      .Bind(&scheduler->heartbeat_timeout);
  if (scheduler->heartbeat_timeout < 2 * scheduler->heartbeat_interval) {
    section.Complain(
        "heartbeat_timeout",
        absl::StrCat(absl::FormatDuration(scheduler->heartbeat_timeout),
                     " is less than twice heartbeat_interval (",
                     absl::FormatDuration(scheduler->heartbeat_interval),
                     "): one lost heartbeat would be a death"));
  }
}

void VisitThreads(Section& section, uint32_t* threads) {
  section.Key("threads", "Threads that compute. 0: one for each core.")
      .Between(0, 1024)
      .Bind(threads);
}

void VisitServer(Section& section, Server* server) {
  VisitListen(section, &server->listen);
  VisitAdvertise(section, &server->advertise);
  section
      .Key("memory_limit",
           "Memory for tables and for pushes on their way. A job that does not "
           "fit fails, and says so.")
      .Between(16 * kMiB, 16384 * kGiB)
      .BindSize(&server->memory_limit_bytes);
  section
      .Key("inflight_limit",
           "Memory for requests that are not answered yet; beyond it clients "
           "are told to try again. 0B: an eighth of memory_limit.")
      .Between(0, 16384 * kGiB)
      .BindSize(&server->inflight_limit_bytes);
  VisitThreads(section, &server->threads);
  section
      .Key("checkpoint_rate",
           "What it writes of checkpoints in a second, at most, while it has "
           "requests to work on. 0B: as fast as the disk takes it.")
      .Between(0, 16384 * kGiB)
      .BindSize(&server->checkpoint_rate_bytes);
  section
      .Key("drain_timeout",
           "How long it stays after SIGTERM until others have taken over what "
           "it holds. 0s: it leaves at once.")
      .Between(0, 3600)
      .Bind(&server->drain_timeout);
  section
      .Key("functions",
           "Paths of shared libraries with functions of your own, which are "
           "loaded at the start: functions.md. All servers need the same.")
      .Bind(&server->functions);
  for (const std::string& path : server->functions) {
    if (!path.empty() && path[0] == '/') continue;
    section.Complain("functions",
                     absl::StrCat("'", path, "' is not an absolute path"));
  }
  section
      .Key("noop",
           "For measurements alone: pulls are answered with zeros and pushes "
           "as taken, and no row is looked at. What then remains is the cost "
           "of the messages. Nothing that trains on such a server learns.")
      .Bind(&server->noop);
}

void VisitWorker(Section& section, Worker* worker) {
  VisitListen(section, &worker->listen);
  VisitAdvertise(section, &worker->advertise);
  section
      .Key("slots",
           "Ranks that it runs side by side. All ranks of a job are placed at "
           "once, or the job waits.")
      .Between(1, 4096)
      .Bind(&worker->slots);
  VisitThreads(section, &worker->threads);
  section
      .Key("spool_directory",
           "For decompressed copies of input files, which the workers of a "
           "machine share. Empty: the system's temporary folder.")
      .Bind(&worker->spool_directory);
  section.Key("memory_limit", "Memory for the records that its ranks hold.")
      .Between(16 * kMiB, 16384 * kGiB)
      .BindSize(&worker->memory_limit_bytes);
}

void VisitTables(Section& section, ClusterConfig::Tables* tables) {
  section
      .Key("partitions",
           "Partitions of each table of a job that does not say. A table has "
           "no more than its keys allow.")
      .Between(1, 4096)
      .Bind(&tables->partitions);
}

void VisitRpc(Section& section, Rpc* rpc) {
  section.Key("call_timeout", "Deadline of a call that waits for nobody.")
      .Between(0.01, 3600)
      .Bind(&rpc->call_timeout);
  section
      .Key("retry_backoff",
           "Wait before the first retry; doubles with each, with jitter.")
      .Between(0.001, 60)
      .Bind(&rpc->retry_backoff);
  section.Key("retry_backoff_max", "The longest wait between retries.")
      .Between(0.001, 600)
      .Bind(&rpc->retry_backoff_max);
  if (rpc->retry_backoff_max < rpc->retry_backoff) {
    section.Complain(
        "retry_backoff_max",
        absl::StrCat(absl::FormatDuration(rpc->retry_backoff_max),
                     " is less than retry_backoff (",
                     absl::FormatDuration(rpc->retry_backoff), ")"));
  }
  section
      .Key("max_message",
           "The largest message that a daemon takes. Larger pulls and pushes "
           "are cut into chunks.")
      .Between(1 * kMiB, 1 * kGiB)
      .BindSize(&rpc->max_message_bytes);
  section
      .Key("shutdown_grace",
           "How long calls may go on after SIGTERM before they are cut off.")
      .Between(0, 3600)
      .Bind(&rpc->shutdown_grace);
}

void VisitTransport(Section& section, Transport* transport) {
  section
      .Key("unix_sockets",
           "Servers take calls of workers and servers of the same machine on "
           "unix sockets, which are faster than TCP.")
      .Bind(&transport->unix_sockets);
  section
      .Key("shared_memory",
           "Over such a socket large messages lie in memory that both ends "
           "share, where both may open it.")
      .Bind(&transport->shared_memory);
}

void VisitLog(Section& section, Log* log) {
  section.Key("level", "The least severe lines that are written.")
      .BindChoice<LogLevel>(&log->level, kLogLevels);
  section.Key("format", "Lines for people, or a JSON object on each.")
      .BindChoice<LogFormat>(&log->format, kLogFormats);
  section.Key("file", "Lines are added to it. Empty: standard error.")
      .Bind(&log->file);
}

void VisitClusterConfig(Section& root, ClusterConfig* config) {
  root.Map("cluster", "What all daemons share.",
           [&](Section& s) { VisitCluster(s, &config->cluster); });
  root.Map("scheduler", "The scheduler.",
           [&](Section& s) { VisitScheduler(s, &config->scheduler); });
  root.Map("server", "Each server.",
           [&](Section& s) { VisitServer(s, &config->server); });
  root.Map("worker", "Each worker.",
           [&](Section& s) { VisitWorker(s, &config->worker); });
  root.Map("tables", "Tables of jobs that do not say it themselves.",
           [&](Section& s) { VisitTables(s, &config->tables); });
  root.Map("rpc", "Calls between the daemons.",
           [&](Section& s) { VisitRpc(s, &config->rpc); });
  root.Map("transport", "Between processes of one machine.",
           [&](Section& s) { VisitTransport(s, &config->transport); });
  root.Map("log", "What each daemon writes about itself.",
           [&](Section& s) { VisitLog(s, &config->log); });
}

std::map<std::string, std::string> Environment() {
  std::map<std::string, std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    environment.insert(absl::StrSplit(*entry, absl::MaxSplits('=', 1)));
  }
  return environment;
}

}  // namespace

absl::StatusOr<LoadedClusterConfig> ParseClusterConfig(
    const ClusterConfigSources& sources) {
  Problems problems;
  std::optional<YamlNode> parsed =
      ParseYaml(sources.text, sources.file_name, /*lines=*/true, &problems);
  if (!parsed.has_value()) return problems.ToStatus();
  YamlNode root = *std::move(parsed);
  ApplyEnvironment(sources.environment, &root, &problems);
  for (const std::string& set : sources.sets) ApplySet(set, &root, &problems);
  LoadedClusterConfig loaded;
  ReadConfig(
      root, DescribeClusterConfig(),
      [&](Section& s) { VisitClusterConfig(s, &loaded.config); }, &problems,
      &loaded.origins);
  SERAPH_RETURN_IF_ERROR(problems.ToStatus());
  return loaded;
}

absl::StatusOr<LoadedClusterConfig> LoadClusterConfig(
    const std::string& path, const std::vector<std::string>& sets) {
  ClusterConfigSources sources;
  sources.file_name = path;
  if (!path.empty()) {
    SERAPH_ASSIGN_OR_RETURN(sources.text, ReadConfigFile(path));
  }
  sources.environment = Environment();
  sources.sets = sets;
  return ParseClusterConfig(sources);
}

std::string EffectiveConfig(const LoadedClusterConfig& loaded) {
  ClusterConfig config = loaded.config;
  const YamlNode root =
      WriteConfig([&](Section& s) { VisitClusterConfig(s, &config); });
  return WriteYaml(root, [&](absl::string_view path) -> std::string {
    const auto origin = loaded.origins.find(std::string(path));
    return origin == loaded.origins.end() ? "default" : origin->second;
  });
}

std::vector<KeyInfo> DescribeClusterConfig() {
  ClusterConfig config;
  return DescribeConfig([&](Section& s) { VisitClusterConfig(s, &config); });
}

}  // namespace seraph
