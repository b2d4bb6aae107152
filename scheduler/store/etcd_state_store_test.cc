#include "scheduler/store/etcd_state_store.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status/errors.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/store/etcd_for_test.h"
#include "scheduler/store/state_batch.h"

namespace seraph {
namespace {

using ::seraph::testing::EtcdForTest;
using ::seraph::testing::IsOk;
using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Store = std::unique_ptr<EtcdStateStore>;

class EtcdStateStoreTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (EtcdForTest::IsInstalled()) etcd_ = new EtcdForTest();
  }
  static void TearDownTestSuite() {
    delete etcd_;
    etcd_ = nullptr;
  }
  void SetUp() override {
    if (etcd_ == nullptr) GTEST_SKIP() << "etcd-server is not installed";
    client_ =
        std::make_unique<EtcdClient>(etcd_->endpoints(), absl::Seconds(5));
  }

  // Each test has keys of its own.
  EtcdOptions Options(const std::string& address = "here:1") const {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    return {.endpoints = etcd_->endpoints(),
            .cluster = info->name(),
            .address = address,
            .lease = absl::Seconds(2)};
  }

  Store Lead(absl::Duration lease = absl::Seconds(2)) {
    const Notification never;
    EtcdOptions options = Options();
    options.lease = lease;
    auto store = EtcdStateStore::Campaign(options, MonotonicClock::Real(),
                                          &never, [](const std::string&) {});
    EXPECT_THAT(store, IsOk());
    return store.ok() ? *std::move(store) : nullptr;
  }

  // Commits as the engine does: an error that may go away is tried again.
  static absl::Status Commit(EtcdStateStore* store, const StateWrites& writes) {
    absl::Status status;
    do {
      status = store->Commit(writes);
    } while (absl::IsUnavailable(status));
    return status;
  }

  static absl::StatusOr<StateRecords> Load(EtcdStateStore* store) {
    absl::StatusOr<StateRecords> records;
    do {
      records = store->Load();
    } while (absl::IsUnavailable(records.status()));
    return records;
  }

  int CountKeys(const std::string& folder) {
    etcdserverpb::RangeRequest request;
    request.set_key(absl::StrCat("/seraph/", Options().cluster, "/", folder));
    request.set_range_end(request.key());
    ++request.mutable_range_end()->back();
    request.set_keys_only(true);
    const auto response = client_->Range(request);
    EXPECT_THAT(response, IsOk());
    return response.ok() ? response->kvs_size() : -1;
  }

  absl::Status Change(const etcdserverpb::RequestOp& op) {
    etcdserverpb::TxnRequest request;
    *request.add_success() = op;
    return client_->Txn(request).status();
  }

  std::string Key(const std::string& name) const {
    return absl::StrCat("/seraph/", Options().cluster, "/", name);
  }

  static EtcdForTest* etcd_;
  std::unique_ptr<EtcdClient> client_;
};

EtcdForTest* EtcdStateStoreTest::etcd_ = nullptr;

TEST_F(EtcdStateStoreTest, WhatWasCommittedIsFoundByTheNextLeader) {
  const std::string bytes("\0any\xff", 5);
  uint64_t term = 0;
  {
    Store store = Lead();
    term = store->term();
    EXPECT_GT(term, 0);
    EXPECT_TRUE(store->durable());
    EXPECT_THAT(Load(store.get()), IsOkAndHolds(IsEmpty()));
    EXPECT_THAT(Commit(store.get(), {{"a", "1"}, {"b", bytes}, {"c", "3"}}),
                IsOk());
    EXPECT_THAT(Commit(store.get(), {}), IsOk());
    EXPECT_THAT(Commit(store.get(), {{"a", "2"},
                                     {"c", std::nullopt},
                                     {"never", std::nullopt},
                                     {"empty", ""}}),
                IsOk());
  }
  Store store = Lead();
  EXPECT_GT(store->term(), term);
  EXPECT_THAT(Load(store.get()), IsOkAndHolds(StateRecords{
                                     {"a", "2"}, {"b", bytes}, {"empty", ""}}));
}

