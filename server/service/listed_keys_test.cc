// Lists of keys that go by name, behind a real stub: what is known, what is a
// miss, and that rows are those of spelled keys whatever happens.
#include "server/service/listed_keys.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "common/cluster/node_identity.h"
#include "common/testing/status_matchers.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/list_name.h"
#include "common/wire/replica_codec.h"
#include "common/wire/table_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/service/test_server.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::TestServer;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr uint64_t kGeneration = 3;
constexpr Key kBorder = Key{1} << 63;  // Of the two partitions.

enum class Form { kSpelled, kNamed, kListed };

// One rank, a job (ssp, unless a test says otherwise) with a sparse table in
// two partitions.
class ListedKeysTest : public ::testing::Test {
 protected:
  ListedKeysTest() { Start(uint64_t{64} << 20); }

  void Start(uint64_t memory_limit_bytes) {
    servers_.clear();
    Add(memory_limit_bytes);
    Assign(0, ReplicaDuty::kLead, 1);
    Begin();
  }

  void Add(uint64_t memory_limit_bytes) {
    servers_.push_back(std::make_unique<TestServer>(
        testing::TestServerOptions{.incarnation = first_ + servers_.size(),
                                   .memory_limit_bytes = memory_limit_bytes}));
    nodes_.resize(servers_.size() - 1);
    nodes_.push_back(servers_.back()->node());
  }

  static void FillJob(v1::JobRef* job) {
    job->set_id("job");
    job->set_generation(kGeneration);
  }

