// When the keys of a sparse table come and go: the log decides, whatever the
// order of arrival (bsp), the partitions, snapshots and cuts.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/draw.h"
#include "common/table/partitioning.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/partition_harness.h"
#include "server/core/partition_snapshot.h"
#include "server/core/partition_state.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::OptionsFor;
using ::seraph::testing::SumTable;

constexpr uint32_t kRanks = 3;
constexpr uint32_t kEpochs = 6;

// What a rank pushes at a clock, by mixed key. Which keys are likely moves on
// with the epochs.
std::map<Key, float> PushOf(const TableSpec& table, uint64_t seed,
                            uint32_t rank, Clock clock) {
  std::map<Key, float> push;
  for (uint64_t i = 0; i < 40; ++i) {
    const uint64_t draw = Draw(seed, {rank, clock.epoch, clock.step, i});
    const double u = ToUnit(draw);
    const Key key = 60 * clock.epoch + static_cast<Key>(u * u * 250);
    push[ToMixedKey(table, key)] = static_cast<float>(draw % 9) - 4;
  }
  return push;
}

uint32_t StepsOf(uint64_t seed, uint32_t rank, uint32_t epoch) {
  return 2 + Draw(seed, {rank, epoch}) % 4;
}

// The rules, one key at a time.
class Oracle {
 public:
  explicit Oracle(const TableSpec& table) : table_(table) {}

  // What one step combines: the values of each key.
  void Step(uint32_t epoch, const std::map<Key, std::vector<float>>& pushed) {
    for (const auto& [key, values] : pushed) {
      if (!rows_.contains(key)) {
        seen_[key] += values.size();
        if (seen_[key] < table_.admit_after) continue;
        seen_.erase(key);
      }
      Row& row = rows_[key];
      for (const float value : values) row.weight += value;
      row.epoch = std::max(row.epoch, epoch);
    }
  }

  void EndEpoch(uint32_t epoch) {
    if (table_.expire_after_epochs == 0) return;
    expired_ += std::erase_if(rows_, [&](const auto& row) {
      return row.second.epoch + table_.expire_after_epochs < epoch + 1;
    });
  }

  std::map<Key, float> Weights() const {
    std::map<Key, float> weights;
    for (const auto& [key, row] : rows_) weights[key] = row.weight;
    return weights;
  }
  size_t waiting() const { return seen_.size(); }
  size_t expired() const { return expired_; }

 private:
  struct Row {
    float weight = 0;
    uint32_t epoch = 0;
  };
  const TableSpec table_;
  std::map<Key, Row> rows_;
  std::map<Key, uint32_t> seen_;
  size_t expired_ = 0;
};

// The partitions of a table.
class Table {
 public:
  Table(PartitionOptions options, uint32_t partitions)
      : options_(std::move(options)) {
    options_.table.partitions = partitions;
    const Partitioning cut(options_.table);
    for (uint32_t i = 0; i < cut.partitions(); ++i) {
      ranges_.push_back(cut.PartitionRange(i));
      states_.push_back(
          std::make_unique<PartitionState>(options_, NewStore(i)));
    }
  }

  void Fold(uint32_t rank, Clock clock, bool ends_epoch,
            const std::map<Key, float>& push) {
    for (size_t i = 0; i < states_.size(); ++i) {
      EntryRecord entry{.rank = {rank, 1},
                        .clock = clock,
                        .ends_epoch = ends_epoch,
                        .examples = 1,
                        .ledger = {.clock = clock}};
      for (const auto& [key, value] : push) {
        if (!ranges_[i].Contains(key)) continue;
        entry.keys.Append({key});
        entry.values.push_back(value);
      }
      states_[i]->Fold(1, std::make_shared<const LogRecord>(std::move(entry)));
    }
  }

  // Goes on from snapshots of all partitions, or from cuts.
  void Snapshot() {
    for (size_t i = 0; i < states_.size(); ++i) {
      auto state = DecodeSnapshot(EncodeSnapshot(*states_[i]).bytes, options_,
                                  NewStore(i));
      ASSERT_THAT(state, IsOk());
      ASSERT_EQ((*state)->sightings(), states_[i]->sightings());
      states_[i] = *std::move(state);
    }
  }
  void Cut() {
    for (size_t i = 0; i < states_.size(); ++i) {
      const RowStore& store = states_[i]->store();
      std::unique_ptr<RowStore> copy = NewStore(i);
      std::vector<Key> keys;
      std::vector<float> cells;
      for (size_t block = 0; block < store.blocks(); ++block) {
        store.CopyBlock(block, &keys, &cells);
        ASSERT_THAT(copy->RestoreRows(keys, cells), IsOk());
      }
      states_[i] = std::make_unique<PartitionState>(options_, std::move(copy),
                                                    states_[i]->Cut());
    }
  }

