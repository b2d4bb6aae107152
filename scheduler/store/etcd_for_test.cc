#include "scheduler/store/etcd_for_test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace seraph::testing {
namespace {

constexpr char kProgram[] = "/usr/bin/etcd";

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return ntohs(address.sin_port);
}

std::string Url(int port) { return absl::StrCat("http://127.0.0.1:", port); }

}  // namespace

bool EtcdForTest::IsInstalled() { return access(kProgram, X_OK) == 0; }

EtcdForTest::EtcdForTest() {
  for (int member = 0; member < kMembers; ++member) {
    client_ports_[member] = FreePort();
    peer_ports_[member] = FreePort();
  }
  for (int member = 0; member < kMembers; ++member) Start(member);
}

EtcdForTest::~EtcdForTest() {
  for (int member = 0; member < kMembers; ++member) Kill(member);
}

std::vector<std::string> EtcdForTest::endpoints() const {
  std::vector<std::string> endpoints;
  for (const int port : client_ports_) {
    endpoints.push_back(absl::StrCat("127.0.0.1:", port));
  }
  return endpoints;
}

void EtcdForTest::Kill(int member) {
  if (processes_[member] <= 0) return;
  kill(processes_[member], SIGKILL);
  waitpid(processes_[member], nullptr, 0);
  processes_[member] = 0;
}

void EtcdForTest::Pause(int member) { kill(processes_[member], SIGSTOP); }

void EtcdForTest::Continue(int member) { kill(processes_[member], SIGCONT); }

void EtcdForTest::Start(int member) {
  std::string all;
  for (int i = 0; i < kMembers; ++i) {
    absl::StrAppend(&all, i == 0 ? "" : ",", "m", i, "=", Url(peer_ports_[i]));
  }
  const std::string client = Url(client_ports_[member]);
  const std::string peer = Url(peer_ports_[member]);
  std::vector<std::string> arguments = {kProgram,
                                        "--name",
                                        absl::StrCat("m", member),
                                        "--data-dir",
                                        folder_.Path(absl::StrCat("m", member)),
                                        "--listen-client-urls",
                                        client,
                                        "--advertise-client-urls",
                                        client,
                                        "--listen-peer-urls",
                                        peer,
                                        "--initial-advertise-peer-urls",
                                        peer,
                                        "--initial-cluster",
                                        all};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const std::string log = folder_.Path(absl::StrCat("m", member, ".log"));

  const pid_t parent = getpid();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Must not outlive a test that is killed.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execv(kProgram, argv.data());
    _exit(127);
  }
  processes_[member] = child;
}

}  // namespace seraph::testing
