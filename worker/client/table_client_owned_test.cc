// Values that their owner lets go of leave without a copy.
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "common/base/float_buffer.h"
#include "common/testing/status_matchers.h"
#include "common/wire/push_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/client/table_client.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;

constexpr uint32_t kPartitions = 4;
constexpr Key kKeys = 1 << 17;

class TableClientOwnedTest : public ::testing::Test {
 protected:
  TableClientOwnedTest() {
    const Partitioning cut(table_);
    for (uint32_t p = 0; p < kPartitions; ++p) {
      placements_.push_back(
          {.partition = p, .range = cut.PartitionRange(p), .epoch = 1});
      placements_.back().primary.name.assign(1, p % 2 == 0 ? 'a' : 'b');
    }
    client_ =
        std::make_unique<TableClient>(TableClientOptions{.job = "j"}, Router());
  }

  std::shared_ptr<const TableRouter> Router() {
    return std::make_shared<const TableRouter>(
        *TableRouter::Make({table_}, placements_, ++version_));
  }

  // An entry with the value i for each key i below `keys`, which it owns.
  std::vector<TableClient::Outgoing> Push(Key keys) {
    std::vector<Key> all(keys);
    std::iota(all.begin(), all.end(), 0);
    auto values = std::make_shared<FloatBuffer>(keys);
    std::iota(values->begin(), values->end(), 0.0f);
    owner_ = values;
    begin_ = reinterpret_cast<const char*>(values->data());
    Step step;
    step.entry = EntryPush{.clock = {0, 0}, .examples = 1};
    step.entry->tables.push_back({all, *values, values});
    TableClient::Output output;
    EXPECT_THAT(client_->Start(step, absl::ZeroDuration(), &output), IsOk());
    return std::move(output.outgoing);
  }

  // Answers a request, and notes the keys that it pushes.
  void Take(const TableClient::Outgoing& to) {
    v1::ExchangeReply reply;
    ForEachPart(
        *to.request, [](uint32_t) { return 1; },
        [&](size_t, const PartBytes<v1::PushPart>& part) {
          reply.mutable_push()->add_results()->set_code(v1::PART_OK);
          ASSERT_EQ(part.values.size(), part.part->key_count() * sizeof(float));
          for (Key i = 0; i < part.part->key_count(); ++i) {
            float value = -1;
            std::memcpy(&value, part.values.data() + i * sizeof(float),
                        sizeof(float));
            ASSERT_EQ(value, part.part->first_key() + i);
          }
          pushed_ += part.part->key_count();
        });
    const v1::PushRequest& push = *PushOf(to.request->message);
    for (size_t i = 0; i < EmptyPartsOf(push); ++i) {
      reply.mutable_push()->add_results()->set_code(v1::PART_OK);
    }
    TableClient::Output output;
    client_->OnReply(to.message, std::move(reply), absl::ZeroDuration(),
                     &output);
    finished_ += output.finished.size();
  }

  // Bytes of its values that are those of the owner, not copies.
  size_t Referred(const TableClient::Outgoing& one) const {
    size_t bytes = 0;
    for (const OwnedSlice& piece : one.request->values) {
      EXPECT_GE(piece.bytes.data(), begin_);
      EXPECT_LE(piece.bytes.data() + piece.bytes.size(),
                begin_ + kKeys * sizeof(float));
      bytes += piece.bytes.size();
    }
    return bytes;
  }

  const TableSpec table_{.name = "t",
                         .kind = TableKind::kDense,
                         .keys = kKeys,
                         .partitions = kPartitions};
  std::vector<PartitionPlacement> placements_;
  uint64_t version_ = 0;
  std::unique_ptr<TableClient> client_;
  std::weak_ptr<const FloatBuffer> owner_;
  const char* begin_ = nullptr;
  Key pushed_ = 0;
  size_t finished_ = 0;
};

TEST_F(TableClientOwnedTest, UntilTheyAreAcknowledged) {
  auto outgoing = Push(kKeys);
  ASSERT_EQ(outgoing.size(), 2) << "servers";
  for (TableClient::Outgoing& one : outgoing) {
    EXPECT_FALSE(owner_.expired());
    EXPECT_EQ(Referred(one), kKeys * sizeof(float) / 2);
    Take(std::exchange(one, {}));
  }
  EXPECT_EQ(finished_, 1);
  EXPECT_EQ(pushed_, kKeys);
  EXPECT_TRUE(owner_.expired());
}

TEST_F(TableClientOwnedTest, AlsoWhenTheyGoElsewhere) {
  auto outgoing = Push(kKeys);
  ASSERT_EQ(outgoing.size(), 2) << "servers";
  // Both partitions of the first one, to servers of their own.
  for (const uint32_t p : {0, 2}) {
    placements_[p].epoch = 2;
    placements_[p].primary.name.assign(1, 'c' + p);
  }
  TableClient::Output output;
  client_->UpdateRouter(Router(), absl::ZeroDuration(), &output);
  ASSERT_EQ(output.outgoing.size(), 2);
  for (const TableClient::Outgoing& one : output.outgoing) {
    EXPECT_EQ(Referred(one), kKeys * sizeof(float) / kPartitions);
    Take(one);
  }
  EXPECT_EQ(finished_, 0);
  Take(outgoing[1]);
  EXPECT_EQ(finished_, 1);
  EXPECT_EQ(pushed_, kKeys);
  outgoing.clear();
  output = {};
  EXPECT_TRUE(owner_.expired());
}

TEST_F(TableClientOwnedTest, FewAreCopied) {
  const auto outgoing = Push(1000);
  EXPECT_TRUE(owner_.expired());
  for (const TableClient::Outgoing& one : outgoing) {
    EXPECT_EQ(Referred(one), 0);
    Take(one);
  }
  EXPECT_EQ(pushed_, 1000);
}

}  // namespace
}  // namespace seraph
