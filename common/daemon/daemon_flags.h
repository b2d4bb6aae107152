// The flags of every daemon: common/daemon/daemon_main.h lists them.
#ifndef SERAPH_COMMON_DAEMON_DAEMON_FLAGS_H_
#define SERAPH_COMMON_DAEMON_DAEMON_FLAGS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/daemon/daemon_info.h"

namespace seraph {

struct DaemonFlags {
  std::string config;             // --config; "": none.
  std::vector<std::string> sets;  // --set, then what --listen and --scheduler
                                  // stand for.
  bool check = false;             // --check
  std::string ready_file;         // --ready-file; "": none.
  pid_t parent = 0;               // --exit-with-parent; 0: not given.
};

// What a command line comes to: flags, or an end.
struct ParsedFlags {
  std::optional<DaemonFlags> flags;  // None: print `text` and exit.
  int exit_code = 0;  // 0: help or version, for standard output. 2: an error.
  std::string text;
};

ParsedFlags ParseDaemonFlags(int argc, const char* const* argv,
                             const DaemonInfo& info);

}  // namespace seraph

#endif  // SERAPH_COMMON_DAEMON_DAEMON_FLAGS_H_
