// A whole cluster of real processes on this machine, for one job.
#ifndef SERAPH_CLIENT_LOCAL_LOCAL_CLUSTER_H_
#define SERAPH_CLIENT_LOCAL_LOCAL_CLUSTER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/base/interrupt.h"
#include "client/local/child_process.h"
#include "client/local/daemon_paths.h"

namespace seraph {

struct LocalClusterOptions {
  DaemonPaths daemons;
  int servers = 1;
  int workers = 1;
  std::vector<std::string> sets;         // "path=value" of the cluster file.
  std::vector<std::string> environment;  // "NAME=value"; all of it.
  std::string temporary_directory = "/tmp";  // The cluster's folder goes there.
  absl::Duration start_timeout = absl::Seconds(60);
  // From the request to end to the kill; longer than the daemons' own.
  absl::Duration stop_timeout = absl::Seconds(10);
  // How often each daemon that ends before its time is started again.
  int restarts = 20;
};

// One scheduler, and servers and workers that know it, each listening on a free
// port of 127.0.0.1. State and logs are in a folder of the cluster's own, which
// goes with it (or, after a kill -9, with the next cluster's start). The
// daemons end when this process ends, however that happens.
//
// Threads: one at a time, and the one that started it must live as long (see
// ChildProcess).
class LocalCluster {
 public:
  // Returns when all daemons are ready.
  // Errors, after which nothing runs any more: whatever keeps a program from
  // starting; Internal for a daemon that ended, with the last lines of its log;
  // DeadlineExceeded for one that is not ready in time; Cancelled.
  static absl::StatusOr<std::unique_ptr<LocalCluster>> Start(
      const LocalClusterOptions& options, Interrupt* interrupt);

  // Stop().
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  const std::string& scheduler_address() const { return scheduler_address_; }
  const std::string& folder() const { return folder_; }
  // As they were started last.
  std::vector<pid_t> server_processes() const;
  std::vector<pid_t> worker_processes() const;

  // OK while all daemons run; Internal for the first one that ended, with the
  // last lines of its log. The folder then stays, for its logs.
  absl::Status Check();

  // Starts daemons that have ended again: the scheduler finds its job, the job
  // goes on without the others meanwhile. Returns what was done, a line each.
  // Errors: as Check, for a daemon that has ended too often.
  absl::StatusOr<std::vector<std::string>> Revive();

  // The same of daemons that a signal ended. One that ended by itself while it
  // started would do so again: an error, as of Check.
  absl::StatusOr<std::vector<std::string>> ReviveKilled();

  // Ends all daemons, workers and servers before the scheduler: asks them, and
  // kills those that still run after the timeout, or when the user asks to stop
  // from now on. Removes the folder. Returns when nothing runs any more.
  void Stop();

  // The folder stays.
  void KeepFolder() { keep_folder_ = true; }

 private:
  LocalCluster(const LocalClusterOptions& options, Interrupt* interrupt,
               std::string folder);

  absl::Status StartAll();
  struct Daemon {
    ChildProcessOptions command;
    std::unique_ptr<ChildProcess> process;
    int restarts = 0;
  };

  absl::Status StartDaemon(const std::string& program, const std::string& name,
                           const std::vector<std::string>& arguments);
  std::vector<pid_t> Processes(size_t first, size_t count) const;
  absl::Status ErrorOf(const Daemon& daemon, const std::string& end);
  // Waits until daemons_[from, end) have written their ready files; returns the
  // addresses in them.
  absl::StatusOr<std::vector<std::string>> WaitUntilReady(size_t from);
  std::string ReadyFile(const std::string& name) const;
  void StopDaemons(size_t begin, size_t end);

  const LocalClusterOptions options_;
  Interrupt& interrupt_;
  const std::string folder_;
  const int lock_fd_;  // Says that the folder is in use; -1: it has no lock.
  bool keep_folder_ = false;
  std::string scheduler_address_;
  std::vector<Daemon> daemons_;  // Scheduler first.
};

// The environment for the daemons of a local cluster: `environment` without
// what says where daemons of another cluster listen, log or keep their state.
std::vector<std::string> LocalEnvironment(
    const std::vector<std::string>& environment);

}  // namespace seraph

#endif  // SERAPH_CLIENT_LOCAL_LOCAL_CLUSTER_H_
