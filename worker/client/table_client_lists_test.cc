// A rank whose lists of keys go by name, with servers that forget them.
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "common/wire/key_encoding.h"
#include "common/wire/spelled_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/client/table_client.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::Spelled;
using ::testing::SizeIs;

constexpr uint32_t kPartitions = 4;

// A sparse table in four partitions, and what the servers of them do: rows are
// sums of what was pushed, each entry taken once, lists known by name to the
// life of a server that was told them.
class World {
 public:
  explicit World(size_t least_keys)
      : table_{.name = "t", .partitions = kPartitions} {
    const Partitioning cut(table_);
    for (uint32_t p = 0; p < kPartitions; ++p) {
      PartitionPlacement one{
          .partition = p, .range = cut.PartitionRange(p), .epoch = 1};
      placements_.push_back(one);
      Place(p, p < 2 ? "a" : "b", 1);
    }
    client_ = std::make_unique<TableClient>(
        TableClientOptions{
            .job = "j", .attempt = 2, .lists = {.least_keys = least_keys}},
        Router());
  }

  void Place(uint32_t partition, const std::string& server,
             uint64_t incarnation) {
    placements_[partition].primary.name = server;
    placements_[partition].primary.incarnation = incarnation;
  }
  // Another life of a server leads the partition from now on.
  void Move(uint32_t partition, const std::string& server,
            uint64_t incarnation) {
    Place(partition, server, incarnation);
    ++placements_[partition].epoch;
    client_->UpdateRouter(Router(), now_, &output_);
  }
  // Servers forget all lists, or some.
  void Forget(uint64_t seed, uint64_t one_of) {
    std::erase_if(known_, [&](const auto& list) {
      return ToBelow(Draw(seed, {list.first.second.low}), one_of) == 0;
    });
  }

  std::shared_ptr<const TableRouter> Router() {
    return std::make_shared<const TableRouter>(
        *TableRouter::Make({table_}, placements_, ++version_));
  }

  // An entry that adds to these keys, and a pull of them.
  void Start(const std::vector<Key>& keys) {
    std::vector<float> values;
    for (const Key key : keys) values.push_back(clock_ + key % 7);
    Step step;
    step.entry = EntryPush{.clock = {0, clock_}, .examples = 3};
    step.entry->tables.push_back({keys, values});
    step.pull = ClockPull{.clock = {0, ++clock_}, .keys = {keys}};
    EXPECT_THAT(client_->Start(step, now_, &output_), IsOk());
  }

  // Goes on until the step is over; its rows.
  std::vector<float> Finish(uint64_t seed = 0) {
    for (uint64_t turn = 0; output_.finished.empty(); ++turn) {
      if (turn > 10'000) {
        ADD_FAILURE() << "it never ends";
        return {};
      }
      if (output_.outgoing.empty()) {
        now_ = std::max(now_, client_->NextTick());
        client_->Tick(now_, &output_);
        continue;
      }
      const TableClient::Outgoing next = output_.outgoing.front();
      output_.outgoing.erase(output_.outgoing.begin());
      absl::StatusOr<v1::ExchangeReply> reply = Answer(next);
      // Lost behind the server.
      if (seed != 0 && ToBelow(Draw(seed, {turn, clock_}), 7) == 0) {
        reply = absl::UnavailableError("lost");
      }
      client_->OnReply(next.message, std::move(reply), now_, &output_);
    }
    const FinishedStep step = std::move(output_.finished[0]);
    output_ = {};
    EXPECT_THAT(step.status, IsOk());
    if (step.rows.empty()) return {};
    return {step.rows[0].begin(), step.rows[0].end()};
  }

  // What a server says.
  v1::ExchangeReply Answer(const TableClient::Outgoing& to) {
    v1::ExchangeReply reply;
    if (to.request->message.has_push()) {
      Take(*to.server, to.request->message.push(), reply.mutable_push());
    } else if (to.request->message.has_pull()) {
      Take(*to.server, to.request->message.pull(), reply.mutable_pull());
    } else {
      Take(*to.server, to.request->message.push_pull().push(),
           reply.mutable_push_pull()->mutable_push());
      Take(*to.server, to.request->message.push_pull().pull(),
           reply.mutable_push_pull()->mutable_pull());
    }
    return reply;
  }

