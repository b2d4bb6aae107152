// Carries out the core's orders: calls to nodes, files, answers.
#ifndef SERAPH_SCHEDULER_SERVICE_ORDER_RUNNER_H_
#define SERAPH_SCHEDULER_SERVICE_ORDER_RUNNER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/concurrent/executor.h"
#include "common/concurrent/mutex.h"
#include "common/concurrent/serial_queue.h"
#include "common/model_file/model_file_writer.h"
#include "common/rpc/channel.h"
#include "scheduler/core/scheduler_core.h"
#include "scheduler/io/job_log.h"
#include "scheduler/job/order.h"
#include "scheduler/service/cancellation.h"
#include "scheduler/service/epoch_waiters.h"
#include "scheduler/service/grpc_partition_rows.h"
#include "scheduler/service/scheduler_engine.h"

namespace seraph {

struct OrderRunnerOptions {
  uint64_t term = 1;  // Of the scheduler: nodes refuse older ones.
  absl::Duration call_timeout = absl::Seconds(10);
  GrpcPartitionRowsOptions rows;
};

// Calls run asynchronously, files on the executors. Every order that wants a
// reply gets one, as an event, also when it is given up or Stop() comes.
//
// Threads: Carry is called by the engine, one order at a time; Stop belongs to
// the owner.
class OrderRunner final : public OrderCarrier {
 public:
  struct Parts {
    ChannelCache* channels;
    Executor* files;      // Short work.
    Executor* transfers;  // Models: as long as they take.
    JobLog* log;
    EpochWaiters* waiters;
    std::function<void(const Event&)> report;
  };

  // All parts must outlive this.
  OrderRunner(const OrderRunnerOptions& options, Parts parts);
  ~OrderRunner() override;  // As Stop.

  void Carry(Order order) override;

  // Gives up what is under way, and waits until it has ended. What is ordered
  // afterwards is given up at once. May be repeated.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct CarryOut;
  friend struct CarryOut;

  // An order is under way from Begin to End, which reports the reply.
  std::shared_ptr<Cancellation> Begin(OrderId id) ABSL_LOCKS_EXCLUDED(mu_);
  void End(OrderId id, absl::StatusOr<ReplyBody> body) ABSL_LOCKS_EXCLUDED(mu_);
  void GiveUp(OrderId id) ABSL_LOCKS_EXCLUDED(mu_);

  // Runs `work` on an executor and ends the order with what it returns.
  void RunHere(Executor* executor, OrderId id,
               std::function<absl::StatusOr<ReplyBody>(Cancellation*)> work);

  absl::StatusOr<ReplyBody> DoExport(const Order& order,
                                     const ExportModel& body,
                                     Cancellation* cancellation)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<ReplyBody> DoPublish(const PublishModel& body)
      ABSL_LOCKS_EXCLUDED(mu_);

  const OrderRunnerOptions options_;
  const Parts parts_;
  SerialQueue log_lines_;

  Mutex mu_;
  CondVar idle_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::map<OrderId, std::shared_ptr<Cancellation>> under_way_
      ABSL_GUARDED_BY(mu_);
  // Exported models that wait for their names, by the order to export.
  std::map<OrderId, std::unique_ptr<ModelFileWriter>> unnamed_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_SERVICE_ORDER_RUNNER_H_
