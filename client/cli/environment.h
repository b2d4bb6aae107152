// What a verb may touch of the world.
#ifndef SERAPH_CLIENT_CLI_ENVIRONMENT_H_
#define SERAPH_CLIENT_CLI_ENVIRONMENT_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/base/interrupt.h"
#include "client/render/terminal.h"
#include "client/rpc/scheduler_client.h"
#include "common/time/clock.h"

namespace seraph {

enum class OutputFormat { kTable, kJson, kYaml };

// The flags that every verb has.
struct GlobalOptions {
  OutputFormat output = OutputFormat::kTable;
  std::string scheduler = "127.0.0.1:7400";  // host:port[,host:port...].
  bool scheduler_given = false;  // By the flag, not by the environment.
  absl::Duration timeout = absl::Seconds(5);
};

// Everything here outlives the verbs.
struct Environment {
  std::ostream* out = nullptr;  // Results, and nothing else.
  std::ostream* err = nullptr;  // All else.
  Terminal err_terminal;        // Of err.
  Interrupt* interrupt = nullptr;
  const MonotonicClock* clock = MonotonicClock::Real();

  // How long a verb that follows something goes on when no scheduler answers:
  // it may be starting again, or another one be taking over.
  absl::Duration scheduler_patience = absl::Seconds(60);
  // Between looks at what changes.
  absl::Duration poll_interval = absl::Milliseconds(500);

  // A client of the scheduler at an address, whose calls take at most a time.
  std::function<std::unique_ptr<SchedulerClient>(const std::string& address,
                                                 absl::Duration timeout)>
      connect;

  // "NAME=value": all of this process's.
  std::vector<std::string> variables;

  // The value of a variable, "" if it is not set.
  std::string Variable(const std::string& name) const;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_CLI_ENVIRONMENT_H_
