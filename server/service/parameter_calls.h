// The calls of the Parameters service that touch rows, apart from gRPC.
#ifndef SERAPH_SERVER_SERVICE_PARAMETER_CALLS_H_
#define SERAPH_SERVER_SERVICE_PARAMETER_CALLS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/concurrent/mutex.h"
#include "common/wire/bulk_split.h"
#include "proto/parameters.pb.h"
#include "server/service/exchange_codec.h"
#include "server/service/job_directory.h"
#include "server/service/request_admission.h"

namespace seraph {

// Splits a request into the messages of its partitions and joins their answers
// into one reply. A reply leaves when its last part is answered; until then
// the request holds memory and nothing else. Parts beyond the memory that
// requests may hold are refused with kRetryAfter (request_admission.h).
//
// `done` is called exactly once, on this thread or on the executor's.
// Errors: as the proto says.
//
// Threads: every method may be called from any thread.
class ParameterCalls {
 public:
  template <typename Reply>
  using Done = absl::AnyInvocable<void(absl::StatusOr<Reply>)>;

  // `jobs` must outlive this.
  explicit ParameterCalls(JobDirectory* jobs) : jobs_(*jobs) {}

  void Pull(const WithBulk<v1::PullRequest>& request,
            Done<WithRows<v1::PullReply>> done);
  void Push(const WithBulk<v1::PushRequest>& request,
            Done<WithRows<v1::PushReply>> done);
  void PushPull(const WithBulk<v1::PushPullRequest>& request,
                Done<WithRows<v1::PushPullReply>> done);
  // The stream's form: never an error, which goes into the reply instead. The
  // hold is to be kept until the reply has left.
  void Exchange(
      const v1::ExchangeRequest& request, const BulkOutside& bulk,
      absl::AnyInvocable<void(WithRows<v1::ExchangeReply>, RequestHold)> done);
  // Only the partitions that are led here take part. Answered when all have
  // begun, or by Tick, with those that have.
  void BeginAttempt(const v1::BeginAttemptRequest& request,
                    Done<v1::BeginAttemptReply> done) ABSL_LOCKS_EXCLUDED(mu_);

  // Answers attempts that some partitions take long to begin: those may be led
  // elsewhere by now, and must not hold the others up. To be called at least
  // every kBeginPatience. `now` is monotonic.
  void Tick(absl::Duration now) ABSL_LOCKS_EXCLUDED(mu_);
  static constexpr absl::Duration kBeginPatience = absl::Milliseconds(250);

 private:
  template <typename Reply>
  using HeldDone =
      absl::AnyInvocable<void(absl::StatusOr<WithRows<Reply>>, RequestHold)>;

  void HeldPull(const BulkOutside& bulk, const v1::PullRequest& request,
                HeldDone<v1::PullReply> done);
  void HeldPush(const BulkOutside& bulk, const v1::PushRequest& request,
                HeldDone<v1::PushReply> done);
  void HeldPushPull(const BulkOutside& bulk, const v1::PushPullRequest& request,
                    HeldDone<v1::PushPullReply> done);

  absl::StatusOr<std::shared_ptr<const ServedJob>> FindJob(
      const v1::RequestHeader& header) const;

  struct Beginning;

  JobDirectory& jobs_;

  Mutex mu_;
  // Those that are not answered; some may be.
  std::vector<std::weak_ptr<Beginning>> beginnings_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_PARAMETER_CALLS_H_
