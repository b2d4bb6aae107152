#include "client/local/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace seraph {
namespace {

// Of a log, for its tail: a daemon that writes much must not cost memory.
constexpr std::streamoff kTailBytes = 64 << 10;

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// The attributes and file actions of posix_spawn, freed at the end.
struct SpawnSetup {
  SpawnSetup() {
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const ChildProcessOptions& options) {
  SpawnSetup setup;
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&setup.attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&setup.attributes, &signals);
  posix_spawnattr_setpgroup(&setup.attributes, 0);
  posix_spawnattr_setflags(&setup.attributes, POSIX_SPAWN_SETSIGMASK |
                                                  POSIX_SPAWN_SETSIGDEF |
                                                  POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_addopen(&setup.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&setup.actions, 1, options.log_path.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0666);
  posix_spawn_file_actions_adddup2(&setup.actions, 1, 2);

  const std::vector<char*> argv = Pointers(options.argv);
  const std::vector<char*> environment = Pointers(options.environment);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, argv[0], &setup.actions, &setup.attributes, argv.data(),
                  environment.data());
  if (error != 0) {
    return absl::ErrnoToStatus(error,
                               absl::StrCat("cannot start ", options.name, " (",
                                            options.argv[0], ")"));
  }
  return absl::WrapUnique(new ChildProcess(options, pid));
}

ChildProcess::ChildProcess(const ChildProcessOptions& options, pid_t pid)
    : name_(options.name), log_path_(options.log_path), pid_(pid) {}

ChildProcess::~ChildProcess() {
  Signal(SIGKILL);
  Reap(0);
}

const std::optional<std::string>& ChildProcess::Poll() {
  Reap(WNOHANG);
  return end_;
}

void ChildProcess::Signal(int number) {
  if (!Poll().has_value()) kill(-pid_, number);
}

std::string ChildProcess::LogTail(size_t lines) const {
  std::ifstream log(log_path_, std::ios::binary | std::ios::ate);
  if (!log) return "  (no log)\n";
  const std::streamoff size = log.tellg();
  log.seekg(std::max<std::streamoff>(0, size - kTailBytes));
  std::string text(std::min(size, kTailBytes), '\0');
  log.read(text.data(), text.size());
  text.resize(log.gcount());
  std::vector<absl::string_view> all =
      absl::StrSplit(absl::StripSuffix(text, "\n"), '\n');
  if (text.empty()) return "  (nothing)\n";
  if (all.size() > lines) all.erase(all.begin(), all.end() - lines);
  return absl::StrCat("  ", absl::StrJoin(all, "\n  "), "\n");
}

void ChildProcess::Reap(int options) {
  if (end_.has_value()) return;
  int status = 0;
  pid_t pid;
  do {
    pid = waitpid(pid_, &status, options);
  } while (pid < 0 && errno == EINTR);
  if (pid == 0) return;
  if (pid < 0) {
    end_ = "is gone";
  } else if (WIFSIGNALED(status)) {
    killed_ = true;
    const int number = WTERMSIG(status);
    end_ = absl::StrCat("was killed by signal ", number, " (",
                        sigdescr_np(number), ")");
  } else {
    end_ = absl::StrCat("ended with exit code ", WEXITSTATUS(status));
  }
}

}  // namespace seraph
