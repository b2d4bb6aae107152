#include "scheduler/io/row_stream.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ListedRows final : public RowSource {
 public:
  explicit ListedRows(std::vector<absl::StatusOr<Rows>> pieces)
      : pieces_(std::move(pieces)) {}

  absl::StatusOr<bool> Next(Rows* rows) override {
    if (next_ == pieces_.size()) return false;
    if (!pieces_[next_].ok()) return pieces_[next_].status();
    *rows = *pieces_[next_++];
    return true;
  }

 private:
  std::vector<absl::StatusOr<Rows>> pieces_;
  size_t next_ = 0;
};

std::unique_ptr<RowSource> Listed(std::vector<absl::StatusOr<Rows>> pieces) {
  return std::make_unique<ListedRows>(std::move(pieces));
}

MergedRows Merge(std::vector<std::unique_ptr<RowSource>> sources,
                 size_t piece_rows = 100) {
  return MergedRows(std::move(sources), 1, piece_rows);
}

template <typename... Sources>
std::vector<std::unique_ptr<RowSource>> All(Sources... sources) {
  std::vector<std::unique_ptr<RowSource>> all;
  (all.push_back(std::move(sources)), ...);
  return all;
}

TEST(MergedRowsTest, MergesByKey) {
  MergedRows merged =
      Merge(All(Listed({Rows{{1, 5}, {0.1f, 0.5f}}, Rows{{9}, {0.9f}}}),
                Listed({}), Listed({Rows{}, Rows{{2, 7}, {0.2f, 0.7f}}})));
  Rows rows;
  EXPECT_THAT(merged.Next(&rows), IsOkAndHolds(true));
  EXPECT_THAT(rows.keys, ElementsAre(1, 2, 5, 7, 9));
  EXPECT_THAT(rows.values, ElementsAre(0.1f, 0.2f, 0.5f, 0.7f, 0.9f));
  EXPECT_THAT(merged.Next(&rows), IsOkAndHolds(false));
  EXPECT_THAT(merged.Next(&rows), IsOkAndHolds(false));
}

TEST(MergedRowsTest, KeepsWideRowsTogetherAndPiecesSmall) {
  MergedRows merged(All(Listed({Rows{{3, 4}, {3, 30, 4, 40}}}),
                        Listed({Rows{{1, kMaxKey}, {1, 10, 9, 90}}})),
                    2, 3);
  Rows rows;
  ASSERT_THAT(merged.Next(&rows), IsOkAndHolds(true));
  EXPECT_THAT(rows.keys, ElementsAre(1, 3, 4));
  EXPECT_THAT(rows.values, ElementsAre(1, 10, 3, 30, 4, 40));
  ASSERT_THAT(merged.Next(&rows), IsOkAndHolds(true));
  EXPECT_THAT(rows.keys, ElementsAre(kMaxKey));
  EXPECT_THAT(merged.Next(&rows), IsOkAndHolds(false));
}

TEST(MergedRowsTest, AnySplitGivesTheSameStream) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::map<Key, float> all;
    std::vector<std::vector<absl::StatusOr<Rows>>> pieces(5);
    for (uint64_t i = 0; i < 500; ++i) {
      all[Draw(seed, {i})] = static_cast<float>(i);
    }
    for (const auto& [key, value] : all) {
      auto& input = pieces[Draw(seed, {key, 1}) % pieces.size()];
      if (input.empty() || Draw(seed, {key, 2}) % 7 == 0) {
        input.push_back(Rows());
      }
      input.back()->keys.push_back(key);
      input.back()->values.push_back(value);
    }
    std::vector<std::unique_ptr<RowSource>> sources;
    for (auto& input : pieces) sources.push_back(Listed(std::move(input)));
    MergedRows merged = Merge(std::move(sources), 64);
    std::map<Key, float> got;
    Key last = 0;
    Rows rows;
    while (true) {
      const auto more = merged.Next(&rows);
      ASSERT_THAT(more, IsOk());
      if (!*more) break;
      for (size_t i = 0; i < rows.keys.size(); ++i) {
        ASSERT_TRUE(got.empty() || rows.keys[i] > last);
        last = rows.keys[i];
        got[last] = rows.values[i];
      }
    }
    EXPECT_EQ(got, all);
  }
}

TEST(MergedRowsTest, PassesErrorsOn) {
  MergedRows merged =
      Merge(All(Listed({Rows{{1}, {1}}, absl::UnavailableError("gone")}),
                Listed({Rows{{2}, {2}}})));
  Rows rows;
  EXPECT_THAT(merged.Next(&rows), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(MergedRowsTest, RefusesWhatAPartitionMayNotSend) {
  constexpr auto kInternal = absl::StatusCode::kInternal;
  Rows rows;
  EXPECT_THAT(Merge(All(Listed({Rows{{2, 2}, {1, 1}}}))).Next(&rows),
              StatusIs(kInternal, HasSubstr("ascend")));
  EXPECT_THAT(Merge(All(Listed({Rows{{2}, {1}}, Rows{{1}, {1}}}))).Next(&rows),
              StatusIs(kInternal, HasSubstr("ascend")));
  EXPECT_THAT(Merge(All(Listed({Rows{{1, 2}, {1}}}))).Next(&rows),
              StatusIs(kInternal, HasSubstr("values")));
  EXPECT_THAT(Merge(All(Listed({Rows{{7}, {1}}}), Listed({Rows{{7}, {2}}})))
                  .Next(&rows),
              StatusIs(kInternal, HasSubstr("key 7")));
}

}  // namespace
}  // namespace seraph
