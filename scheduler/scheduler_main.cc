#include "common/daemon/daemon_main.h"
#include "common/daemon/thread_caches.h"
#include "scheduler/run_scheduler.h"

int main(int argc, char** argv) {
  seraph::EnlargeThreadCaches(argv);
  return seraph::DaemonMain(
      argc, argv,
      {.name = "seraph-scheduler",
       .section = "scheduler",
       .summary = "Knows who is in the cluster, and runs the jobs on it."},
      seraph::RunScheduler);
}
