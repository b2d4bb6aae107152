#include "common/daemon/daemon_main.h"
#include "common/daemon/thread_caches.h"
#include "worker/worker.h"

int main(int argc, char** argv) {
  seraph::EnlargeThreadCaches(argv);
  return seraph::DaemonMain(
      argc, argv,
      {.name = "seraph-worker",
       .section = "worker",
       .summary = "Reads training data, pulls weights, and pushes gradients."},
      seraph::RunWorker);
}
