#include "common/daemon/daemon_main.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

using RunFunction = std::function<absl::Status(DaemonContext*)>;

int CallDaemonMain(std::vector<std::string> arguments, const RunFunction& run) {
  arguments.insert(arguments.begin(), "seraph-server");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return DaemonMain(
      static_cast<int>(arguments.size()), argv.data(),
      {.name = "seraph-server", .section = "server", .summary = "Serves."},
      run);
}

// Each test's daemon is a child process, forked while the test has one thread.
class DaemonMainTest : public ::testing::Test {
 protected:
  void Start(const std::vector<std::string>& arguments,
             const RunFunction& run) {
    ASSERT_EQ(pipe(ready_), 0);
    pid_ = fork();
    if (pid_ != 0) return;
    // What it prints goes to files; the write end of the pipe stays open until
    // it ends.
    close(ready_[0]);
    EXPECT_NE(freopen(folder_.Path("out").c_str(), "w", stdout), nullptr);
    EXPECT_NE(freopen(folder_.Path("err").c_str(), "w", stderr), nullptr);
    const int code = CallDaemonMain(arguments, run);
    fflush(nullptr);
    _exit(code);
  }

  // In the daemon: lets WaitForDaemon return.
  void TellTest() { ASSERT_EQ(write(ready_[1], "!", 1), 1); }

  // False if it ended instead.
  bool WaitForDaemon() {
    char c = 0;
    close(std::exchange(ready_[1], -1));
    return read(ready_[0], &c, 1) == 1;
  }

  int WaitForExitCode() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::string Out() const { return folder_.Read("out"); }
  std::string Err() const { return folder_.Read("err"); }

  // Serves until it is stopped.
  const RunFunction serve_ = [this](DaemonContext* context) {
    const absl::Status ready = context->Ready("127.0.0.1:4321");
    if (!ready.ok()) return ready;
    TellTest();
    context->stop()->Wait();
    return absl::OkStatus();
  };

  const TempFolder folder_;
  int ready_[2] = {-1, -1};
  pid_t pid_ = -1;
};

TEST_F(DaemonMainTest, ServesUntilSigtermAndEndsWithZero) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Start({"--ready-file", folder_.Path("ready")}, serve_);
    ASSERT_TRUE(WaitForDaemon()) << Err();
    EXPECT_EQ(folder_.Read("ready"), "127.0.0.1:4321\n");
    ASSERT_EQ(kill(pid_, signal), 0);
    EXPECT_EQ(WaitForExitCode(), 0);
    EXPECT_THAT(
        Err(),
        AllOf(HasSubstr("INFO server server.starting version=0.1.0"),
              HasSubstr("INFO server 127.0.0.1:4321 server.ready "
                        "address=127.0.0.1:4321"),
              HasSubstr(absl::StrCat("server.stopping signal=",
                                     signal == SIGINT ? "SIGINT" : "SIGTERM")),
              HasSubstr("server.stopped")));
  }
}

TEST_F(DaemonMainTest, TheSecondSignalEndsItAtOnceWithOne) {
  Start({}, [this](DaemonContext* context) {
    TellTest();
    context->stop()->Wait();
    TellTest();
    while (true) pause();  // Stuck.
    return absl::OkStatus();
  });
  ASSERT_TRUE(WaitForDaemon());
  ASSERT_EQ(kill(pid_, SIGTERM), 0);
  ASSERT_TRUE(WaitForDaemon());
  ASSERT_EQ(kill(pid_, SIGTERM), 0);
  EXPECT_EQ(WaitForExitCode(), 1);
}

TEST_F(DaemonMainTest, AFailureIsOneAndLogged) {
  Start({}, [](DaemonContext*) {
    return absl::AlreadyExistsError("the port is taken");
  });
  EXPECT_EQ(WaitForExitCode(), 1);
  EXPECT_THAT(Err(), AllOf(HasSubstr("ERROR server server.failed status="),
                           HasSubstr("the port is taken")));
}

TEST_F(DaemonMainTest, AFailureIsPrintedToo_WhenLogsGoToAFile) {
  Start(
      {"--set", "log.file=" + folder_.Path("log"), "--set", "log.format=json"},
      [](DaemonContext*) { return absl::InternalError("broken"); });
  EXPECT_EQ(WaitForExitCode(), 1);
  EXPECT_EQ(Err(), "seraph-server: broken\n");
  EXPECT_THAT(folder_.Read("log"), HasSubstr("\"event\":\"server.failed\""));
}

TEST_F(DaemonMainTest, AReadyFileThatCannotBeWrittenIsAFailure) {
  folder_.Write("file", "");
  Start({"--ready-file", folder_.Path("file/ready")}, serve_);
  EXPECT_FALSE(WaitForDaemon());
  EXPECT_EQ(WaitForExitCode(), 1);
  EXPECT_THAT(Err(), HasSubstr(folder_.Path("file")));
}

TEST_F(DaemonMainTest, TheConfigurationIsTheOneOfAllSources) {
  const std::string file =
      folder_.Write("c.yaml",
                    "cluster: {name: from-file}\nrpc: {call_timeout: 7s}\n"
                    "server: {listen: '127.0.0.1:1', threads: 3}\n");
  setenv("SERAPH_RPC__CALL_TIMEOUT", "8s", 1);
  Start({"--config", file, "--set", "server.threads=4", "--listen",
         "127.0.0.1:2"},
        [](DaemonContext* context) {
          const ClusterConfig& config = context->config();
          const bool right = config.cluster.name == "from-file" &&
                             config.rpc.call_timeout == absl::Seconds(8) &&
                             config.server.threads == 4 &&
                             config.server.listen == "127.0.0.1:2";
          return right ? absl::OkStatus() : absl::InternalError("wrong");
        });
  unsetenv("SERAPH_RPC__CALL_TIMEOUT");
  EXPECT_EQ(WaitForExitCode(), 0) << Err();
}

