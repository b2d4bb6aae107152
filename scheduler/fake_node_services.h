// Servers and workers for tests of the scheduler: real services, in this
// process, over rows in memory.
#ifndef SERAPH_SCHEDULER_FAKE_NODE_SERVICES_H_
#define SERAPH_SCHEDULER_FAKE_NODE_SERVICES_H_

#include <grpcpp/grpcpp.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/key.h"
#include "common/concurrent/mutex.h"
#include "common/concurrent/notification.h"
#include "proto/parameters.grpc.pb.h"
#include "proto/tasks.grpc.pb.h"

namespace seraph::testing {

inline grpc::ServerUnaryReactor* FinishNow(grpc::CallbackServerContext* context,
                                           grpc::Status status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(std::move(status));
  return reactor;
}

// A server. Its tables are what a test puts there, or what was loaded.
class FakeParameters final : public v1::Parameters::CallbackService {
 public:
  using Rows = std::map<Key, std::vector<float>>;

  explicit FakeParameters(uint64_t incarnation) : incarnation_(incarnation) {}

  grpc::ServerUnaryReactor* AssignPartitions(
      grpc::CallbackServerContext* context,
      const v1::AssignPartitionsRequest* request,
      v1::AssignPartitionsReply* reply) override {
    {
      MutexLock lock(&mu_);
      jobs_.insert(request->job().id());
      assigned_ = *request;
    }
    reply->set_incarnation(incarnation_);
    reply->set_generation(request->job().generation());
    return FinishNow(context, grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* LoadRows(grpc::CallbackServerContext* context,
                                     const v1::LoadRowsRequest* request,
                                     v1::LoadRowsReply* reply) override {
    std::vector<Key> keys(request->keys().size() / sizeof(Key));
    std::memcpy(keys.data(), request->keys().data(), request->keys().size());
    std::vector<float> values(request->values().size() / sizeof(float));
    std::memcpy(values.data(), request->values().data(),
                request->values().size());
    MutexLock lock(&mu_);
    if (fail_next_load_) {
      fail_next_load_ = false;
      return FinishNow(context, {grpc::StatusCode::UNAVAILABLE, "not now"});
    }
    Rows& rows = rows_[{request->table(), request->partition()}];
    const size_t width = values.size() / keys.size();
    for (size_t i = 0; i < keys.size(); ++i) {
      rows[keys[i]].assign(values.begin() + i * width,
                           values.begin() + (i + 1) * width);
    }
    return FinishNow(context, grpc::Status::OK);
  }

  grpc::ServerWriteReactor<v1::RowChunk>* ExportPartition(
      grpc::CallbackServerContext* context,
      const v1::ExportPartitionRequest* request) override {
    MutexLock lock(&mu_);
    exports_.Notify();
    auto* stream = new ExportStream(
        rows_[{request->table(), request->partition()}], hang_, fail_after_);
    fail_after_ = -1;
    return stream;
  }

  grpc::ServerUnaryReactor* ReadLedger(grpc::CallbackServerContext* context,
                                       const v1::ReadLedgerRequest* request,
                                       v1::ReadLedgerReply* reply) override {
    MutexLock lock(&mu_);
    *reply = ledger_;
    reply->set_generation(request->job().generation());
    while (reply->ranks_size() < assigned_.tables().ranks()) reply->add_ranks();
    return FinishNow(context, grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* DropJob(grpc::CallbackServerContext* context,
                                    const v1::DropJobRequest* request,
                                    v1::DropJobReply* reply) override {
    MutexLock lock(&mu_);
    jobs_.erase(request->job().id());
    if (jobs_.empty()) dropped_.Notify();
    return FinishNow(context, grpc::Status::OK);
  }

  void SetRows(uint32_t table, uint32_t partition, Rows rows) {
    MutexLock lock(&mu_);
    rows_[{table, partition}] = std::move(rows);
  }
  Rows GetRows(uint32_t table, uint32_t partition) {
    MutexLock lock(&mu_);
    return rows_[{table, partition}];
  }
  void SetLedger(v1::ReadLedgerReply ledger) {
    MutexLock lock(&mu_);
    ledger_ = std::move(ledger);
  }
  // The next exports send nothing and do not end.
  void HangExports() {
    MutexLock lock(&mu_);
    hang_ = true;
  }
  // The next export breaks off after so many rows.
  void BreakNextExport(int after) {
    MutexLock lock(&mu_);
    fail_after_ = after;
  }
  void FailNextLoad() {
    MutexLock lock(&mu_);
    fail_next_load_ = true;
  }
  v1::AssignPartitionsRequest assigned() {
    MutexLock lock(&mu_);
    return assigned_;
  }
  const Notification& exports() const { return exports_; }  // One has begun.
  const Notification& dropped() const { return dropped_; }  // The last job.

 private:
  // A row a message.
  class ExportStream final : public grpc::ServerWriteReactor<v1::RowChunk> {
   public:
    ExportStream(Rows rows, bool hang, int fail_after)
        : rows_(std::move(rows)), next_(rows_.begin()), left_(fail_after) {
      if (!hang) Write();
    }
    void OnWriteDone(bool ok) override {
      if (ok) {
        Write();
      } else {
        FinishOnce(grpc::Status::CANCELLED);
      }
    }
    void OnCancel() override { FinishOnce(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }

   private:
    void Write() {
      if (left_-- == 0) {
        return FinishOnce({grpc::StatusCode::UNAVAILABLE, "broken off"});
      }
      if (next_ == rows_.end()) return FinishOnce(grpc::Status::OK);
      chunk_.set_keys(&next_->first, sizeof(Key));
      chunk_.set_values(next_->second.data(),
                        next_->second.size() * sizeof(float));
      ++next_;
      StartWrite(&chunk_);
    }
    void FinishOnce(grpc::Status status) {
      MutexLock lock(&mu_);
      if (std::exchange(finished_, true)) return;
      Finish(std::move(status));
    }

    const Rows rows_;
    Rows::const_iterator next_;
    int left_;
    v1::RowChunk chunk_;
    Mutex mu_;
    bool finished_ ABSL_GUARDED_BY(mu_) = false;
  };

  const uint64_t incarnation_;
  Notification exports_;
  Notification dropped_;

  Mutex mu_;
  std::set<std::string> jobs_ ABSL_GUARDED_BY(mu_);
  v1::AssignPartitionsRequest assigned_ ABSL_GUARDED_BY(mu_);
  std::map<std::pair<uint32_t, uint32_t>, Rows> rows_ ABSL_GUARDED_BY(mu_);
  v1::ReadLedgerReply ledger_ ABSL_GUARDED_BY(mu_);
  bool hang_ ABSL_GUARDED_BY(mu_) = false;
  int fail_after_ ABSL_GUARDED_BY(mu_) = -1;
  bool fail_next_load_ ABSL_GUARDED_BY(mu_) = false;
};

// A worker. Every file that it scans has 100 records, and labels 0 and 1.
class FakeTasks final : public v1::Tasks::CallbackService {
 public:
  grpc::ServerUnaryReactor* Scan(grpc::CallbackServerContext* context,
                                 const v1::ScanRequest* request,
                                 v1::ScanReply* reply) override {
    v1::DatasetFacts* facts = reply->mutable_facts();
    v1::DatasetBlock* block = facts->add_blocks();
    block->set_file(request->task().file_index());
    block->set_begin(request->task().begin());
    block->set_end(request->task().file().data().size_bytes());
    block->set_train_records(100);
    for (int label : {0, 1}) {
      v1::SeenLabel* seen = facts->add_labels();
      seen->set_value(label);
      seen->set_file(request->task().file_index());
      seen->set_line(label + 1);
    }
    facts->set_lines(100);
    return FinishNow(context, grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* RunRanks(grpc::CallbackServerContext* context,
                                     const v1::RunRanksRequest* request,
                                     v1::RunRanksReply* reply) override {
    {
      MutexLock lock(&mu_);
      run_ = *request;
      jobs_.insert(request->job().id());
    }
    running_.Notify();
    return FinishNow(context, grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* StopJob(grpc::CallbackServerContext* context,
                                    const v1::StopJobRequest* request,
                                    v1::StopJobReply* reply) override {
    {
      MutexLock lock(&mu_);
      jobs_.erase(request->job().id());
    }
    stopped_.Notify();
    return FinishNow(context, grpc::Status::OK);
  }

  v1::RunRanksRequest run() {
    MutexLock lock(&mu_);
    return run_;
  }
  const Notification& running() const { return running_; }
  const Notification& stopped() const { return stopped_; }

 private:
  Notification running_;
  Notification stopped_;

  Mutex mu_;
  v1::RunRanksRequest run_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> jobs_ ABSL_GUARDED_BY(mu_);
};

}  // namespace seraph::testing

#endif  // SERAPH_SCHEDULER_FAKE_NODE_SERVICES_H_
