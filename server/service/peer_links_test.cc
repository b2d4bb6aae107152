#include "server/service/peer_links.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/concurrent/periodic_task.h"
#include "common/rpc/rpc_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/replicas.grpc.pb.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;

// What came, in order; a test waits for it.
class Received {
 public:
  void Add(std::string what) {
    MutexLock lock(&mu_);
    all_.push_back(std::move(what));
    changed_.NotifyAll();
  }

  // The first `count`, when they are there.
  std::vector<std::string> First(size_t count) {
    MutexLock lock(&mu_);
    while (all_.size() < count) changed_.Wait(&mu_);
    return {all_.begin(), all_.begin() + count};
  }

  size_t size() {
    MutexLock lock(&mu_);
    return all_.size();
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::vector<std::string> all_ ABSL_GUARDED_BY(mu_);
};

// A peer that keeps what it is sent: "job data" of each message.
class Peer final : public v1::Replicas::CallbackService {
 public:
  explicit Peer(const std::string& listen = "127.0.0.1:0") {
    auto server = RpcServer::Start({.listen = listen},
                                   {{v1::Replicas::service_full_name(), this}});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  grpc::ServerReadReactor<v1::ReplicaBatch>* Deliver(
      grpc::CallbackServerContext* context, v1::DeliverReply* reply) override {
    return new Stream(this);
  }

  const std::string& address() const { return server_->address(); }
  Received& received() { return received_; }
  int batches() {
    MutexLock lock(&mu_);
    return batches_;
  }
  void Stop() { server_->Shutdown(absl::ZeroDuration()); }

 private:
  class Stream final : public grpc::ServerReadReactor<v1::ReplicaBatch> {
   public:
    explicit Stream(Peer* peer) : peer_(*peer) { StartRead(&batch_); }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      {
        MutexLock lock(&peer_.mu_);
        ++peer_.batches_;
      }
      if (!batch_.piece().empty()) {
        pieces_ += batch_.piece();
        v1::ReplicaMessage whole;
        if (!batch_.more() && whole.ParseFromString(pieces_)) {
          peer_.received_.Add(absl::StrCat(whole.job().id(), " ",
                                           whole.snapshot().data().size()));
        }
      }
      for (const v1::ReplicaMessage& message : batch_.messages()) {
        peer_.received_.Add(message.job().id());
      }
      StartRead(&batch_);
    }
    void OnDone() override { delete this; }

   private:
    Peer& peer_;
    v1::ReplicaBatch batch_;
    std::string pieces_;
  };

  Received received_;
  Mutex mu_;
  int batches_ ABSL_GUARDED_BY(mu_) = 0;
  std::unique_ptr<RpcServer> server_;
};

PeerMessage Message(size_t bytes = 0) {
  return {.body = SnapshotPiece{.data = std::string(bytes, 'x')}};
}

Node At(const std::string& address, uint64_t incarnation) {
  return {.name = address, .address = address, .incarnation = incarnation};
}

class PeerLinksTest : public ::testing::Test {
 protected:
  void Make(PeerLinksOptions options = {}) {
    links_.emplace(options, MonotonicClock::Real(),
                   [this](uint64_t peer) { broken_.Add(absl::StrCat(peer)); });
    tick_.emplace("tick", absl::Milliseconds(5), [this] { links_->Tick(); });
    tick_->Start();
  }
  ~PeerLinksTest() override {
    tick_.reset();
    links_.reset();
  }

  Received broken_;
  std::optional<PeerLinks> links_;
  std::optional<PeriodicTask> tick_;
};

TEST_F(PeerLinksTest, MessagesArriveInOrderAndManyAtATime) {
  Peer peer;
  Make();
  std::vector<std::string> sent;
  for (int i = 0; i < 5000; ++i) {
    sent.push_back(absl::StrCat("m", i));
    links_->Send(At(peer.address(), 1), {sent.back()}, Message());
  }
  EXPECT_EQ(peer.received().First(sent.size()), sent);
  EXPECT_LT(peer.batches(), 2500) << "those that wait go together";
  EXPECT_EQ(broken_.size(), 0);
  peer.Stop();
}

TEST_F(PeerLinksTest, ALargeMessageGoesInPieces) {
  Peer peer;
  Make({.batch_bytes = 1000});
  links_->Send(At(peer.address(), 1), {"before"}, Message());
  links_->Send(At(peer.address(), 1), {"large"}, Message(100'000));
  links_->Send(At(peer.address(), 1), {"after"}, Message());
  EXPECT_THAT(peer.received().First(3),
              ElementsAre("before", "large 100000", "after"));
  EXPECT_GT(peer.batches(), 100);
  peer.Stop();
}

TEST_F(PeerLinksTest, APeerThatComesBackIsReachedAgain) {
  auto peer = std::make_unique<Peer>();
  const Node node = At(peer->address(), 1);
  Make({.retry_backoff = absl::Milliseconds(5),
        .retry_backoff_max = absl::Milliseconds(20)});
  links_->Send(node, {"one"}, Message());
  peer->received().First(1);
  peer->Stop();
  peer.reset();
  // What is lost is told, and what is sent then is tried again and again.
  for (int i = 0; i < 3; ++i) {
    const size_t told = broken_.size();
    links_->Send(node, {"lost"}, Message());
    broken_.First(told + 1);
  }
  EXPECT_EQ(broken_.First(1)[0], "1");

  Peer again(node.address);
  const size_t told = broken_.size();
  links_->Send(node, {"two"}, Message());
  // It may be lost still, if an attempt has just failed: then that is told.
  while (again.received().size() == 0) {
    if (broken_.size() > told) links_->Send(node, {"two"}, Message());
    std::this_thread::yield();
  }
  EXPECT_EQ(again.received().First(1)[0], "two");
  again.Stop();
}

TEST_F(PeerLinksTest, WhatWaitsForAPeerIsBounded) {
  Make({.queue_limit_bytes = 10'000});
  const Node nowhere = At("127.0.0.1:1", 9);
  for (int i = 0; i < 100; ++i) {
    links_->Send(nowhere, {"m"}, Message(1000));
  }
  EXPECT_GE(broken_.size(), 9) << "each time about ten messages were lost";
  EXPECT_EQ(broken_.First(1)[0], "9");
}

TEST_F(PeerLinksTest, NothingIsToldAfterAStop) {
  auto peer = std::make_unique<Peer>();
  Make();
  links_->Send(At(peer->address(), 1), {"one"}, Message());
  peer->received().First(1);
  links_->Stop();
  peer->Stop();
  links_->Send(At(peer->address(), 1), {"two"}, Message());
  EXPECT_EQ(broken_.size(), 0);
  links_->Stop();
}

}  // namespace
}  // namespace seraph
