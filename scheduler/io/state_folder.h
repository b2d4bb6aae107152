// Where the scheduler keeps its files.
#ifndef SERAPH_SCHEDULER_IO_STATE_FOLDER_H_
#define SERAPH_SCHEDULER_IO_STATE_FOLDER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace seraph {

// <folder>/lock    held as long as the object lives
// <folder>/spool   scores of epochs that are under way; emptied at each start
// <folder>/jobs    the jobs' logs, <id>.log
//
// and what others put there: the database of the state.
class StateFolder {
 public:
  // `folder`: scheduler.state_directory; "" for a temporary folder that goes
  // with the object.
  // Errors: FailedPrecondition, naming key, folder and the system's reason, or
  // that another scheduler has it.
  static absl::StatusOr<std::unique_ptr<StateFolder>> Open(
      const std::string& folder);

  ~StateFolder();
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  const std::string& path() const { return folder_; }
  bool temporary() const { return temporary_; }

  std::string spool() const { return folder_ + "/spool"; }
  std::string jobs() const { return temporary_ ? "" : folder_ + "/jobs"; }

 private:
  StateFolder(std::string folder, bool temporary)
      : folder_(std::move(folder)), temporary_(temporary) {}

  const std::string folder_;
  const bool temporary_;
  int lock_ = -1;
};

// What an empty scheduler.state_directory stands for: seraph/<cluster>-<port>
// in `state_home` ($XDG_STATE_HOME), else in .local/state of `home` ($HOME); ""
// without both, or with port 0, whose schedulers are not started again.
std::string DefaultStateDirectory(const std::string& cluster, uint16_t port,
                                  const std::string& state_home,
                                  const std::string& home);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_IO_STATE_FOLDER_H_
