// Stands for a daemon in tests of the launcher: takes its flags and behaves as
// the environment variable FAKE_<NAME> says, where <NAME> is that of its ready
// file in capitals ("SERVER_0").
//
//   ready (default)  becomes ready and ends at SIGTERM, noting it in its log
//                    and its name at the end of "<folder>/order"
//   stubborn         becomes ready and ignores SIGTERM
//   dies             writes 30 lines and ends with code 7
//   silent           never becomes ready
//   late-death       becomes ready and ends with code 9 when the file
//                    "<folder>/die" appears
//   killed-once      kills itself at its first start
#include <signal.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace {

volatile sig_atomic_t stopped = 0;

std::string FlagValue(int argc, char** argv, const std::string& flag) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == flag) return argv[i + 1];
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("arguments:");
  for (int i = 1; i < argc; ++i) std::printf(" %s", argv[i]);
  std::printf("\n");
  std::fflush(stdout);

  const std::filesystem::path ready = FlagValue(argc, argv, "--ready-file");
  const int parent =
      std::atoi(FlagValue(argc, argv, "--exit-with-parent").c_str());
  std::string variable = "FAKE_" + ready.stem().string();
  for (char& c : variable) c = c == '-' ? '_' : std::toupper(c);
  const char* value = std::getenv(variable.c_str());
  const std::string behaviour = value == nullptr ? "ready" : value;

  if (behaviour == "dies") {
    for (int i = 1; i <= 30; ++i) std::printf("line %d\n", i);
    return 7;
  }
  const std::filesystem::path killed = ready.string() + ".killed";
  if (behaviour == "killed-once" && !std::filesystem::exists(killed)) {
    std::ofstream(killed) << "now";
    raise(SIGKILL);
  }
  signal(
      SIGTERM, behaviour == "stubborn" ? SIG_IGN : [](int) { stopped = 1; });
  if (behaviour != "silent") {
    const std::string temporary = ready.string() + ".tmp";
    std::ofstream(temporary) << "127.0.0.1:" << 20000 + getpid() % 1000 << "\n";
    std::filesystem::rename(temporary, ready);
  }
  // Whoever forgets it must not leave processes of a test behind.
  while (getppid() == parent) {
    if (stopped) {
      std::printf("stopped in good order\n");
      std::ofstream(ready.parent_path() / "order", std::ios::app)
          << ready.stem().string() << "\n";
      return 0;
    }
    if (behaviour == "late-death" &&
        std::filesystem::exists(ready.parent_path() / "die")) {
      return 9;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return 1;
}
