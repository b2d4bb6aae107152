#include "common/daemon/daemon_main.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/daemon/daemon_flags.h"
#include "common/daemon/heap.h"
#include "common/daemon/signal_watcher.h"
#include "common/daemon/supervisor.h"
#include "common/io/atomic_file.h"
#include "common/log/log.h"
#include "common/status/status_macros.h"
#include "common/version/version.h"

namespace seraph {
namespace {

constexpr int kFailed = 1;
constexpr int kInvalid = 2;

int Complain(const DaemonInfo& info, const absl::Status& status, int code) {
  std::fprintf(stderr, "%s: %s\n", info.name.c_str(),
               std::string(status.message()).c_str());
  return code;
}

void TellSupervisor(absl::string_view state) {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  if (socket == nullptr) return;
  if (const absl::Status told = NotifySupervisor(socket, state); !told.ok()) {
    spdlog::warn("supervisor.notify_failed status={} next=go_on",
                 LogValue(told));
  }
}

absl::Status WriteReadyFile(const std::string& path,
                            absl::string_view address) {
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<AtomicFile> file,
                          AtomicFile::Create(path));
  SERAPH_RETURN_IF_ERROR(file->Append(absl::StrCat(address, "\n")));
  return file->Commit();
}

class Context final : public DaemonContext {
 public:
  Context(const ClusterConfig& config, const DaemonInfo& info,
          const std::string& ready_file)
      : config_(config), info_(info), ready_file_(ready_file) {}

  const ClusterConfig& config() const override { return config_; }
  Notification* stop() override { return &stop_; }

  absl::Status Ready(absl::string_view address) override {
    SetLogNode(address);
    spdlog::info("{}.ready address={} version={} pid={}", info_.section,
                 address, kVersion, getpid());
    if (!ready_file_.empty()) {
      SERAPH_RETURN_IF_ERROR(WriteReadyFile(ready_file_, address));
    }
    TellSupervisor("READY=1");
    return absl::OkStatus();
  }

 private:
  const ClusterConfig& config_;
  const DaemonInfo& info_;
  const std::string& ready_file_;
  Notification stop_;
};

}  // namespace

int DaemonMain(int argc, char** argv, const DaemonInfo& info,
               absl::AnyInvocable<absl::Status(DaemonContext*)> run) {
  const ParsedFlags parsed = ParseDaemonFlags(argc, argv, info);
  if (!parsed.flags.has_value()) {
    std::fputs(parsed.text.c_str(), parsed.exit_code == 0 ? stdout : stderr);
    return parsed.exit_code;
  }
  const DaemonFlags& flags = *parsed.flags;
  const absl::StatusOr<LoadedClusterConfig> loaded =
      LoadClusterConfig(flags.config, flags.sets);
  if (!loaded.ok()) return Complain(info, loaded.status(), kInvalid);
  if (flags.check) {
    std::fputs(EffectiveConfig(*loaded).c_str(), stdout);
    return 0;
  }

  if (flags.parent != 0) {
    const absl::Status bound = EndWithParent(flags.parent);
    if (!bound.ok()) return Complain(info, bound, kFailed);
  }
  signal(SIGPIPE, SIG_IGN);  // A peer that is gone is an error of a write.
  RaiseDescriptorLimit();
  KeepFreedMemory();
  // gRPC's locks are Abseil's, which as Debian builds it looks for cycles of
  // them at each one that is taken.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const ClusterConfig& config = loaded->config;
  if (const absl::Status set_up = SetUpLogging(config.log, info.section);
      !set_up.ok()) {
    return Complain(info, set_up, kFailed);
  }

  Context context(config, info, flags.ready_file);
  absl::Status result;
  {
    const SignalWatcher watcher([&](int number) {
      spdlog::info("{}.stopping signal={}", info.section,
                   number == SIGINT ? "SIGINT" : "SIGTERM");
      TellSupervisor("STOPPING=1");
      context.stop()->Notify();
    });
    spdlog::info("{}.starting version={} pid={} config={}", info.section,
                 kVersion, getpid(), LogValue(flags.config));
    result = run(&context);
  }
  if (result.ok()) {
    spdlog::info("{}.stopped", info.section);
    return 0;
  }
  spdlog::error("{}.failed status={} next=exit", info.section,
                LogValue(result));
  if (!config.log.file.empty()) Complain(info, result, kFailed);
  return kFailed;
}

}  // namespace seraph
