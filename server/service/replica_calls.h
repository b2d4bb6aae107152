// The scheduler's orders to a server, and messages between replicas, apart from
// gRPC.
#ifndef SERAPH_SERVER_SERVICE_REPLICA_CALLS_H_
#define SERAPH_SERVER_SERVICE_REPLICA_CALLS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/cluster/term_guard.h"
#include "common/concurrent/executor.h"
#include "common/concurrent/mutex.h"
#include "common/wire/bulk_split.h"
#include "proto/parameters.pb.h"
#include "proto/replicas.pb.h"
#include "server/core/partition_copy.h"
#include "server/service/cut_files.h"
#include "server/service/job_directory.h"

namespace seraph {

// proto/replicas.proto, and proto/parameters.proto for the first two, document
// every method. `done` is called exactly once, on this thread or on an
// executor's. An order is refused that is for another incarnation of this
// server, or of an older term than one that was heard of.
//
// Threads: every method may be called from any thread.
class ReplicaCalls {
 public:
  template <typename Reply>
  using Done = absl::AnyInvocable<void(absl::StatusOr<Reply>)>;

  // All must outlive this; `files_executor`, which waits for disks, with what
  // is left on it.
  ReplicaCalls(JobDirectory* jobs, TermGuard* terms, CutFiles* files,
               Executor* files_executor)
      : jobs_(*jobs),
        terms_(*terms),
        files_(*files),
        files_executor_(*files_executor) {}

  void AssignPartitions(const v1::AssignPartitionsRequest& request,
                        Done<v1::AssignPartitionsReply> done);
  void DropJob(const v1::DropJobRequest& request, Done<v1::DropJobReply> done);

  void Configure(const v1::ConfigureRequest& request,
                 Done<v1::ConfigureReply> done);
  void Recruit(const v1::RecruitRequest& request, Done<v1::RecruitReply> done);
  void HandOver(const v1::HandOverRequest& request,
                Done<v1::HandOverReply> done);

  void BeginCut(const v1::BeginCutRequest& request,
                Done<v1::BeginCutReply> done);
  void TakeCut(const v1::TakeCutRequest& request, Done<v1::TakeCutReply> done);
  void WriteCut(const v1::WriteCutRequest& request,
                Done<v1::WriteCutReply> done);
  void DropCut(const v1::DropCutRequest& request, Done<v1::DropCutReply> done);

  // A message of another server. `taken` when it has been worked on, so that
  // whoever reads messages need not hold many. One that fits nothing here is
  // ignored.
  void Deliver(WithBulk<v1::ReplicaMessage> message,
               absl::AnyInvocable<void()> taken);

 private:
  // Job, generation, cut.
  using CutKey = std::tuple<std::string, uint64_t, uint64_t>;

  // A cut of a job on this server, from TakeCut to DropCut.
  struct Cut {
    std::vector<ServedJob::Place> places;
    uint64_t base = 0;  // What the copies were made for.
    // Apart from their replicas, which may have moved before they are written.
    std::map<ServedJob::Place, PartitionCopy> copies;
    bool writing = false;
    absl::StatusOr<v1::WriteCutReply> written =
        absl::UnavailableError("being written");  // ... until it is.
    std::vector<Done<v1::WriteCutReply>> waiting;
  };
  // What writes one: parts come in, in any order.
  struct Writing;

  // Whether an order is for this life of the server, and of a scheduler that
  // leads.
  absl::Status CheckOrder(uint64_t incarnation, uint64_t term);
  absl::Status CheckIncarnation(uint64_t incarnation) const;
  // The job an order speaks of. Errors: as CheckOrder and JobDirectory::Find.
  template <typename Request>
  absl::StatusOr<std::shared_ptr<const ServedJob>> FindJob(
      const Request& request);
  // The replica of Recruit and HandOver. Errors: Aborted.
  static absl::StatusOr<std::shared_ptr<PartitionActor>> FindReplica(
      const ServedJob& job, uint32_t table, uint32_t partition);
  // Takes the copies out of the partitions, each in its turn; then `done`, with
  // VoidCut where one is missing.
  void KeepCopies(const CutKey& key,
                  std::vector<std::shared_ptr<PartitionActor>> actors,
                  Done<v1::TakeCutReply> done, v1::TakeCutReply reply)
      ABSL_LOCKS_EXCLUDED(mu_);
  // False if it is neither here nor was before.
  bool KeepCopy(const CutKey& key, absl::StatusOr<PartitionCopy> copy,
                const ServedJob::Place& place) ABSL_LOCKS_EXCLUDED(mu_);
  void WriteParts(const JobName& name, const v1::WriteCutRequest& request,
                  std::map<ServedJob::Place, PartitionCopy> copies)
      ABSL_LOCKS_EXCLUDED(mu_);
  void FinishWrite(const CutKey& key, absl::StatusOr<v1::WriteCutReply> reply)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Forgets the cuts of a job up to a generation.
  void ForgetCuts(const JobName& name) ABSL_LOCKS_EXCLUDED(mu_);

  JobDirectory& jobs_;
  TermGuard& terms_;
  CutFiles& files_;
  Executor& files_executor_;

  Mutex mu_;
  std::map<CutKey, Cut> cuts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_REPLICA_CALLS_H_
