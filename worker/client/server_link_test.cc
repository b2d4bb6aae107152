// The worker's end of the stream, against a server with generated messages.
#include "worker/client/server_link.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/concurrent/mutex.h"
#include "common/concurrent/notification.h"
#include "common/rpc/byte_buffer.h"
#include "common/rpc/channel.h"
#include "common/rpc/rpc_server.h"
#include "common/wire/exchange_bulk.h"
#include "common/wire/shared_messages.h"
#include "gtest/gtest.h"
#include "proto/parameters.grpc.pb.h"

namespace seraph {
namespace {

// Answers a push with nothing, and a pull with its keys as values. With
// `in_batches` as the client sent it, else one after the other.
class EchoServer final : public v1::Parameters::CallbackService {
 public:
  explicit EchoServer(bool in_batches) : in_batches_(in_batches) {
    auto server =
        RpcServer::Start({}, {{v1::Parameters::service_full_name(), this}});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  ~EchoServer() override { server_->Shutdown(absl::ZeroDuration()); }

  grpc::ServerBidiReactor<v1::ExchangeRequest, v1::ExchangeReply>* Exchange(
      grpc::CallbackServerContext* context) override {
    return new Stream(this);
  }

  const std::string& address() const { return server_->address(); }
  int messages() const { return messages_; }

 private:
  class Stream final
      : public grpc::ServerBidiReactor<v1::ExchangeRequest, v1::ExchangeReply> {
   public:
    explicit Stream(EchoServer* server) : server_(*server) {
      StartRead(&request_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      ++server_.messages_;
      v1::ExchangeReply all;
      for (const v1::ExchangeRequest& one : request_.batch()) {
        v1::ExchangeReply* reply = all.add_batch();
        reply->set_number(one.number());
        if (one.has_push()) {
          reply->mutable_push()->add_results()->set_position(
              one.push().values().size());
        } else {
          reply->mutable_pull()->set_values(one.pull().keys());
        }
      }
      if (server_.in_batches_) {
        replies_ = {std::move(all)};
      } else {
        replies_.assign(all.batch().begin(), all.batch().end());
      }
      StartWrite(&replies_.back());
    }
    void OnWriteDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      replies_.pop_back();
      if (replies_.empty()) return StartRead(&request_);
      StartWrite(&replies_.back());
    }
    void OnDone() override { delete this; }

   private:
    EchoServer& server_;
    v1::ExchangeRequest request_;
    std::vector<v1::ExchangeReply> replies_;
  };

  const bool in_batches_;
  std::atomic<int> messages_ = 0;
  std::unique_ptr<RpcServer> server_;
};

std::shared_ptr<RankRequest> Pull(std::string keys) {
  auto request = std::make_shared<RankRequest>();
  request->message.mutable_pull()->set_keys(std::move(keys));
  return request;
}

using Reply = absl::StatusOr<WithBulk<v1::ExchangeReply>>;

// Sends them all at once and waits for the answers.
std::vector<Reply> SendAll(
    ServerLink* link, const std::vector<std::shared_ptr<RankRequest>>& requests,
    ServerLink::Leaves leaves = ServerLink::Leaves::kNow) {
  std::vector<Reply> replies(requests.size());
  std::atomic<size_t> missing = requests.size();
  Notification all;
  for (size_t i = 0; i < requests.size(); ++i) {
    link->Send(
        requests[i],
        [&, i](Reply reply) {
          replies[i] = std::move(reply);
          if (--missing == 0) all.Notify();
        },
        leaves);
  }
  link->Flush();
  all.Wait();
  return replies;
}

TEST(ServerLinkTest, BulkOfAnySizeArrivesAndComesBack) {
  for (const bool in_batches : {true, false}) {
    EchoServer server(in_batches);
    ServerLink link(MakeChannel(server.address(), {}), 64 << 20);
    std::vector<std::shared_ptr<RankRequest>> requests;
    for (size_t i = 0; i < 60; ++i) {
      requests.push_back(Pull(std::string(i * i * 997, 'a' + i % 26)));
    }
    auto push = std::make_shared<RankRequest>();
    push->message.mutable_push()->set_values(std::string(5'000'000, 'v'));
    requests.push_back(push);
    const std::vector<Reply> replies = SendAll(&link, requests);
    for (size_t i = 0; i < 60; ++i) {
      ASSERT_TRUE(replies[i].ok()) << replies[i].status();
      EXPECT_TRUE(replies[i]
                      ->Bulk(kPulledValues, replies[i]->head.pull().values())
                      .ToString() == requests[i]->message.pull().keys())
          << i;
    }
    ASSERT_TRUE(replies.back().ok());
    EXPECT_EQ(replies.back()->head.push().results(0).position(), 5'000'000);
  }
}

TEST(ServerLinkTest, RequestsThatWaitLeaveTogether) {
  EchoServer server(/*in_batches=*/true);
  ServerLink link(MakeChannel(server.address(), {}), 64 << 20);
  const std::vector<std::shared_ptr<RankRequest>> first = {Pull("a")};
  SendAll(&link, first);
  std::vector<std::shared_ptr<RankRequest>> requests;
  for (int i = 0; i < 5000; ++i) requests.push_back(Pull("12345678"));
  for (const Reply& reply : SendAll(&link, requests)) {
    ASSERT_TRUE(reply.ok()) << reply.status();
  }
  EXPECT_LT(server.messages(), 2500);
}

TEST(ServerLinkTest, RequestsThatMayWaitLeaveWithTheNext) {
  EchoServer server(/*in_batches=*/true);
  ServerLink link(MakeChannel(server.address(), {}), 64 << 20);
  link.Flush();  // There is nothing, not even a stream.
  const std::vector<std::shared_ptr<RankRequest>> requests(10,
                                                           Pull("12345678"));
  constexpr int kRounds = 100;
  for (int i = 0; i < kRounds; ++i) {
    for (const Reply& reply :
         SendAll(&link, requests, ServerLink::Leaves::kWithNext)) {
      ASSERT_TRUE(reply.ok()) << reply.status();
    }
  }
  // A write may end after its answer has come: then some leave before others.
  // Would the first of each round leave at once, there were two for each.
  EXPECT_LT(server.messages(), kRounds * 3 / 2);
  // What is large waits for nobody, nor does what is behind it.
  const int before = server.messages();
  Notification answered;
  link.Send(
      Pull(std::string(100'000, 'a')), [&](Reply) { answered.Notify(); },
      ServerLink::Leaves::kWithNext);
  answered.Wait();
  EXPECT_EQ(server.messages(), before + 1);
}

// As EchoServer; takes and makes messages in memory that the client shares.
class SharingServer final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Stream(this);
  }

  // Bytes of the largest message that went through the stream, either way.
  size_t largest() const { return largest_; }
  void Forget() { largest_ = 0; }

 private:
  class Stream final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Stream(SharingServer* server) : server_(*server) {
      StartRead(&request_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) return;
      server_.Saw(request_.Length());
      auto request = requests_.Unwrap(*ToSlices(request_));
      request_.Clear();
      ASSERT_TRUE(request.ok()) << request.status();
      if (!request->has_value()) {
        replies_ = SharedMessageWriter(requests_.TakeSender());
        return StartRead(&request_);
      }
      v1::ExchangeRequest batch;
      ASSERT_TRUE(batch.ParseFromString((*request)->ToString()));
      v1::ExchangeReply all;
      for (const v1::ExchangeRequest& one : batch.batch()) {
        v1::ExchangeReply* reply = all.add_batch();
        reply->set_number(one.number());
        reply->mutable_pull()->set_values(one.pull().keys());
      }
      MessageWriter reply;
      reply.Head(all);
      reply_ = ToByteBuffer(replies_.Wrap(std::move(reply)));
      server_.Saw(reply_.Length());
      StartWrite(&reply_);
    }
    void OnWriteDone(bool ok) override {
      if (ok) StartRead(&request_);
    }
    void OnCancel() override { Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }

   private:
    SharingServer& server_;
    SharedRoom room_{uint64_t{1} << 30};
    SharedMessageReader requests_{&room_};
    SharedMessageWriter replies_;
    grpc::ByteBuffer request_, reply_;
  };