  std::map<Key, float> Weights() const {
    std::map<Key, float> weights;
    for (const auto& state : states_) {
      const std::vector<Key> keys = state->store().Keys({});
      std::vector<float> values(keys.size());
      state->ReadLatest(keys, absl::MakeSpan(values));
      for (size_t i = 0; i < keys.size(); ++i) weights[keys[i]] = values[i];
    }
    return weights;
  }

 private:
  std::unique_ptr<RowStore> NewStore(size_t i) const {
    return *MakeRowStore(options_.table, ranges_[i]);
  }

  PartitionOptions options_;
  std::vector<KeyRange> ranges_;
  std::vector<std::unique_ptr<PartitionState>> states_;
};

class KeyLifeTest : public ::testing::TestWithParam<
                        std::tuple<SyncMode, uint32_t, uint32_t, bool>> {
 protected:
  KeyLifeTest() {
    TableSpec table = SumTable();
    table.admit_after = std::get<1>(GetParam());
    table.expire_after_epochs = std::get<2>(GetParam());
    table.scramble = std::get<3>(GetParam());
    options_ = OptionsFor(mode(), kRanks, table);
  }

  SyncMode mode() const { return std::get<0>(GetParam()); }

  PartitionOptions options_;
};

INSTANTIATE_TEST_SUITE_P(
    All, KeyLifeTest,
    ::testing::Combine(::testing::Values(SyncMode::kBsp, SyncMode::kAsp),
                       ::testing::Values(1, 2, 5), ::testing::Values(0, 1, 2),
                       ::testing::Bool()),
    [](const auto& info) {
      return (std::get<0>(info.param) == SyncMode::kBsp ? "Bsp" : "Asp") +
             std::string("Admit") + std::to_string(std::get<1>(info.param)) +
             "Expire" + std::to_string(std::get<2>(info.param)) +
             (std::get<3>(info.param) ? "Scrambled" : "");
    });

TEST_P(KeyLifeTest, IsDecidedByTheLog) {
  const uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed();
  const bool bsp = mode() == SyncMode::kBsp;
  size_t expired = 0;
  size_t waiting = 0;
  for (const uint32_t partitions : {1, 3, 16}) {
    SCOPED_TRACE(::testing::Message()
                 << "seed " << seed << ", " << partitions << " partitions");
    Table table(options_, partitions);
    Oracle oracle(options_.table);
    uint64_t draws = 0;
    for (uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
      std::vector<uint32_t> next(kRanks);
      std::vector<bool> ended(kRanks);
      uint32_t applied = 0;  // bsp: steps that the oracle has taken.
      while (std::count(ended.begin(), ended.end(), true) < kRanks) {
        const uint32_t rank = Draw(seed, {partitions, epoch, ++draws}) % kRanks;
        uint32_t slowest = ~uint32_t{0};
        for (uint32_t r = 0; r < kRanks; ++r) {
          if (!ended[r]) slowest = std::min(slowest, next[r]);
        }
        // bsp: one step ahead of the slowest at most.
        if (ended[rank] || (bsp && next[rank] > slowest)) continue;
        const Clock clock{epoch, next[rank]++};
        if (clock.step == StepsOf(seed, rank, epoch)) {
          table.Fold(rank, clock, true, {});
          ended[rank] = true;
        } else {
          const auto push = PushOf(options_.table, seed, rank, clock);
          table.Fold(rank, clock, false, push);
          if (!bsp) {
            std::map<Key, std::vector<float>> pushed;
            for (const auto& [key, value] : push) pushed[key] = {value};
            oracle.Step(epoch, pushed);
          }
        }
        if (Draw(seed, {draws, 1}) % 8 == 0) table.Snapshot();
        if (HasFatalFailure()) return;
      }
      for (uint32_t steps = 0; bsp && steps < 6; ++steps, ++applied) {
        std::map<Key, std::vector<float>> pushed;
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
          if (steps >= StepsOf(seed, rank, epoch)) continue;
          for (const auto& [key, value] :
               PushOf(options_.table, seed, rank, {epoch, steps})) {
            pushed[key].push_back(value);
          }
        }
        oracle.Step(epoch, pushed);
      }
      waiting += oracle.waiting();
      oracle.EndEpoch(epoch);
      ASSERT_EQ(table.Weights(), oracle.Weights()) << "epoch " << epoch;
      if (epoch % 2 == 1) table.Cut();
    }
    expired += oracle.expired();
  }
  // Or the test would say nothing.
  EXPECT_EQ(expired > 0, options_.table.expire_after_epochs > 0);
  EXPECT_EQ(waiting > 0, options_.table.admit_after > 1);
}

}  // namespace
}  // namespace seraph
