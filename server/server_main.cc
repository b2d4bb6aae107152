#include "common/daemon/daemon_main.h"
#include "common/daemon/thread_caches.h"
#include "server/server.h"

int main(int argc, char** argv) {
  seraph::EnlargeThreadCaches(argv);
  return seraph::DaemonMain(
      argc, argv,
      {.name = "seraph-server",
       .section = "server",
       .summary = "Holds partitions of the models' tables and applies updates "
                  "to them."},
      seraph::RunServer);
}