TEST_F(EtcdStateStoreTest, LargeValuesAreCutAndLeaveNothingBehind) {
  const std::string large(size_t{3} << 20, 'x');
  Store store = Lead();
  ASSERT_THAT(Load(store.get()), IsOk());
  ASSERT_THAT(Commit(store.get(), {{"large", large}, {"b", "1"}}), IsOk());
  EXPECT_EQ(CountKeys("chunks/"), 6);
  EXPECT_THAT(Load(store.get()),
              IsOkAndHolds(StateRecords{{"b", "1"}, {"large", large}}));
  // Another value frees the chunks of the one before.
  ASSERT_THAT(Commit(store.get(), {{"large", large + "y"}}), IsOk());
  EXPECT_EQ(CountKeys("chunks/"), 7);
  store.reset();
  store = Lead();
  EXPECT_THAT(Load(store.get()),
              IsOkAndHolds(StateRecords{{"b", "1"}, {"large", large + "y"}}));
  ASSERT_THAT(Commit(store.get(), {{"large", std::nullopt}}), IsOk());
  EXPECT_EQ(CountKeys("chunks/"), 0);
}

TEST_F(EtcdStateStoreTest, ManyWritesAreStoredAsOne) {
  StateWrites writes;
  StateRecords want;
  for (int i = 0; i < 300; ++i) {
    writes.push_back(
        {absl::StrCat("key-", i), std::string(20'000, 'a' + i % 7)});
    want[writes.back().key] = *writes.back().value;
  }
  Store store = Lead();
  ASSERT_THAT(Load(store.get()), IsOk());
  ASSERT_THAT(Commit(store.get(), writes), IsOk());
  EXPECT_THAT(Load(store.get()), IsOkAndHolds(want));
  EXPECT_EQ(CountKeys("pending"), 0);
  EXPECT_EQ(CountKeys("chunks/"), 0);
}

TEST_F(EtcdStateStoreTest, WhatACommitHasLeftIsFinishedOrSwept) {
  {
    Store store = Lead();
    ASSERT_THAT(Load(store.get()), IsOk());
    ASSERT_THAT(Commit(store.get(), {{"a", "1"}}), IsOk());
  }
  // A leader died: one value was uploaded in part, and never named.
  etcdserverpb::RequestOp op;
  op.mutable_request_put()->set_key(Key("chunks/1-1/00000000"));
  op.mutable_request_put()->set_value("half");
  ASSERT_THAT(Change(op), IsOk());
  // A commit was decided, and its writes were not in their places.
  const std::string batch =
      absl::StrCat("i", SerializeBatch({{"a", "i2"}, {"b", std::nullopt}}));
  op.mutable_request_put()->set_key(Key("pending"));
  op.mutable_request_put()->set_value(batch);
  ASSERT_THAT(Change(op), IsOk());
  Store store = Lead();
  EXPECT_THAT(Load(store.get()), IsOkAndHolds(StateRecords{{"a", "2"}}));
  EXPECT_EQ(CountKeys("pending"), 0);
  EXPECT_EQ(CountKeys("chunks/"), 0);
}

TEST_F(EtcdStateStoreTest, OneLeadsAndTheOthersKnowWho) {
  Store first = Lead();
  ASSERT_THAT(Load(first.get()), IsOk());
  ASSERT_THAT(Commit(first.get(), {{"a", "1"}}), IsOk());
  Notification stop, told;
  absl::StatusOr<Store> second;
  std::thread campaign([&] {
    second =
        EtcdStateStore::Campaign(Options("there:2"), MonotonicClock::Real(),
                                 &stop, [&](const std::string& leader) {
                                   if (leader == "here:1") told.Notify();
                                 });
  });
  told.Wait();
  EXPECT_THAT(first->Check(), IsOk());
  first.reset();  // Gives up, so that nobody waits for its lease.
  campaign.join();
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(Load(second->get()), IsOkAndHolds(StateRecords{{"a", "1"}}));
}

TEST_F(EtcdStateStoreTest, ACampaignEndsWhenItIsStopped) {
  const Store first = Lead();
  Notification stop;
  const auto second = EtcdStateStore::Campaign(
      Options("there:2"), MonotonicClock::Real(), &stop,
      [&](const std::string&) { stop.Notify(); });
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(EtcdStateStoreTest, ADeposedLeaderStoresNothing) {
  Store first = Lead();
  ASSERT_THAT(Load(first.get()), IsOk());
  ASSERT_THAT(Commit(first.get(), {{"a", "1"}}), IsOk());
  // As if it had slept through its lease: its own clock still trusts it.
  etcdserverpb::RequestOp op;
  op.mutable_request_delete_range()->set_key(Key("leader"));
  ASSERT_THAT(Change(op), IsOk());
  Store second = Lead();
  EXPECT_GT(second->term(), first->term());
  const absl::Status refused = Commit(first.get(), {{"a", "2"}});
  EXPECT_EQ(ReasonOf(refused), "DEPOSED") << refused;
  EXPECT_EQ(ReasonOf(Commit(first.get(), {})), "DEPOSED");
  EXPECT_THAT(Load(second.get()), IsOkAndHolds(StateRecords{{"a", "1"}}));
}

TEST_F(EtcdStateStoreTest, KeysThatAStrangerChangesEndTheScheduler) {
  Store store = Lead();
  ASSERT_THAT(Load(store.get()), IsOk());
  etcdserverpb::RequestOp op;
  op.mutable_request_put()->set_key(Key("last"));
  op.mutable_request_put()->set_value("somebody's");
  ASSERT_THAT(Change(op), IsOk());
  EXPECT_THAT(Commit(store.get(), {{"a", "1"}}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("somebody's")));
}

TEST_F(EtcdStateStoreTest, AMemberThatDiesIsNoticedByNobody) {
  // Longer than an election in etcd takes.
  Store store = Lead(absl::Seconds(60));
  ASSERT_THAT(Load(store.get()), IsOk());
  for (int member = 0; member < 3; ++member) {
    etcd_->Kill(member);  // One of them leads.
    for (int i = 0; i < 5; ++i) {
      ASSERT_THAT(Commit(store.get(), {{"a", absl::StrCat(member, "-", i)}}),
                  IsOk());
    }
    etcd_->Start(member);
    // Until it is back the next one must not go.
    EtcdClient one({etcd_->endpoints()[member]}, absl::Seconds(1));
    etcdserverpb::RangeRequest request;
    request.set_key("x");
    while (!one.Range(request).ok()) {
    }
  }
  EXPECT_THAT(Load(store.get()), IsOkAndHolds(StateRecords{{"a", "2-4"}}));
}

TEST_F(EtcdStateStoreTest, WithoutAMajorityNobodyLeadsAndNothingIsLost) {
  Store store = Lead();
  ASSERT_THAT(Load(store.get()), IsOk());
  ASSERT_THAT(Commit(store.get(), {{"a", "1"}}), IsOk());
  etcd_->Kill(0);
  etcd_->Pause(1);
  absl::Status status;
  do {
    status = store->Commit({{"a", "2"}});
  } while (absl::IsUnavailable(status));
  EXPECT_EQ(ReasonOf(status), "DEPOSED") << status;
  EXPECT_EQ(ReasonOf(store->Check()), "DEPOSED");
  etcd_->Continue(1);
  etcd_->Start(0);
  store.reset();
  store = Lead();
  const auto records = Load(store.get());
  ASSERT_THAT(records, IsOk());
  // It was never acknowledged: both are right.
  EXPECT_THAT((std::vector<std::string>{"1", "2"}), Contains(records->at("a")));
}

}  // namespace
}  // namespace seraph
