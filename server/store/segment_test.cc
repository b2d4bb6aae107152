#include "server/store/segment.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "common/base/draw.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/slot_arena.h"

namespace seraph {
namespace {

// Keys that a straight line fits, and that none does.
Key KeyOf(int kind, uint64_t seed, uint64_t i) {
  const uint64_t bits = Draw(seed, {i});
  switch (kind) {
    case 0:
      return bits;
    case 1:
      return ToBelow(bits, 10000);
    case 2:
      return (Key{1} << (bits % 64)) + (bits >> 40) % 500;
    case 3:
      return i;
    default:
      return kMaxKey - i;
  }
}

class SegmentTest : public ::testing::TestWithParam<size_t> {
 protected:
  SegmentTest()
      : shape_(GetParam()),
        arena_(shape_.room_bytes()),
        segment_(arena_.Add()) {}

  // The cells of a key's row.
  std::vector<float> Row(Key key) const {
    std::vector<float> row(shape_.row_cells);
    for (uint64_t j = 0; j < row.size(); ++j)
      row[j] = ToUnit(Draw(1, {key, j}));
    return row;
  }

  void Fill(const std::vector<Key>& keys, size_t units) {
    std::vector<float> cells;
    for (const Key key : keys) {
      const std::vector<float> row = Row(key);
      cells.insert(cells.end(), row.begin(), row.end());
    }
    segment_.Fill(shape_, units, keys, cells.data(), &slots_);
  }

  // Each key is found with its row, others near them are not, and the copy has
  // all in order.
  void Expect(const std::vector<Key>& keys) const {
    ASSERT_EQ(segment_.rows(), keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      const float* row =
          segment_.Find(shape_, keys[i], segment_.Guess(keys[i]));
      ASSERT_NE(row, nullptr) << keys[i];
      ASSERT_EQ(std::vector<float>(row, row + shape_.row_cells), Row(keys[i]));
      for (const Key other : {keys[i] - 1, keys[i] + 1}) {
        if (std::binary_search(keys.begin(), keys.end(), other)) continue;
        ASSERT_EQ(segment_.Find(shape_, other, segment_.Guess(other)), nullptr)
            << other;
      }
    }
    std::vector<Key> copied(keys.size());
    std::vector<float> cells(keys.size() * shape_.row_cells);
    segment_.Copy(shape_, copied.data(), cells.data());
    ASSERT_EQ(copied, keys);
    std::vector<float> expected;
    for (const Key key : keys) {
      const std::vector<float> row = Row(key);
      expected.insert(expected.end(), row.begin(), row.end());
    }
    ASSERT_EQ(cells, expected);
    segment_.Copy(shape_, copied.data(), nullptr);
    ASSERT_EQ(copied, keys);
  }

  const SegmentShape shape_;
  SlotArena arena_;
  Segment segment_;
  std::vector<uint32_t> slots_;
};

INSTANTIATE_TEST_SUITE_P(RowCells, SegmentTest,
                         ::testing::Values(1, 2, 3, 5, 33, 2000),
                         [](const auto& info) {
                           return std::to_string(info.param);
                         });

// From a few rows to as many as go in.
TEST_P(SegmentTest, HasWhatWasFilledAndInserted) {
  const uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed();
  for (int kind = 0; kind < 5; ++kind) {
    for (const size_t units : {1, 2, 9, 16}) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " kind " << kind
                                        << " units " << units);
      const size_t most = shape_.MostRows(units);
      std::vector<Key> keys;
      for (uint64_t i = 0; keys.size() < most; ++i) {
        keys.push_back(KeyOf(kind, seed + units, i));
        if (i % 512 != 511 && keys.size() < most) continue;
        std::sort(keys.begin(), keys.end());
        keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
        if (i > 8 * most) break;
      }
      // Half of them come one by one, in no order.
      std::vector<Key> first;
      std::vector<Key> later;
      for (const Key key : keys) {
        (Draw(seed, {key, 1}) % 2 == 0 || first.empty() ? first : later)
            .push_back(key);
      }
      Fill(first, units);
      Expect(first);
      if (HasFatalFailure()) return;
      std::sort(later.begin(), later.end(), [&](Key a, Key b) {
        return Draw(seed, {a}) < Draw(seed, {b});
      });
      for (const Key key : later) {
        segment_.Insert(shape_, key, Row(key).data());
      }
      Expect(keys);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(SegmentTest, OneRowIsEnough) {
  for (const Key key : {Key{0}, Key{77}, kMaxKey}) {
    Fill({key}, 1);
    Expect({key});
  }
}

TEST(SegmentShapeTest, MemoryOfAKeyIsNeverMuchMoreThanItsRow) {
  for (const size_t row_cells : {1, 2, 3, 5, 16, 33, 200, 2000}) {
    const SegmentShape shape(row_cells);
    EXPECT_EQ(shape.room_bytes() % SlotArena::PageBytes(), 0);
    // From the halves of the fullest segment on.
    const size_t most = shape.MostRows(SegmentShape::kMostUnits);
    for (size_t rows = most / 2; rows <= most; ++rows) {
      const size_t units = shape.UnitsFor(rows);
      ASSERT_LE(rows, shape.MostRows(units));
      ASSERT_GT(rows, shape.MostRows(units - 1));
      ASSERT_LE(units, SegmentShape::kMostUnits);
    }
  }
}

}  // namespace
}  // namespace seraph
