#include "client/local/local_cluster.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status/status_macros.h"
#include "common/time/clock.h"

namespace seraph {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(5);
constexpr size_t kTailLines = 20;
constexpr char kAnyPort[] = "127.0.0.1:0";
constexpr char kFolderPrefix[] = "seraph-run-";
constexpr char kLockFile[] = "/lock";

// Locks the folder's lock file, and makes it where `create` says so; -1 if that
// is not possible. The lock ends with the descriptor or the process.
int LockFolder(const std::string& folder, bool create) {
  const int fd = open((folder + kLockFile).c_str(),
                      O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0600);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

// Removes what clusters left whose process was killed: their lock files are
// there, and nobody holds them. Folders that are to stay have none.
void RemoveStaleFolders(const std::string& directory) {
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory, error)) {
    if (!absl::StartsWith(entry.path().filename().string(), kFolderPrefix)) {
      continue;
    }
    const int fd = LockFolder(entry.path().string(), /*create=*/false);
    if (fd < 0) continue;
    std::filesystem::remove_all(entry.path(), error);
    close(fd);
  }
}

// The first line of the file, which has its name only when it is complete.
std::optional<std::string> ReadLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line) || line.empty()) return std::nullopt;
  return line;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalCluster>> LocalCluster::Start(
    const LocalClusterOptions& options, Interrupt* interrupt) {
  RemoveStaleFolders(options.temporary_directory);
  std::string folder =
      absl::StrCat(options.temporary_directory, "/", kFolderPrefix, "XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot create a folder for the local cluster in '",
                            options.temporary_directory, "'"));
  }
  auto cluster =
      absl::WrapUnique(new LocalCluster(options, interrupt, std::move(folder)));
  SERAPH_RETURN_IF_ERROR(cluster->StartAll());
  return cluster;
}

LocalCluster::LocalCluster(const LocalClusterOptions& options,
                           Interrupt* interrupt, std::string folder)
    : options_(options),
      interrupt_(*interrupt),
      folder_(std::move(folder)),
      lock_fd_(LockFolder(folder_, /*create=*/true)) {}

LocalCluster::~LocalCluster() {
  Stop();
  if (lock_fd_ >= 0) close(lock_fd_);
}

absl::Status LocalCluster::StartAll() {
  SERAPH_RETURN_IF_ERROR(
      StartDaemon(options_.daemons.scheduler, "scheduler",
                  {"--set", absl::StrCat("scheduler.state_directory=", folder_,
                                         "/scheduler-state")}));
  SERAPH_ASSIGN_OR_RETURN(const std::vector<std::string> addresses,
                          WaitUntilReady(0));
  scheduler_address_ = addresses[0];
  for (int i = 0; i < options_.servers; ++i) {
    SERAPH_RETURN_IF_ERROR(StartDaemon(options_.daemons.server,
                                       absl::StrCat("server-", i),
                                       {"--scheduler", scheduler_address_}));
  }
  for (int i = 0; i < options_.workers; ++i) {
    // All of them spool into one folder: they share what they decompress.
    SERAPH_RETURN_IF_ERROR(
        StartDaemon(options_.daemons.worker, absl::StrCat("worker-", i),
                    {"--scheduler", scheduler_address_, "--set",
                     absl::StrCat("worker.spool_directory=", folder_, "/spool"),
                     // No other worker will come: all ranks find room in these.
                     "--set", "worker.slots=4096"}));
  }
  return WaitUntilReady(1).status();
}

absl::Status LocalCluster::StartDaemon(
    const std::string& program, const std::string& name,
    const std::vector<std::string>& arguments) {
  ChildProcessOptions child;
  child.name = name;
  child.log_path = absl::StrCat(folder_, "/", name, ".log");
  child.environment = LocalEnvironment(options_.environment);
  child.argv = {program,
                "--listen",
                kAnyPort,
                "--ready-file",
                ReadyFile(name),
                "--exit-with-parent",
                absl::StrCat(getpid())};
  child.argv.insert(child.argv.end(), arguments.begin(), arguments.end());
  for (const std::string& set : options_.sets) {
    child.argv.push_back("--set");
    child.argv.push_back(set);
  }
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> process,
                          ChildProcess::Start(child));
  daemons_.push_back({std::move(child), std::move(process)});
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> LocalCluster::WaitUntilReady(
    size_t from) {
  const MonotonicClock& clock = *MonotonicClock::Real();
  const absl::Duration end = clock.Now() + options_.start_timeout;
  std::vector<std::string> addresses;
  while (true) {
    // Before the ready files: one that ended after it was ready is noticed.
    SERAPH_RETURN_IF_ERROR(ReviveKilled().status());
    while (from + addresses.size() < daemons_.size()) {
      const ChildProcess& next = *daemons_[from + addresses.size()].process;
      std::optional<std::string> address = ReadLine(ReadyFile(next.name()));
      if (!address.has_value()) break;
      addresses.push_back(*std::move(address));
    }
    if (from + addresses.size() == daemons_.size()) return addresses;
    const ChildProcess& waited_for = *daemons_[from + addresses.size()].process;
    if (clock.Now() >= end) {
      KeepFolder();
      return absl::DeadlineExceededError(absl::StrCat(
          waited_for.name(), " of the local cluster is not ready after ",
          absl::FormatDuration(options_.start_timeout),
          "; its last log lines:\n", waited_for.LogTail(kTailLines),
          "all of its log: ", waited_for.log_path()));
    }
    if (interrupt_.WaitFor(kPollInterval)) {
      return absl::CancelledError("interrupted");
    }
  }
}