  void Saw(size_t bytes) { largest_ = std::max<size_t>(largest_, bytes); }

  std::atomic<size_t> largest_ = 0;
};

TEST(ServerLinkTest, LargeMessagesLieInSharedMemory) {
  SharingServer sharing;
  auto server = RpcServer::Start({.other_methods = &sharing}, {});
  ASSERT_TRUE(server.ok()) << server.status();
  {
    ServerLink link(MakeChannel((*server)->address(), {}), 64 << 20,
                    ServerLink::SharedEnds{.ours = 1, .server = 2});
    // When this is answered the server has opened what it was offered.
    const std::vector<std::shared_ptr<RankRequest>> first = {Pull("a")};
    SendAll(&link, first);
    sharing.Forget();
    for (size_t i = 0; i < 50; ++i) {
      const std::vector<std::shared_ptr<RankRequest>> one = {
          Pull(std::string(100'000 + i * 50'000, 'a' + i % 26))};
      const std::vector<Reply> replies = SendAll(&link, one);
      ASSERT_TRUE(replies[0].ok()) << replies[0].status();
      EXPECT_TRUE(replies[0]
                      ->Bulk(kPulledValues, replies[0]->head.pull().values())
                      .ToString() == one[0]->message.pull().keys())
          << i;
    }
    EXPECT_GT(sharing.largest(), 0);
    EXPECT_LT(sharing.largest(), 100) << "none went through the stream";
  }
  (*server)->Shutdown(absl::ZeroDuration());
}

// Answers with bytes that are no message.
class GarbageServer final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    class Stream final : public grpc::ServerGenericBidiReactor {
     public:
      Stream() { StartRead(&request_); }
      void OnReadDone(bool ok) override {
        if (!ok) return;
        const grpc::Slice slice("\x32\x7f");
        reply_ = grpc::ByteBuffer(&slice, 1);
        StartWrite(&reply_);
        StartRead(&request_);
      }
      void OnCancel() override { Finish(grpc::Status::CANCELLED); }
      void OnDone() override { delete this; }

     private:
      grpc::ByteBuffer request_, reply_;
    };
    return new Stream();
  }
};

TEST(ServerLinkTest, AnAnswerThatIsNoMessageEndsTheStream) {
  GarbageServer garbage;
  auto server = RpcServer::Start({.other_methods = &garbage}, {});
  ASSERT_TRUE(server.ok()) << server.status();
  {
    ServerLink link(MakeChannel((*server)->address(), {}), 64 << 20);
    for (int i = 0; i < 3; ++i) {
      const std::vector<std::shared_ptr<RankRequest>> one = {Pull("a")};
      const std::vector<Reply> replies = SendAll(&link, one);
      EXPECT_TRUE(absl::IsUnavailable(replies[0].status()))
          << replies[0].status();
    }
  }
  (*server)->Shutdown(absl::ZeroDuration());
}

}  // namespace
}  // namespace seraph