  const std::map<Key, float>& rows() const { return rows_; }
  TableClient::Output& output() { return output_; }
  TableClient& client() { return *client_; }
  absl::Duration now() const { return now_; }
  uint64_t spelled() const { return spelled_; }
  uint64_t listed() const { return listed_; }
  uint64_t misses() const { return misses_; }
  void ResetCounts() { spelled_ = listed_ = misses_ = 0; }

 private:
  // A life of a server, with the partition.
  using Life = std::pair<std::string, std::pair<uint64_t, uint32_t>>;

  template <typename Part>
  std::optional<std::vector<Key>> KeysOf(const Node& server, const Part& part,
                                         SliceReader* from) {
    const Life life{server.name, {server.incarnation, part.partition()}};
    const ListName name{part.list().low(), part.list().high()};
    if (part.encoding() == v1::KEY_ENCODING_LISTED) {
      ++listed_;
      const auto found = known_.find({life, name});
      if (found == known_.end()) {
        ++misses_;
        return std::nullopt;
      }
      EXPECT_EQ(found->second.size(), part.key_count());
      return found->second;
    }
    std::vector<Key> keys(part.key_count());
    const KeyForm form = *FormOf(part.encoding());
    if (form == KeyForm::kRange) {
      std::iota(keys.begin(), keys.end(), part.first_key());
    } else {
      EXPECT_THAT(TakeKeys(form, part.first_key(), part.key_count(),
                           KeyBytesOf(part), from, &keys),
                  IsOk());
    }
    if (!keys.empty()) ++spelled_;
    if (part.has_list()) known_[{life, name}] = keys;
    return keys;
  }

  void Take(const Node& server, const v1::PushRequest& sent,
            v1::PushReply* reply) {
    const v1::PushRequest push = Spelled(sent);
    SliceReader from(ByteSlices(push.keys(), nullptr));
    size_t value = 0;
    for (const v1::PushPart& part : push.parts()) {
      const auto keys = KeysOf(server, part, &from);
      v1::PartResult* result = reply->add_results();
      result->set_epoch(part.epoch());
      if (!keys.has_value()) {
        result->set_code(v1::PART_UNKNOWN_LIST);
        value += part.key_count();
        continue;
      }
      const bool is_new =
          taken_.insert({part.partition(), push.clock().step()}).second;
      for (const Key key : *keys) {
        float added;
        std::memcpy(&added, push.values().data() + value++ * sizeof(float),
                    sizeof(float));
        if (is_new) rows_[key] += added;
      }
    }
    EXPECT_EQ(value * sizeof(float), push.values().size());
  }

  void Take(const Node& server, const v1::PullRequest& pull,
            v1::PullReply* reply) {
    SliceReader from(ByteSlices(pull.keys(), nullptr));
    for (const v1::PullPart& part : pull.parts()) {
      const auto keys = KeysOf(server, part, &from);
      v1::PartResult* result = reply->add_results();
      result->set_epoch(part.epoch());
      // As a server that has not got the entry before it.
      const bool waits =
          !taken_.contains({part.partition(), pull.clock().step() - 1});
      if (!keys.has_value() || waits) {
        result->set_code(keys.has_value() ? v1::PART_RETRY_AFTER
                                          : v1::PART_UNKNOWN_LIST);
        continue;
      }
      for (const Key key : *keys) {
        const float row = rows_.contains(key) ? rows_[key] : -1;
        reply->mutable_values()->append(reinterpret_cast<const char*>(&row),
                                        sizeof(row));
      }
    }
  }

  const TableSpec table_;
  std::vector<PartitionPlacement> placements_;
  uint64_t version_ = 0;
  absl::Duration now_ = absl::Seconds(100);
  std::unique_ptr<TableClient> client_;
  TableClient::Output output_;
  uint32_t clock_ = 1;

  std::map<std::pair<Life, ListName>, std::vector<Key>> known_;
  std::set<std::pair<uint32_t, uint32_t>> taken_;  // Partition, clock.
  std::map<Key, float> rows_;
  uint64_t spelled_ = 0;
  uint64_t listed_ = 0;
  uint64_t misses_ = 0;
};

// Some keys of each partition.
std::vector<Key> ListOf(uint64_t seed, size_t keys = 40) {
  std::set<Key> drawn;
  for (uint64_t i = 0; i < keys; ++i) drawn.insert(Draw(seed, {i}));
  return {drawn.begin(), drawn.end()};
}