std::vector<pid_t> LocalCluster::server_processes() const {
  return Processes(1, options_.servers);
}

std::vector<pid_t> LocalCluster::worker_processes() const {
  return Processes(1 + options_.servers, options_.workers);
}

std::vector<pid_t> LocalCluster::Processes(size_t first, size_t count) const {
  std::vector<pid_t> processes;
  for (size_t i = first; i < first + count; ++i) {
    processes.push_back(daemons_[i].process->pid());
  }
  return processes;
}

absl::Status LocalCluster::Check() {
  for (const Daemon& daemon : daemons_) {
    const std::optional<std::string>& end = daemon.process->Poll();
    if (end.has_value()) return ErrorOf(daemon, *end);
  }
  return absl::OkStatus();
}

absl::Status LocalCluster::ErrorOf(const Daemon& daemon,
                                   const std::string& end) {
  KeepFolder();
  const ChildProcess& process = *daemon.process;
  return absl::InternalError(absl::StrCat(
      process.name(), " of the local cluster ", end, "; its last log lines:\n",
      process.LogTail(kTailLines), "all of its log: ", process.log_path()));
}

absl::StatusOr<std::vector<std::string>> LocalCluster::Revive() {
  std::vector<std::string> done;
  for (Daemon& daemon : daemons_) {
    const std::optional<std::string>& end = daemon.process->Poll();
    if (!end.has_value()) continue;
    if (daemon.restarts >= options_.restarts) return ErrorOf(daemon, *end);
    ++daemon.restarts;
    if (&daemon == &daemons_.front() && !scheduler_address_.empty()) {
      // Where everybody looks for it.
      for (std::string& argument : daemon.command.argv) {
        if (argument == kAnyPort) argument = scheduler_address_;
      }
    }
    std::error_code error;
    std::filesystem::remove(ReadyFile(daemon.command.name), error);
    done.push_back(
        absl::StrCat(daemon.command.name, " ", *end, "; it is started again"));
    SERAPH_ASSIGN_OR_RETURN(daemon.process,
                            ChildProcess::Start(daemon.command));
  }
  return done;
}

absl::StatusOr<std::vector<std::string>> LocalCluster::ReviveKilled() {
  for (const Daemon& daemon : daemons_) {
    const std::optional<std::string>& end = daemon.process->Poll();
    if (end.has_value() && !daemon.process->killed()) {
      return ErrorOf(daemon, *end);
    }
  }
  return Revive();
}

void LocalCluster::Stop() {
  if (daemons_.size() > 1) StopDaemons(1, daemons_.size());
  StopDaemons(0, daemons_.size());
  daemons_.clear();
  std::error_code error;
  std::filesystem::remove_all(keep_folder_ ? folder_ + kLockFile : folder_,
                              error);
}

void LocalCluster::StopDaemons(size_t begin, size_t end) {
  const MonotonicClock& clock = *MonotonicClock::Real();
  const absl::Duration deadline = clock.Now() + options_.stop_timeout;
  const int interrupts = interrupt_.times();
  for (size_t i = begin; i < end; ++i) daemons_[i].process->Signal(SIGTERM);
  for (size_t i = begin; i < end; ++i) {
    while (!daemons_[i].process->Poll().has_value()) {
      if (clock.Now() >= deadline || interrupt_.times() > interrupts) {
        daemons_[i].process.reset();  // Kills it.
        break;
      }
      interrupt_.WaitFor(kPollInterval, interrupts);
    }
  }
  std::erase_if(daemons_,
                [](const Daemon& daemon) { return daemon.process == nullptr; });
}

std::string LocalCluster::ReadyFile(const std::string& name) const {
  return absl::StrCat(folder_, "/", name, ".ready");
}

std::vector<std::string> LocalEnvironment(
    const std::vector<std::string>& environment) {
  std::vector<std::string> local;
  for (const std::string& entry : environment) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    const absl::string_view name = parts.first;
    const bool elsewhere =
        absl::StartsWith(name, "SERAPH_") &&
        (absl::StartsWith(name, "SERAPH_CLUSTER__") ||
         absl::EndsWith(name, "__LISTEN") ||
         absl::EndsWith(name, "__ADVERTISE") ||
         absl::EndsWith(name, "_DIRECTORY") || name == "SERAPH_LOG__FILE");
    if (!elsewhere) local.push_back(entry);
  }
  return local;
}

}  // namespace seraph
