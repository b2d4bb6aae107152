#include "common/daemon/thread_caches.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace seraph {
namespace {

constexpr const char* kVariable = "GLIBC_TUNABLES";
constexpr absl::string_view kName = "glibc.malloc.tcache_count";
constexpr int kPieces = 128;

}  // namespace

void EnlargeThreadCaches(char** argv) {
  const char* const given = std::getenv(kVariable);
  const std::string before = given == nullptr ? "" : given;
  if (absl::StrContains(before, kName)) return;
  // By its own path: tools that list processes by name read the name from it.
  std::error_code error;
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) return;
  setenv(kVariable,
         absl::StrCat(before, before.empty() ? "" : ":", kName, "=", kPieces)
             .c_str(),
         1);
  execv(program.c_str(), argv);
  // Still here.
  if (given == nullptr) {
    unsetenv(kVariable);
  } else {
    setenv(kVariable, before.c_str(), 1);
  }
}

}  // namespace seraph