TEST(TableClientListsTest, ListsThatComeAgainGoByName) {
  World world(2);
  const std::vector<Key> keys = ListOf(1);
  for (int i = 0; i < 2; ++i) {
    world.Start(keys);
    world.Finish();
  }
  EXPECT_EQ(world.listed(), 0u);
  world.ResetCounts();
  world.Start(keys);
  for (const auto& one : world.output().outgoing) {
    EXPECT_TRUE(one.request->message.push_pull().push().keys().empty());
    EXPECT_TRUE(one.request->message.push_pull().pull().keys().empty());
  }
  EXPECT_THAT(world.Finish(), SizeIs(keys.size()));
  EXPECT_EQ(world.listed(), 2 * kPartitions);
  EXPECT_EQ(world.spelled(), 0u);
}

TEST(TableClientListsTest, AMissIsSpelledAtOnceWithTheSameValues) {
  World world(2);
  const std::vector<Key> keys = ListOf(1);
  for (int i = 0; i < 2; ++i) {
    world.Start(keys);
    world.Finish();
  }
  world.Forget(0, 1);
  world.ResetCounts();
  const absl::Duration before = world.now();
  world.Start(keys);
  world.Finish();
  EXPECT_EQ(world.now(), before) << "nothing waits";
  EXPECT_EQ(world.misses(), 2 * kPartitions);
  EXPECT_EQ(world.spelled(), 2 * kPartitions);
  for (const auto& [key, row] : world.rows()) {
    EXPECT_EQ(row, 1 + 2 + 3 + 3.0f * (key % 7));
  }
}

// 26e, and what is under way when a server dies.
TEST(TableClientListsTest, AfterAMoveEverythingIsSpelled) {
  World world(2);
  const std::vector<Key> keys = ListOf(1);
  for (int i = 0; i < 3; ++i) {
    world.Start(keys);
    world.Finish();
  }
  world.Start(keys);
  world.output().outgoing.clear();  // Lost with the server.
  world.ResetCounts();
  for (uint32_t p = 0; p < 2; ++p) world.Move(p, "c", 9);
  for (const auto& one : world.output().outgoing) {
    for (const auto& part : one.request->message.push_pull().push().parts()) {
      EXPECT_NE(part.encoding(), v1::KEY_ENCODING_LISTED);
      EXPECT_FALSE(part.has_list());
    }
  }
  world.Finish();
  EXPECT_EQ(world.misses(), 0u);
  world.ResetCounts();
  world.Start(keys);
  world.Finish();
  EXPECT_EQ(world.misses(), 0u) << "the new server was told nothing";
  EXPECT_EQ(world.listed(), 4u) << "the other one still knows its partitions'";
}

TEST(TableClientListsTest, TheSameServerInAnotherLifeWasToldNothing) {
  World world(2);
  const std::vector<Key> keys = ListOf(1);
  for (int i = 0; i < 3; ++i) {
    world.Start(keys);
    world.Finish();
  }
  for (uint32_t p = 0; p < 2; ++p) world.Move(p, "a", 2);
  world.Start(keys);
  world.Finish();
  EXPECT_EQ(world.misses(), 0u);
}

// Whatever is lost, forgotten and moved: the rows are those of a client that
// spells everything.
TEST(TableClientListsTest, RowsAreThoseOfAClientThatSpellsEverything) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    World named(2);
    World spelled(1'000'000);
    for (uint64_t step = 0; step < 60; ++step) {
      const std::vector<Key> keys =
          ListOf(ToBelow(Draw(seed, {step, 1}), 5), 1 + seed * 3);
      for (World* world : {&named, &spelled}) {
        world->Start(keys);
        const uint64_t event = ToBelow(Draw(seed, {step, 2}), 12);
        if (event == 0) world->Forget(step, 3);
        if (event == 1) {
          world->Move(ToBelow(Draw(seed, {step, 3}), kPartitions),
                      step % 2 == 0 ? "a" : "c", step);
        }
      }
      ASSERT_EQ(named.Finish(seed), spelled.Finish(seed)) << "step " << step;
    }
    EXPECT_EQ(named.rows(), spelled.rows());
    EXPECT_GT(named.listed(), 0u);
    EXPECT_EQ(spelled.listed(), 0u);
  }
}

}  // namespace
}  // namespace seraph
