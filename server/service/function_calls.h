// Calls of functions, apart from gRPC.
#ifndef SERAPH_SERVER_SERVICE_FUNCTION_CALLS_H_
#define SERAPH_SERVER_SERVICE_FUNCTION_CALLS_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "proto/parameters.pb.h"
#include "server/functions/function_registry.h"
#include "server/service/job_directory.h"

namespace seraph {

// Checks a call, hands it to its partitions, and joins their answers into one
// reply. A function over two tables first has the other table's column copied
// out of the partition of the same range, which has to be led here.
//
// Threads: every method may be called from any thread.
class FunctionCalls {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<v1::CallReply>)>;

  // Both must outlive this, and what is left on the partitions' executor then.
  FunctionCalls(JobDirectory* jobs, const FunctionRegistry* functions)
      : jobs_(*jobs), functions_(*functions) {}

  // `done` is called exactly once, on this thread or on the executor's.
  // Errors: as the proto says.
  void Call(const v1::CallRequest& request, Done done);

 private:
  JobDirectory& jobs_;
  const FunctionRegistry& functions_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_FUNCTION_CALLS_H_
