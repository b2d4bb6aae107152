// The main function of every daemon: flags, configuration, logs, signals,
// readiness, exit code.
//
//   absl::Status Run(DaemonContext* context) {
//     ... start ...
//     context->Ready(server->address());
//     context->stop()->Wait();
//     ... stop in good order ...
//     return absl::OkStatus();
//   }
//
//   int main(int argc, char** argv) {
//     return seraph::DaemonMain(argc, argv, {.name = "seraph-server", ...},
//                               Run);
//   }
#ifndef SERAPH_COMMON_DAEMON_DAEMON_MAIN_H_
#define SERAPH_COMMON_DAEMON_DAEMON_MAIN_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/concurrent/notification.h"
#include "common/config/cluster_config.h"
#include "common/daemon/daemon_info.h"

namespace seraph {

// What a daemon's run function gets. Threads: every method may be called from
// any thread.
class DaemonContext {
 public:
  virtual ~DaemonContext() = default;

  virtual const ClusterConfig& config() const = 0;

  // Notified by the first SIGTERM or SIGINT; may be notified by the daemon.
  virtual Notification* stop() = 0;

  // Says once that the daemon serves at `address`: names the node in the logs,
  // logs "server.ready address=...", writes --ready-file (the address and a
  // line end, under its final name only when complete), tells systemd.
  // Errors: the file cannot be written.
  virtual absl::Status Ready(absl::string_view address) = 0;
};

// Flags:
//   --config FILE            the cluster file
//   --set path=value         over environment, file and default; repeatable
//   --listen ADDRESS         --set SECTION.listen=ADDRESS
//   --scheduler ADDRESS      --set cluster.scheduler=ADDRESS (not of the
//                            scheduler itself)
//   --check                  validate, print the effective configuration, exit
//   --ready-file FILE        see DaemonContext::Ready
//   --exit-with-parent PID   SIGTERM to this process when its parent ends; PID
//                            is that parent, whose main thread started us. If
//                            it has ended already, exits at once.
//   --version, --help
//
// Returns 0 after a clean end; 1 when `run` failed; 2 for wrong usage or an
// invalid configuration. The first SIGTERM or SIGINT notifies the stop signal;
// the second ends the process at once with 1. SIGPIPE is ignored.
//
// To be called from main, before any thread is started.
int DaemonMain(int argc, char** argv, const DaemonInfo& info,
               absl::AnyInvocable<absl::Status(DaemonContext*)> run);

}  // namespace seraph

#endif  // SERAPH_COMMON_DAEMON_DAEMON_MAIN_H_
