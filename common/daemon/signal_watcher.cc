#include "common/daemon/signal_watcher.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "common/concurrent/thread_name.h"

namespace seraph {
namespace {

int BlockAndOpen() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

}  // namespace

SignalWatcher::SignalWatcher(absl::AnyInvocable<void(int signal)> on_first)
    : on_first_(std::move(on_first)),
      signals_(BlockAndOpen()),
      end_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { Run(); }) {}

SignalWatcher::~SignalWatcher() {
  eventfd_write(end_, 1);
  thread_.join();
  close(signals_);
  close(end_);
}

void SignalWatcher::Run() {
  NameThisThread("signals");
  bool first = true;
  while (true) {
    pollfd waits[] = {{signals_, POLLIN, 0}, {end_, POLLIN, 0}};
    poll(waits, 2, /*timeout=*/-1);
    if (waits[1].revents != 0) return;
    if (waits[0].revents == 0) continue;
    signalfd_siginfo signal = {};
    if (read(signals_, &signal, sizeof(signal)) != sizeof(signal)) continue;
    if (!std::exchange(first, false)) _exit(1);
    on_first_(static_cast<int>(signal.ssi_signo));
  }
}

}  // namespace seraph