  v1::JobTables Tables() const {
    v1::JobTables tables;
    tables.set_ranks(1);
    tables.mutable_sync()->set_mode(mode_);
    if (mode_ == "ssp") tables.mutable_sync()->set_staleness(100'000);
    tables.mutable_sync()->set_combine("sum");
    tables.set_steps_per_epoch(10'000);
    tables.set_epochs(2);
    tables.set_lease_ms(2000);
    TableSpec table{.name = "t", .partitions = 2};
    table.optimizer.kind = OptimizerKind::kSum;
    ToProto(table, tables.add_tables());
    return tables;
  }

  ReplicaOrder Order(ReplicaDuty duty, uint64_t epoch, size_t primary,
                     uint32_t partition) const {
    ReplicaOrder order;
    order.partition = partition;
    order.epoch = epoch;
    order.duty = duty;
    order.primary = nodes_[primary];
    order.members.assign(nodes_.begin() + primary, nodes_.end());
    return order;
  }

  void Assign(size_t server, ReplicaDuty duty, uint64_t epoch) {
    v1::AssignPartitionsRequest request;
    FillJob(request.mutable_job());
    request.set_incarnation(first_ + server);
    *request.mutable_tables() = Tables();
    for (uint32_t p = 0; p < 2; ++p) {
      ToProto(Order(duty, epoch, 0, p), request.add_replicas());
    }
    EXPECT_THAT(
        TestServer::Do(&servers_[server]->parameters(),
                       &v1::Parameters::Stub::AssignPartitions, request),
        IsOk());
  }

  // Two servers; asked is the primary.
  void StartWithBackup() {
    servers_.clear();
    Add(uint64_t{64} << 20);
    Add(uint64_t{64} << 20);
    Assign(1, ReplicaDuty::kFollow, 1);
    Assign(0, ReplicaDuty::kLead, 1);
    std::swap(servers_[0], servers_[1]);
    Begin();
  }

  // The primary dies; the other one is asked from now on.
  void FailOver() {
    servers_.pop_back();
    epoch_ = 2;
    v1::ConfigureRequest request;
    FillJob(request.mutable_job());
    request.set_incarnation(first_ + 1);
    *request.mutable_tables() = Tables();
    for (uint32_t p = 0; p < 2; ++p) {
      ToProto(Order(ReplicaDuty::kLead, 2, 1, p), request.add_replicas());
    }
    ASSERT_THAT(TestServer::Do(&servers_[0]->replicas(),
                               &v1::Replicas::Stub::Configure, request),
                IsOk());
  }

  void Begin() {
    v1::BeginAttemptRequest request;
    FillHeader(request.mutable_header());
    int begun = 0;
    while (begun < 2) {  // Until a backup has it, too.
      const auto reply =
          TestServer::Do(&servers_.back()->parameters(),
                         &v1::Parameters::Stub::BeginAttempt, request);
      ASSERT_THAT(reply, IsOk());
      begun = reply->partitions_size();
    }
  }

  static void FillHeader(v1::RequestHeader* header) {
    FillJob(header->mutable_job());
    header->mutable_rank()->set_attempt(1);
  }

  // A part for the keys of partition `p`.
  template <typename Part>
  void Fill(const std::vector<Key>& keys, uint32_t p, Form form, Part* part,
            std::string* bytes) {
    std::vector<Key> own;
    for (const Key key : keys) {
      if ((key >= kBorder) == (p == 1)) own.push_back(key);
    }
    part->set_partition(p);
    part->set_epoch(epoch_);
    part->set_key_count(own.size());
    if (own.empty()) return;
    if (form != Form::kSpelled) {
      const ListName name = NameOfList("job", kGeneration, 0, own);
      part->mutable_list()->set_low(name.low);
      part->mutable_list()->set_high(name.high);
    }
    if (form == Form::kListed) {
      part->set_encoding(v1::KEY_ENCODING_LISTED);
    } else {
      bytes->append(reinterpret_cast<const char*>(own.data()), own.size() * 8);
    }
  }

  v1::PushRequest PushOf(const std::vector<Key>& keys, Form form, float value) {
    v1::PushRequest request;
    FillHeader(request.mutable_header());
    request.mutable_clock()->set_step(step_);
    for (uint32_t p = 0; p < 2; ++p) {
      Fill(keys, p, form, request.add_parts(), request.mutable_keys());
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      request.mutable_values()->append(reinterpret_cast<const char*>(&value),
                                       sizeof(value));
    }
    return request;
  }

  v1::PullRequest PullOf(const std::vector<Key>& keys, Form form) {
    v1::PullRequest request;
    FillHeader(request.mutable_header());
    for (uint32_t p = 0; p < 2; ++p) {
      Fill(keys, p, form, request.add_parts(), request.mutable_keys());
    }
    return request;
  }

  static std::vector<v1::PartCode> CodesOf(const auto& reply) {
    std::vector<v1::PartCode> codes;
    for (const v1::PartResult& one : reply.results()) {
      codes.push_back(one.code());
    }
    return codes;
  }

  std::vector<v1::PartCode> Push(const v1::PushRequest& request) {
    const auto reply = TestServer::Do(&servers_.back()->parameters(),
                                      &v1::Parameters::Stub::Push, request);
    EXPECT_THAT(reply, IsOk());
    return CodesOf(*reply);
  }
  // Each value once, under the next clock.
  void Push(const std::vector<Key>& keys, Form form, float value) {
    EXPECT_THAT(Push(PushOf(keys, form, value)), Each(v1::PART_OK));
    ++step_;
  }

  v1::PullReply Pull(const v1::PullRequest& request) {
    const auto reply = TestServer::Do(&servers_.back()->parameters(),
                                      &v1::Parameters::Stub::Pull, request);
    EXPECT_THAT(reply, IsOk());
    return *reply;
  }
  std::vector<float> Pull(const std::vector<Key>& keys, Form form) {
    const v1::PullReply reply = Pull(PullOf(keys, form));
    EXPECT_THAT(CodesOf(reply), Each(v1::PART_OK));
    std::vector<float> rows(reply.values().size() / sizeof(float));
    std::memcpy(rows.data(), reply.values().data(), reply.values().size());
    return rows;
  }
  std::vector<v1::PartCode> Codes(const std::vector<Key>& keys, Form form) {
    return CodesOf(Pull(PullOf(keys, form)));
  }

  const uint64_t first_ = NewIncarnation() / 2;
  std::vector<std::unique_ptr<TestServer>> servers_;
  std::vector<Node> nodes_;  // The last server is the one that is asked.
  std::string mode_ = "ssp";
  uint64_t epoch_ = 1;
  uint32_t step_ = 0;
};

std::vector<Key> ListOf(uint64_t seed, size_t keys = 100) {
  std::set<Key> drawn = {seed, kBorder + seed};
  for (uint64_t i = 0; i < keys; ++i) drawn.insert(Draw(seed, {i}));
  return {drawn.begin(), drawn.end()};
}

TEST_F(ListedKeysTest, AListThatWasSpelledGoesByName) {
  const std::vector<Key> keys = ListOf(1);
  Push(keys, Form::kNamed, 1);
  Push(keys, Form::kListed, 10);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Pull(keys, Form::kListed), Each(11.0f));
  }
  EXPECT_THAT(Pull(keys, Form::kSpelled), Each(11.0f));
}

