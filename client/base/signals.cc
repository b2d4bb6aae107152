#include "client/base/signals.h"

#include <pthread.h>
#include <unistd.h>

namespace seraph {
namespace {

// Tells the thread to end; nobody else sends it to the thread.
constexpr int kWakeSignal = SIGUSR2;

}  // namespace

SignalWatcher::SignalWatcher(Interrupt* interrupt) : interrupt_(*interrupt) {
  signal(SIGPIPE, SIG_IGN);
  sigemptyset(&watched_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, kWakeSignal}) {
    sigaddset(&watched_, number);
  }
  pthread_sigmask(SIG_BLOCK, &watched_, &old_mask_);
  thread_ = std::thread([this] { Watch(); });
}

SignalWatcher::~SignalWatcher() {
  pthread_kill(thread_.native_handle(), kWakeSignal);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

void SignalWatcher::Watch() {
  while (true) {
    int number = 0;
    if (sigwait(&watched_, &number) != 0) continue;
    if (number == kWakeSignal) return;
    if (interrupt_.times() + 1 >= kTimesToEnd) _exit(130);
    interrupt_.Trigger();
  }
}

}  // namespace seraph
