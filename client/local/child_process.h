// A program that this process started.
#ifndef SERAPH_CLIENT_LOCAL_CHILD_PROCESS_H_
#define SERAPH_CLIENT_LOCAL_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace seraph {

struct ChildProcessOptions {
  std::string name;  // For messages.
  // The program and its arguments; argv[0] is a path.
  std::vector<std::string> argv;
  // Takes what it writes to standard output and standard error; appended to.
  std::string log_path;
  // "NAME=value"; all of it.
  std::vector<std::string> environment;
};

// A child in a process group of its own, so that a Ctrl-C on the terminal
// reaches only its parent, which stops it in good order. It reads nothing, and
// its signals are as in a fresh shell.
//
// Threads: one at a time. The one that starts it must live as long as the child
// is wanted, where that ends with its parent (PR_SET_PDEATHSIG).
class ChildProcess {
 public:
  // Errors: the system's reason, naming the program (NotFound, ...).
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const ChildProcessOptions& options);

  // Kills it if it still runs, and waits for its end.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // How it ended, "ended with exit code 1" or "was killed by signal 9
  // (Killed)"; nullopt while it runs.
  const std::optional<std::string>& Poll();

  // Whether it ended by a signal, and not with an exit code of its own.
  bool killed() const { return killed_; }

  // Sends a signal to its process group; nothing if it has ended.
  void Signal(int number);

  const std::string& name() const { return name_; }
  const std::string& log_path() const { return log_path_; }
  pid_t pid() const { return pid_; }

  // The last lines of its log, each after two blanks.
  std::string LogTail(size_t lines) const;

 private:
  ChildProcess(const ChildProcessOptions& options, pid_t pid);

  void Reap(int options);

  const std::string name_;
  const std::string log_path_;
  const pid_t pid_;
  std::optional<std::string> end_;
  bool killed_ = false;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_LOCAL_CHILD_PROCESS_H_
