// What the scheduler wants to find again after a restart.
#ifndef SERAPH_SCHEDULER_STORE_STATE_WRITE_H_
#define SERAPH_SCHEDULER_STORE_STATE_WRITE_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace seraph {

// One change of the stored state. Keys are paths of printable ASCII without
// spaces, 1 to 512 bytes: "jobs/<id>/spec". Values are any bytes; one of more
// than a few MiB makes every change of it slow, so keep what changes often
// apart from what is large.
struct StateWrite {
  std::string key;
  std::optional<std::string> value;  // Without one, the key is removed.

  friend bool operator==(const StateWrite&, const StateWrite&) = default;
};

// In order: of two writes to a key the later one holds.
using StateWrites = std::vector<StateWrite>;

// All that is stored, ordered by key.
using StateRecords = std::map<std::string, std::string, std::less<>>;

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_STORE_STATE_WRITE_H_
