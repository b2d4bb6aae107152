#include "common/testing/fail_point.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace seraph {
namespace {

struct Chosen {
  std::string name;  // "": none.
  uint64_t pass = 1;
};

Chosen FromEnvironment() {
  Chosen chosen;
  const char* variable = std::getenv("SERAPH_FAIL_POINT");
  if (variable == nullptr) return chosen;
  chosen.name = variable;
  if (const size_t colon = chosen.name.find(':'); colon != std::string::npos) {
    chosen.pass = std::strtoull(chosen.name.c_str() + colon + 1, nullptr, 10);
    chosen.name.resize(colon);
  }
  return chosen;
}

}  // namespace

void FailPoint(const char* name) {
  static const Chosen* const chosen = new Chosen(FromEnvironment());
  if (chosen->name.empty() || chosen->name != name) return;
  static std::atomic<uint64_t> passes = 0;
  // Not abort(): nothing may be flushed or written on the way out.
  if (passes.fetch_add(1) + 1 == chosen->pass) ::kill(::getpid(), SIGKILL);
}

}  // namespace seraph
