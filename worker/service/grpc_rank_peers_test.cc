#include "worker/service/grpc_rank_peers.h"

#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/concurrent/notification.h"
#include "common/rpc/rpc_server.h"
#include "common/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "proto/cluster.grpc.pb.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;

// Takes a share, and decides or keeps silent, as one that stands still.
class FakeScheduler final : public v1::Cluster::CallbackService {
 public:
  explicit FakeScheduler(bool decides) : decides_(decides) {
    auto server =
        RpcServer::Start({}, {{v1::Cluster::service_full_name(), this}});
    EXPECT_THAT(server, IsOk());
    server_ = *std::move(server);
  }

  grpc::ServerReadReactor<v1::FinishEpochRequest>* FinishEpoch(
      grpc::CallbackServerContext* context,
      v1::FinishEpochReply* reply) override {
    reply->set_stop(true);
    asked.Notify();
    return new Reader(decides_);
  }

  const std::string& address() const { return server_->address(); }

  Notification asked;

 private:
  class Reader final : public grpc::ServerReadReactor<v1::FinishEpochRequest> {
   public:
    explicit Reader(bool decides) : decides_(decides) { StartRead(&request_); }
    void OnReadDone(bool ok) override {
      if (ok) return StartRead(&request_);
      if (decides_) Finish(grpc::Status::OK);
    }
    void OnCancel() override {
      if (!decides_) Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    const bool decides_;
    v1::FinishEpochRequest request_;
  };

  const bool decides_;
  std::unique_ptr<RpcServer> server_;
};

TEST(GrpcRankPeersTest, AWaitAtASchedulerThatLeadsNoMoreIsTakenElsewhere) {
  FakeScheduler silent(false);
  FakeScheduler leader(true);
  SchedulerChannel scheduler(
      absl::StrCat(silent.address(), ",", leader.address()));
  LinkCache links({});
  GrpcRankPeers peers({.job = "job"}, &links, &scheduler);
  absl::StatusOr<bool> first;
  std::thread rank([&] { first = peers.FinishEpoch({.epoch = 1}); });
  silent.asked.Wait();
  peers.AskSchedulerAnew();
  rank.join();
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(peers.FinishEpoch({.epoch = 1}), IsOkAndHolds(true));
}

TEST(GrpcRankPeersTest, CancelEndsTheWaitForGood) {
  FakeScheduler silent(false);
  SchedulerChannel scheduler(silent.address());
  LinkCache links({});
  GrpcRankPeers peers({.job = "job"}, &links, &scheduler);
  absl::StatusOr<bool> stop;
  std::thread rank([&] { stop = peers.FinishEpoch({.epoch = 1}); });
  silent.asked.Wait();
  peers.Cancel();
  peers.AskSchedulerAnew();
  rank.join();
  EXPECT_THAT(stop, StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace seraph