TEST_F(DaemonMainTest, CheckPrintsTheConfigurationAndStartsNothing) {
  Start({"--check", "--set", "server.threads=5"},
        [](DaemonContext*) { return absl::InternalError("started"); });
  EXPECT_EQ(WaitForExitCode(), 0);
  EXPECT_THAT(Out(), AllOf(HasSubstr("threads: 5"), HasSubstr("--set")));
  EXPECT_EQ(Err(), "");
}

TEST_F(DaemonMainTest, AnInvalidConfigurationIsTwoAndNamesThePlace) {
  const std::string file =
      folder_.Write("c.yaml", "server:\n  listn: '127.0.0.1:1'\n");
  for (const std::string check : {"--check", "--set=log.level=info"}) {
    Start({"--config", file, check}, serve_);
    EXPECT_EQ(WaitForExitCode(), 2);
    EXPECT_THAT(Err(), AllOf(HasSubstr("c.yaml:2:3"), HasSubstr("listn"),
                             HasSubstr("listen")));
    EXPECT_EQ(Out(), "");
  }
  Start({"--config", folder_.Path("none.yaml")}, serve_);
  EXPECT_EQ(WaitForExitCode(), 2);
  EXPECT_THAT(Err(), HasSubstr("none.yaml"));
}

TEST_F(DaemonMainTest, WrongUsageIsTwoOnStandardErrorAndHelpIsZero) {
  Start({"--nonsense"}, serve_);
  EXPECT_EQ(WaitForExitCode(), 2);
  EXPECT_THAT(Err(), HasSubstr("--nonsense"));
  EXPECT_EQ(Out(), "");
  Start({"--help"}, serve_);
  EXPECT_EQ(WaitForExitCode(), 0);
  EXPECT_THAT(Out(), HasSubstr("Serves."));
  EXPECT_EQ(Err(), "");
}

TEST_F(DaemonMainTest, TellsSystemdThatItIsReadyAndThatItStops) {
  const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = folder_.Path("notify");
  std::memcpy(address.sun_path, path.c_str(), path.size());
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
            0);
  const auto receive = [fd] {
    char buffer[64];
    const ssize_t size = recv(fd, buffer, sizeof(buffer), 0);
    return std::string(buffer, size > 0 ? size : 0);
  };
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  Start({}, serve_);
  unsetenv("NOTIFY_SOCKET");
  EXPECT_EQ(receive(), "READY=1");
  kill(pid_, SIGTERM);
  EXPECT_EQ(receive(), "STOPPING=1");
  EXPECT_EQ(WaitForExitCode(), 0);
  close(fd);
}

TEST_F(DaemonMainTest, GoesOnWithoutASystemdThatListens) {
  setenv("NOTIFY_SOCKET", folder_.Path("nobody").c_str(), 1);
  Start({}, serve_);
  unsetenv("NOTIFY_SOCKET");
  ASSERT_TRUE(WaitForDaemon());
  kill(pid_, SIGTERM);
  EXPECT_EQ(WaitForExitCode(), 0);
  EXPECT_THAT(Err(), HasSubstr("WARN server 127.0.0.1:4321 "
                               "supervisor.notify_failed"));
}

TEST_F(DaemonMainTest, EndsInGoodOrderWithItsParent) {
  int news[2];
  ASSERT_EQ(pipe(news), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    close(news[0]);
    Start({"--exit-with-parent", absl::StrCat(getpid())},
          [this, &news](DaemonContext* context) {
            TellTest();
            context->stop()->Wait();
            return write(news[1], "stopped", 7) == 7
                       ? absl::OkStatus()
                       : absl::InternalError("write");
          });
    // The daemon never gets here. Its parent ends, badly, once it runs.
    _exit(WaitForDaemon() ? (kill(getpid(), SIGKILL), 0) : 1);
  }
  close(news[1]);
  int status = 0;
  ASSERT_EQ(waitpid(parent, &status, 0), parent);
  EXPECT_TRUE(WIFSIGNALED(status));
  // The end of the pipe comes when the orphan has ended.
  std::string told;
  char buffer[16];
  for (ssize_t n = 0; (n = read(news[0], buffer, sizeof(buffer))) > 0;) {
    told.append(buffer, n);
  }
  EXPECT_EQ(told, "stopped");
  close(news[0]);
}

TEST_F(DaemonMainTest, DoesNotStartWhenItsParentIsGone) {
  // Not the parent of the child, which is as if that had ended before.
  Start({"--exit-with-parent", absl::StrCat(getppid())}, serve_);
  EXPECT_FALSE(WaitForDaemon());
  EXPECT_EQ(WaitForExitCode(), 1);
  EXPECT_THAT(Err(), HasSubstr("not the parent"));
}

TEST_F(DaemonMainTest, MayOpenAsManyFilesAsTheHardLimitAllows) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit before = limit;
  limit.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  Start({}, [](DaemonContext*) {
    rlimit now = {};
    getrlimit(RLIMIT_NOFILE, &now);
    return now.rlim_cur == now.rlim_max ? absl::OkStatus()
                                        : absl::InternalError("low");
  });
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(WaitForExitCode(), 0) << Err();
}

TEST_F(DaemonMainTest, APeerThatIsGoneEndsNothing) {
  Start({}, [](DaemonContext*) {
    int ends[2];
    if (pipe(ends) != 0) return absl::InternalError("pipe");
    close(ends[0]);
    return write(ends[1], "x", 1) == -1 ? absl::OkStatus()
                                        : absl::InternalError("written");
  });
  EXPECT_EQ(WaitForExitCode(), 0);
}

}  // namespace
}  // namespace seraph
