// The command line. Everything is in the verbs (client/verbs) and around them
// (client/cli); this file only brings them together with the process.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "client/base/interrupt.h"
#include "client/base/signals.h"
#include "client/cli/command_line.h"
#include "client/cli/environment.h"
#include "client/render/terminal.h"
#include "client/rpc/grpc_scheduler_client.h"
#include "client/verbs/verbs.h"
#include "common/daemon/thread_caches.h"

int main(int argc, char** argv) {
  // What is measured has the heap of a worker.
  if (std::find(argv + 1, argv + argc, std::string_view("bench")) !=
      argv + argc) {
    seraph::EnlargeThreadCaches(argv);
  }
  seraph::Interrupt interrupt;
  const seraph::SignalWatcher signals(&interrupt);  // Before other threads.

  seraph::Environment env;
  env.out = &std::cout;
  env.err = &std::cerr;
  env.err_terminal = seraph::DescribeTerminal(
      STDERR_FILENO, [](const char* name) { return std::getenv(name); });
  env.interrupt = &interrupt;
  env.connect = [&interrupt](const std::string& address,
                             absl::Duration timeout) {
    return seraph::MakeGrpcSchedulerClient(address, timeout, &interrupt);
  };
  for (char** variable = environ; *variable != nullptr; ++variable) {
    env.variables.push_back(*variable);
  }
  seraph::CommandLine command_line(seraph::MakeVerbs(), &env);
  return command_line.Run(std::vector<std::string>(argv + 1, argv + argc));
}
