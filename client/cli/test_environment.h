// A world for verbs in tests.
#ifndef SERAPH_CLIENT_CLI_TEST_ENVIRONMENT_H_
#define SERAPH_CLIENT_CLI_TEST_ENVIRONMENT_H_

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "client/base/interrupt.h"
#include "client/cli/command_line.h"
#include "client/cli/environment.h"
#include "client/rpc/fake_scheduler_client.h"

namespace seraph::testing {

// Notes what is printed, and answers calls from a FakeSchedulerClient.
class TestEnvironment {
 public:
  TestEnvironment() {
    env.out = &out_;
    env.err = &err_;
    env.interrupt = &interrupt;
    env.scheduler_patience = absl::ZeroDuration();
    env.poll_interval = absl::ZeroDuration();
    env.connect = [this](const std::string& address, absl::Duration timeout) {
      connected_to = address;
      connected_with = timeout;
      auto client = std::make_unique<FakeSchedulerClient>(scheduler);
      // What the test asks for after the call is what the client was asked.
      client->on_destruction = [this](const FakeSchedulerClient& last) {
        scheduler.submissions = last.submissions;
        scheduler.cancelled = last.cancelled;
        scheduler.asked = last.asked;
      };
      return client;
    };
  }

  // Runs a command line; what it printed is then in out() and err().
  int Run(std::vector<std::unique_ptr<Verb>> verbs,
          std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    CommandLine command_line(std::move(verbs), &env);
    return command_line.Run(std::move(arguments));
  }

  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  Environment env;
  Interrupt interrupt;
  FakeSchedulerClient scheduler;
  std::string connected_to;
  absl::Duration connected_with;

 private:
  std::ostringstream out_;
  std::ostringstream err_;
};

}  // namespace seraph::testing

#endif  // SERAPH_CLIENT_CLI_TEST_ENVIRONMENT_H_
