#include "server/core/key_admission.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "common/base/draw.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/make_row_store.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TableSpec Table(uint32_t admit_after) {
  TableSpec table{.name = "t", .admit_after = admit_after};
  table.optimizer.kind = OptimizerKind::kSum;
  return table;
}

void Create(RowStore* store, const std::vector<Key>& keys) {
  store->Apply(keys, std::vector<float>(keys.size(), 1), StepContext{},
               nullptr);
}

TEST(KeyAdmissionTest, AKeyIsAdmittedAtItsNthSighting) {
  const auto store = *MakeRowStore(Table(3), {});
  KeyAdmission admission(Table(3), {});
  EXPECT_THAT(admission.Admit(*store, {5, 9}, {}), IsEmpty());
  EXPECT_THAT(admission.Admit(*store, {5, 7, 9}, {1, 3, 1}), ElementsAre(1));
  EXPECT_EQ(admission.sightings(), (Sightings{{5, 7, 9}, {2, 3, 2}}));
  EXPECT_THAT(admission.Admit(*store, {7, 9}, {}), ElementsAre(0, 1));
}

TEST(KeyAdmissionTest, AKeyThatExistsIsNotCounted) {
  const auto store = *MakeRowStore(Table(2), {});
  Create(store.get(), {5});
  KeyAdmission admission(Table(2), {});
  EXPECT_THAT(admission.Admit(*store, {5, 6}, {}), ElementsAre(0));
  EXPECT_EQ(admission.sightings(), (Sightings{{6}, {1}}));
}

TEST(KeyAdmissionTest, AtTheEndOfAnEpochOnlyTheWaitingAreRemembered) {
  const auto store = *MakeRowStore(Table(2), {});
  KeyAdmission admission(Table(2), {});
  admission.Admit(*store, {5, 6, 7}, {1, 2, 1});
  admission.EndEpoch();
  EXPECT_EQ(admission.sightings(), (Sightings{{5, 7}, {1, 1}}));
  EXPECT_THAT(admission.Admit(*store, {5, 6}, {}), ElementsAre(0))
      << "6 would have a row now, if it had not gone";
}

TEST(KeyAdmissionTest, CountsDoNotOverflow) {
  const auto store = *MakeRowStore(Table(255), {});
  KeyAdmission admission(Table(255), {});
  EXPECT_THAT(admission.Admit(*store, {5}, {254}), IsEmpty());
  EXPECT_THAT(admission.Admit(*store, {5}, {254}), ElementsAre(0));
  EXPECT_EQ(admission.sightings(), (Sightings{{5}, {255}}));
}

TEST(KeyAdmissionTest, GoesOnFromWhatWasCounted) {
  const uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE(seed);
  const auto store = *MakeRowStore(Table(4), {});
  auto admission = std::make_unique<KeyAdmission>(Table(4), KeyRange{});
  std::map<Key, int> model;
  for (uint64_t round = 0; round < 100; ++round) {
    std::set<Key> keys;
    for (uint64_t i = 0; i < 30; ++i) {
      keys.insert(Draw(1, {ToBelow(Draw(seed, {round, i}), 300)}));
    }
    const std::vector<Key> pushed(keys.begin(), keys.end());
    std::vector<uint8_t> times;
    std::vector<size_t> expected;
    for (size_t i = 0; i < pushed.size(); ++i) {
      times.push_back(1 + Draw(seed, {round, 1000 + i}) % 3);
      if ((model[pushed[i]] += times[i]) >= 4) expected.push_back(i);
    }
    ASSERT_EQ(admission->Admit(*store, pushed, times), expected);
    if (round % 7 != 0) continue;
    const Sightings sightings = admission->sightings();
    admission = std::make_unique<KeyAdmission>(Table(4), KeyRange{});
    admission->Restore(sightings);
    ASSERT_EQ(admission->sightings(), sightings);
  }
}

}  // namespace
}  // namespace seraph
