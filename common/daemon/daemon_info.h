// What distinguishes one daemon's command line from another's.
#ifndef SERAPH_COMMON_DAEMON_DAEMON_INFO_H_
#define SERAPH_COMMON_DAEMON_DAEMON_INFO_H_

#include <string>

namespace seraph {

struct DaemonInfo {
  std::string name;     // "seraph-server".
  std::string section;  // Its part of the cluster file: "server". Also its
                        // component in the logs.
  std::string summary;  // One sentence for --help.
};

}  // namespace seraph

#endif  // SERAPH_COMMON_DAEMON_DAEMON_INFO_H_
