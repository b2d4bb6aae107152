// Where the scheduler keeps its files.
#ifndef SERAPH_SCHEDULER_IO_STATE_FOLDER_H_
#define SERAPH_SCHEDULER_IO_STATE_FOLDER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace seraph {

// <folder>/spool   scores of epochs that are under way; emptied at each start
// <folder>/jobs    the jobs' logs, <id>.log
class StateFolder {
 public:
  // `folder`: scheduler.state_directory; "" for a temporary folder, without
  // logs, that goes with the object.
  // Errors: FailedPrecondition, naming key, folder and the system's reason.
  static absl::StatusOr<std::unique_ptr<StateFolder>> Open(
      const std::string& folder);

  ~StateFolder();
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  std::string spool() const { return folder_ + "/spool"; }
  std::string jobs() const { return temporary_ ? "" : folder_ + "/jobs"; }

 private:
  StateFolder(std::string folder, bool temporary)
      : folder_(std::move(folder)), temporary_(temporary) {}

  const std::string folder_;
  const bool temporary_;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_IO_STATE_FOLDER_H_
