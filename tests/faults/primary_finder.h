// Finds the servers that lead a job's partitions, as a client without a rank.
#ifndef SERAPH_TESTS_FAULTS_PRIMARY_FINDER_H_
#define SERAPH_TESTS_FAULTS_PRIMARY_FINDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/concurrent/mutex.h"
#include "common/rpc/channel.h"
#include "proto/cluster.pb.h"
#include "proto/parameters.grpc.pb.h"

namespace seraph::testing {

// Asks every server that the scheduler knows what it leads. Where the scheduler
// does not answer, the servers of the last time are asked.
//
// Threads: any.
class PrimaryFinder {
 public:
  struct Primary {
    std::shared_ptr<v1::Parameters::Stub> stub;
    uint64_t epoch = 0;
    int replicas = 0;  // That lead or follow in this epoch.
  };

  PrimaryFinder(std::string scheduler, std::string job)
      : scheduler_(std::move(scheduler)),
        job_(std::move(job)),
        channels_(ChannelOptions()) {}

  // Looks again. Takes as long as a server that hangs: half a second.
  void Search() ABSL_LOCKS_EXCLUDED(searching_, mu_);

  // Of a partition of the job's first table, as of the last search.
  std::optional<Primary> Of(uint32_t partition) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const std::string scheduler_;
  const std::string job_;
  ChannelCache channels_;

  Mutex searching_;  // One search at a time.
  v1::DescribeClusterReply nodes_ ABSL_GUARDED_BY(searching_);
  std::string table_ ABSL_GUARDED_BY(searching_);

  mutable Mutex mu_;
  std::map<uint32_t, Primary> primaries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_FAULTS_PRIMARY_FINDER_H_
