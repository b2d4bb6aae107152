#include "common/cluster/node_identity.h"

#include <gnu/libc-version.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/version/version.h"
#include "xxhash.h"

namespace seraph {
namespace {

constexpr absl::string_view Architecture() {
#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__)
  return "x86_64-v3";
#elif defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

std::string Compiler() {
#if defined(__clang__)
  return absl::StrCat("clang-", __clang_major__, ".", __clang_minor__, ".",
                      __clang_patchlevel__);
#else
  return absl::StrCat("gcc-", __GNUC__, ".", __GNUC_MINOR__, ".",
                      __GNUC_PATCHLEVEL__);
#endif
}

// glibc picks its exp, log and pow when it is loaded.
absl::string_view MathVariant() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) return "fma";
  if (__builtin_cpu_supports("fma4")) return "fma4";
#endif
  return "generic";
}

}  // namespace

uint64_t NewIncarnation() {
  std::random_device device;
  uint64_t incarnation = 0;
  while (incarnation == 0) {
    incarnation = uint64_t{device()} << 32 | device();
  }
  return incarnation;
}

std::string ArithmeticId() {
  return absl::StrCat(Architecture(), " ", Compiler(), " glibc-",
                      gnu_get_libc_version(), " ", MathVariant(), " seraph-",
                      kVersion);
}

std::string HostId(const std::string& machine_id_file) {
  std::ifstream file(machine_id_file);
  std::string id;
  std::getline(file, id);
  absl::StripAsciiWhitespace(&id);
  // "uninitialized" is what an image may hold before its first start.
  if (!id.empty() && id != "uninitialized") {
    return absl::StrCat(
        absl::Hex(XXH3_64bits(id.data(), id.size()), absl::kZeroPad16));
  }
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total_pages = 0;
  uint64_t resident_pages = 0;
  if (!(file >> total_pages >> resident_pages)) return 0;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace seraph
