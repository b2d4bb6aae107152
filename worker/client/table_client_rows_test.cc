// Values find their keys, whatever the width, on the way out and back.
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "common/base/scramble.h"
#include "common/testing/status_matchers.h"
#include "common/wire/push_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/client/table_client.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;

constexpr uint32_t kPartitions = 3;

float Pushed(Key key, size_t column) { return key % 1009 + column * 0.25f; }
float Pulled(Key key, size_t column) { return key % 2003 - column * 0.5f; }

class TableClientRowsTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  TableClientRowsTest()
      : table_{.name = "t",
               .width = GetParam(),
               .scramble = true,
               .partitions = kPartitions} {
    const Partitioning cut(table_);
    std::vector<PartitionPlacement> placements;
    for (uint32_t p = 0; p < kPartitions; ++p) {
      PartitionPlacement one{
          .partition = p, .range = cut.PartitionRange(p), .epoch = 1};
      one.primary.name.assign(1, p == 0 ? 'a' : 'b');
      placements.push_back(one);
    }
    client_ = std::make_unique<TableClient>(
        TableClientOptions{.job = "j", .lists = {.least_keys = 1'000'000}},
        std::make_shared<const TableRouter>(
            *TableRouter::Make({table_}, placements, 1)));
  }

  // Answers a message with Pulled, and notes what it pushes.
  v1::ExchangeReply Answer(const RankRequest& sent) {
    const v1::ExchangeRequest& request = sent.message;
    v1::ExchangeReply reply;
    const bool both = request.has_push_pull();
    v1::PushReply* push_reply =
        both ? reply.mutable_push_pull()->mutable_push() : reply.mutable_push();
    v1::PullReply* pull_reply =
        both ? reply.mutable_push_pull()->mutable_pull() : reply.mutable_pull();
    if (PushOf(request) != nullptr) {
      ForEachPart(
          sent, [&](uint32_t) { return GetParam(); },
          [&](size_t, const PartBytes<v1::PushPart>& part) {
            push_reply->add_results()->set_code(v1::PART_OK);
            const std::vector<Key> keys = KeysOf(part.keys);
            ASSERT_EQ(part.values.size(), keys.size() * GetParam() * 4);
            for (size_t i = 0; i < keys.size(); ++i) {
              std::vector<float> row(GetParam());
              std::memcpy(row.data(), part.values.data() + i * row.size() * 4,
                          row.size() * 4);
              EXPECT_TRUE(pushed_.emplace(keys[i], row).second) << "twice";
            }
          });
    }
    if (const v1::PushRequest* push = PushOf(request)) {
      for (size_t i = 0; i < EmptyPartsOf(*push); ++i) {
        push_reply->add_results()->set_code(v1::PART_OK);
      }
    }
    if (const v1::PullRequest* pull = PullOf(request)) {
      ForEachPart(*pull, [&](size_t, const PartBytes<v1::PullPart>& part) {
        pull_reply->add_results()->set_code(v1::PART_OK);
        for (const Key key : KeysOf(part.keys)) {
          for (size_t column = 0; column < GetParam(); ++column) {
            const float value = Pulled(key, column);
            pull_reply->mutable_values()->append(
                reinterpret_cast<const char*>(&value), sizeof(value));
          }
        }
      });
    }
    return reply;
  }

  // Original ones. So few of so many are written out.
  static std::vector<Key> KeysOf(absl::string_view bytes) {
    std::vector<Key> keys(bytes.size() / sizeof(Key));
    std::memcpy(keys.data(), bytes.data(), bytes.size());
    for (Key& key : keys) key = Unscramble(key);
    return keys;
  }

  TableSpec table_;
  std::unique_ptr<TableClient> client_;
  std::map<Key, std::vector<float>> pushed_;  // By original key.
};

TEST_P(TableClientRowsTest, OfScrambledKeys) {
  const uint32_t width = GetParam();
  std::mt19937_64 random(7);
  std::set<Key> some;
  while (some.size() < 500) some.insert(random() % 1'000'000);
  const std::vector<Key> keys(some.begin(), some.end());
  std::vector<float> values;
  for (const Key key : keys) {
    for (size_t column = 0; column < width; ++column) {
      values.push_back(Pushed(key, column));
    }
  }
  Step step;
  step.entry = EntryPush{.clock = {0, 0}, .examples = 1};
  step.entry->tables.push_back({keys, values});
  step.pull = ClockPull{.clock = {0, 1}, .keys = {keys}};
  TableClient::Output output;
  ASSERT_THAT(client_->Start(step, absl::ZeroDuration(), &output), IsOk());
  const auto outgoing = std::move(output.outgoing);
  ASSERT_EQ(outgoing.size(), 2) << "servers";
  for (const TableClient::Outgoing& one : outgoing) {
    client_->OnReply(one.message, Answer(*one.request), absl::ZeroDuration(),
                     &output);
  }
  ASSERT_EQ(output.finished.size(), 1);
  EXPECT_THAT(output.finished[0].status, IsOk());
  const FloatBuffer& rows = output.finished[0].rows[0];
  ASSERT_EQ(rows.size(), keys.size() * width);
  ASSERT_EQ(pushed_.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t column = 0; column < width; ++column) {
      ASSERT_EQ(rows[i * width + column], Pulled(keys[i], column)) << i;
      ASSERT_EQ(pushed_[keys[i]][column], Pushed(keys[i], column)) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, TableClientRowsTest,
                         ::testing::Values(1, 2, 3, 4, 5, 8, 16, 17));

}  // namespace
}  // namespace seraph
