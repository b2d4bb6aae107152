// The rows of one partition, as a stream.
#ifndef SERAPH_SERVER_SERVICE_EXPORT_STREAM_H_
#define SERAPH_SERVER_SERVICE_EXPORT_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "common/concurrent/mutex.h"
#include "proto/parameters.grpc.pb.h"
#include "server/service/served_job.h"

namespace seraph {

// Reads a chunk in the partition's turn, writes it, and goes on when gRPC has
// taken it: one chunk is in memory at a time, however slow the reader is. Ends
// with NotFound when the partition is not led here.
//
// Deletes itself when gRPC is done with it.
class ExportStream final : public grpc::ServerWriteReactor<v1::RowChunk> {
 public:
  // `actor` is one of `job`'s.
  ExportStream(std::shared_ptr<const ServedJob> job, PartitionActor* actor);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // What a chunk under way needs; it outlives the stream.
  struct State {
    std::shared_ptr<const ServedJob> job;
    PartitionActor* actor;
    // Of the partition's turn.
    std::unique_ptr<RowCursor> cursor;
    uint64_t layout = 0;  // Of the store that it reads.

    Mutex mu;
    ExportStream* stream ABSL_GUARDED_BY(mu);  // Null once it has ended.
    bool finished ABSL_GUARDED_BY(mu) = false;
    v1::RowChunk chunk ABSL_GUARDED_BY(mu);
  };

  static void ReadChunk(const std::shared_ptr<State>& state);
  static void End(const std::shared_ptr<State>& state,
                  const grpc::Status& status);

  const std::shared_ptr<State> state_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_EXPORT_STREAM_H_