// 26b.
TEST_F(ListedKeysTest, AnUnknownNameIsAMissAndChangesNothing) {
  const std::vector<Key> keys = ListOf(1);
  std::vector<Key> other = keys;
  for (Key& key : other) key ^= 1;  // Of the same length, and differences.
  std::sort(other.begin(), other.end());
  Push(keys, Form::kNamed, 1);
  EXPECT_THAT(Codes(other, Form::kListed), Each(v1::PART_UNKNOWN_LIST));
  EXPECT_THAT(Push(PushOf(other, Form::kListed, 5)),
              Each(v1::PART_UNKNOWN_LIST));
  EXPECT_THAT(Pull(keys, Form::kSpelled), Each(1.0f));
  // The entry comes spelled, under the same clock.
  Push(other, Form::kSpelled, 5);
  EXPECT_THAT(Pull(other, Form::kSpelled), Each(5.0f));
}

TEST_F(ListedKeysTest, OnePartMayMissWhereAnotherDoesNot) {
  const std::vector<Key> keys = ListOf(1);
  v1::PullRequest request = PullOf(keys, Form::kNamed);
  request.mutable_parts(1)->clear_list();
  Pull(request);
  EXPECT_THAT(Codes(keys, Form::kListed),
              ElementsAre(v1::PART_OK, v1::PART_UNKNOWN_LIST));
}

TEST_F(ListedKeysTest, AListIsOfOneAttemptOfOneRank) {
  const std::vector<Key> keys = ListOf(1);
  Pull(keys, Form::kNamed);
  v1::PullRequest request = PullOf(keys, Form::kListed);
  EXPECT_THAT(CodesOf(Pull(request)), Each(v1::PART_OK));
  request.mutable_header()->mutable_rank()->set_attempt(2);
  EXPECT_THAT(CodesOf(Pull(request)), Each(v1::PART_UNKNOWN_LIST));
  request.mutable_header()->clear_rank();
  request.mutable_header()->set_session(7);
  EXPECT_THAT(CodesOf(Pull(request)), Each(v1::PART_UNKNOWN_LIST));
}

TEST_F(ListedKeysTest, NothingIsTakenOnTrust) {
  const std::vector<Key> keys = ListOf(1);
  // The name of other keys.
  v1::PullRequest request = PullOf(keys, Form::kNamed);
  const v1::PullRequest other = PullOf(ListOf(2), Form::kNamed);
  *request.mutable_parts(0)->mutable_list() = other.parts(0).list();
  EXPECT_THAT(CodesOf(Pull(request)),
              ElementsAre(v1::PART_INVALID, v1::PART_OK));
  EXPECT_THAT(Codes(ListOf(2), Form::kListed), Each(v1::PART_UNKNOWN_LIST));
  // Another number of keys than the list has.
  request = PullOf(keys, Form::kListed);
  request.mutable_parts(1)->set_key_count(3);
  EXPECT_THAT(CodesOf(Pull(request)),
              ElementsAre(v1::PART_UNKNOWN_LIST, v1::PART_INVALID));
  // Keys of another partition, keys in no order.
  for (const std::vector<Key>& bad :
       {std::vector<Key>{3, kBorder}, std::vector<Key>{5, 5},
        std::vector<Key>{9, 8}}) {
    v1::PullRequest wrong;
    FillHeader(wrong.mutable_header());
    v1::PullPart* part = wrong.add_parts();
    part->set_epoch(1);
    part->set_key_count(bad.size());
    const ListName name = NameOfList("job", kGeneration, 0, bad);
    part->mutable_list()->set_low(name.low);
    part->mutable_list()->set_high(name.high);
    wrong.set_keys(bad.data(), bad.size() * 8);
    EXPECT_THAT(CodesOf(Pull(wrong)), ElementsAre(v1::PART_INVALID));
    part->set_encoding(v1::KEY_ENCODING_LISTED);
    wrong.clear_keys();
    EXPECT_THAT(CodesOf(Pull(wrong)), ElementsAre(v1::PART_UNKNOWN_LIST));
  }
}

TEST_F(ListedKeysTest, ChunksByNameBecomeAnEntryThatIsChecked) {
  // Each is in order, both together are not.
  const std::vector<Key> keys = ListOf(1);
  const std::vector<Key> low(keys.begin(), keys.begin() + 10);
  const std::vector<Key> high(keys.begin() + 10, keys.begin() + 20);
  for (const auto& chunk : {low, high}) Pull(chunk, Form::kNamed);
  const auto push = [&](const std::vector<Key>& first,
                        const std::vector<Key>& second) {
    v1::PushRequest request = PushOf(first, Form::kListed, 4);
    v1::PushPart* part = request.add_parts();
    Fill(second, 0, Form::kListed, part, request.mutable_keys());
    part->set_chunk(1);
    for (int i : {0, 2}) request.mutable_parts(i)->set_chunks(2);
    request.mutable_values()->append(request.values());
    return Push(request);
  };
  ASSERT_LT(high.back(), kBorder);
  EXPECT_THAT(push(high, low),
              ElementsAre(v1::PART_INVALID, v1::PART_OK, v1::PART_INVALID));
  EXPECT_THAT(Pull(low, Form::kSpelled), Each(0.0f));
  EXPECT_THAT(push(low, high), Each(v1::PART_OK));
  for (const auto& chunk : {low, high}) {
    EXPECT_THAT(Pull(chunk, Form::kListed), Each(4.0f));
  }
}

// 26c.
TEST_F(ListedKeysTest, AKeyThatComesIntoBeingIsSeen) {
  const std::vector<Key> keys = ListOf(1);
  EXPECT_THAT(Pull(keys, Form::kNamed), Each(0.0f));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Pull(keys, Form::kListed), Each(0.0f));
  }
  Push(keys, Form::kSpelled, 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Pull(keys, Form::kListed), Each(2.0f));
  }
}

TEST_F(ListedKeysTest, AServerWithoutRoomForgetsWhatIsOldest) {
  Start(4 << 20);  // Of which a sixteenth is for lists: 256 KiB.
  // 50 lists of 800 keys with what is known of them: 480 KB.
  for (uint64_t list = 0; list < 50; ++list) {
    Pull(ListOf(list, 800), Form::kNamed);
  }
  EXPECT_THAT(Codes(ListOf(0, 800), Form::kListed),
              Each(v1::PART_UNKNOWN_LIST));
  EXPECT_THAT(Codes(ListOf(49, 800), Form::kListed), Each(v1::PART_OK));
}

// 26e: the entry that came by name is in the log with its keys; who takes over
// never saw the list.
TEST_F(ListedKeysTest, ABackupHasTheRowsAndNotTheList) {
  StartWithBackup();
  const std::vector<Key> keys = ListOf(1);
  Push(keys, Form::kNamed, 1);
  Push(keys, Form::kListed, 10);
  EXPECT_THAT(Pull(keys, Form::kListed), Each(11.0f));

  FailOver();
  EXPECT_THAT(Pull(keys, Form::kSpelled), Each(11.0f));
  EXPECT_THAT(Codes(keys, Form::kListed), Each(v1::PART_UNKNOWN_LIST));
  Push(keys, Form::kNamed, 100);
  EXPECT_THAT(Pull(keys, Form::kListed), Each(111.0f));
}

// A new primary of asp is silent until the old one's lease is over; then it
// answers what waits, whether anybody asks again or not.
TEST_F(ListedKeysTest, ALonePrimaryOfAspAnswersWhenTheOldOnesLeaseIsOver) {
  mode_ = "asp";
  StartWithBackup();
  const std::vector<Key> keys = ListOf(1);
  Push(keys, Form::kSpelled, 1);
  EXPECT_THAT(Pull(keys, Form::kSpelled), Each(1.0f));
  FailOver();
  EXPECT_THAT(Pull(keys, Form::kSpelled), Each(1.0f));
  Push(keys, Form::kSpelled, 10);
  EXPECT_THAT(Pull(keys, Form::kSpelled), Each(11.0f));
}

// Pushes and pulls of lists that share keys, spelled and by name, with a table
// that grows: a map knows the rows.
TEST_F(ListedKeysTest, RowsAreThoseOfAMapWhateverFormKeysHave) {
  constexpr uint64_t kSeed = 4711;
  SCOPED_TRACE(absl::StrCat("seed ", kSeed));
  std::map<Key, float> rows;
  std::set<uint64_t> told;
  for (uint64_t turn = 0; turn < 300; ++turn) {
    const uint64_t list =
        ToBelow(Draw(kSeed, {turn, 1}), 4 + turn / 20);  // New ones come.
    std::vector<Key> keys;
    for (const Key key : ListOf(9, 400)) {
      if (ToBelow(Draw(key, {list}), 3) == 0) keys.push_back(key);
    }
    Form form = Form::kSpelled;
    if (ToBelow(Draw(kSeed, {turn, 2}), 5) > 0) {
      form = told.insert(list).second ? Form::kNamed : Form::kListed;
    }
    if (ToBelow(Draw(kSeed, {turn, 3}), 2) == 0) {
      const float value = 1 + turn % 3;
      Push(keys, form, value);
      for (const Key key : keys) rows[key] += value;
    } else {
      std::vector<float> expected;
      for (const Key key : keys) {
        expected.push_back(rows.contains(key) ? rows[key] : 0);
      }
      ASSERT_EQ(Pull(keys, form), expected) << "turn " << turn;
    }
  }
}

}  // namespace
}  // namespace seraph
