// The project's promise at the level of stores: the same pushes give the same
// bytes, however the table is cut into partitions and whatever came before.

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/draw.h"
#include "common/base/scramble.h"
#include "common/table/partitioning.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/make_row_store.h"
#include "server/store/row_store.h"
#include "server/update/optimizer_variants.h"
#include "xxhash.h"

namespace seraph {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kSeed = 77;
constexpr int kSteps = 25;
constexpr uint32_t kWidth = 3;

TableSpec Table(TableKind kind, const OptimizerSpec& optimizer,
                uint32_t partitions) {
  return {.name = "t",
          .kind = kind,
          .keys = 500,
          .width = kWidth,
          .scramble = kind == TableKind::kSparse,
          .partitions = partitions,
          .seed = kSeed,
          .initializer = {.kind = InitializerKind::kNormal, .scale = 0.1},
          .optimizer = optimizer};
}

// Trains a table, cut into partitions, on pushes that the seed gives, and
// returns its rows by original key. Each partition sees every step.
std::map<Key, std::vector<float>> Train(const TableSpec& table) {
  const Partitioning cut(table);
  std::vector<std::unique_ptr<RowStore>> stores;
  for (uint32_t i = 0; i < cut.partitions(); ++i) {
    stores.push_back(*MakeRowStore(table, cut.PartitionRange(i)));
  }
  std::vector<LazySums> sums(stores.size());
  for (uint64_t t = 0; t < kSteps; ++t) {
    std::vector<std::map<Key, std::vector<float>>> pushes(stores.size());
    for (Key key = 0; key < table.keys; ++key) {
      if (ToBelow(Draw(kSeed, {t, key}), 3) != 0) continue;
      const Key mixed = ToMixedKey(table, key);
      std::vector<float>& g = pushes[cut.PartitionOf(mixed)][mixed];
      for (uint64_t j = 0; j < kWidth; ++j) {
        g.push_back(ToNormal(Draw(kSeed, {t, key, j}), Draw(kSeed, {t, j})));
      }
    }
    for (size_t i = 0; i < stores.size(); ++i) {
      std::vector<Key> keys;
      std::vector<float> gradients;
      for (const auto& [key, g] : pushes[i]) {
        keys.push_back(key);
        gradients.insert(gradients.end(), g.begin(), g.end());
      }
      const StepContext step = stores[i]->rule().NextStep(
          sums[i], table.optimizer.learning_rate / (1 + t));
      sums[i] = step.after;
      EXPECT_EQ(stores[i]->Apply(keys, gradients, step, nullptr).not_finite,
                0u);
    }
  }
  std::map<Key, std::vector<float>> rows;
  for (size_t i = 0; i < stores.size(); ++i) {
    const auto cursor = stores[i]->Cursor();
    std::vector<Key> keys;
    std::vector<float> values;
    for (cursor->Next(64, sums[i], &keys, &values); !keys.empty();
         cursor->Next(64, sums[i], &keys, &values)) {
      for (size_t k = 0; k < keys.size(); ++k) {
        rows[keys[k]].assign(values.begin() + k * kWidth,
                             values.begin() + (k + 1) * kWidth);
      }
    }
  }
  return rows;
}

uint64_t Digest(const std::map<Key, std::vector<float>>& rows) {
  uint64_t digest = 0;
  for (const auto& [key, values] : rows) {
    digest = XXH3_64bits_withSeed(&key, sizeof(key), digest);
    digest = XXH3_64bits_withSeed(values.data(), values.size() * sizeof(float),
                                  digest);
  }
  return digest;
}

class SameBytesTest : public ::testing::TestWithParam<OptimizerVariant> {};

INSTANTIATE_TEST_SUITE_P(All, SameBytesTest,
                         ::testing::ValuesIn(OptimizerVariants()),
                         [](const auto& info) { return info.param.name; });

TEST_P(SameBytesTest, OnOneSevenAndSixtyFourPartitions) {
  for (TableKind kind : {TableKind::kDense, TableKind::kSparse}) {
    const auto one = Train(Table(kind, GetParam().spec, 1));
    EXPECT_EQ(one.size(), 500u);
    for (uint32_t partitions : {7, 64, 500}) {
      const auto many = Train(Table(kind, GetParam().spec, partitions));
      EXPECT_EQ(Digest(many), Digest(one)) << partitions << " partitions";
    }
  }
}

// Dense and sparse tables differ only in when a row begins to exist, which
// shows where idle rows decay.
TEST(SameBytesOfKindsTest, DenseAndSparseTablesAgreeUnlessIdleRowsDecay) {
  for (const OptimizerVariant& variant : OptimizerVariants()) {
    const OptimizerSpec& spec = variant.spec;
    const bool decay =
        spec.kind == OptimizerKind::kAdamw ||
        (spec.kind == OptimizerKind::kSgd && (spec.l1 > 0 || spec.l2 > 0));
    const auto dense = Train(Table(TableKind::kDense, spec, 5));
    const auto sparse = Train(Table(TableKind::kSparse, spec, 5));
    EXPECT_EQ(Digest(dense) == Digest(sparse), !decay) << variant.name;
  }
}

// These bits are those of every compiler, optimisation level and CPU of the
// same architecture and C library. They change only when a formula does.
TEST(GoldenBytesTest, NeverChange) {
  const std::map<std::string, uint64_t> golden = {
      {"Sgd", 0x913f136b9f0e7f41},
      {"SgdWithL1", 0x2024316aa9f4dfc9},
      {"SgdWithL2", 0xa134ebf71e61b315},
      {"SgdWithL1L2Clip", 0xcc4171773612671},
      {"Momentum", 0xfab91c233ca20444},
      {"MomentumWithL1", 0x977fb39b9cf9d64a},
      {"MomentumWithL2", 0xa550ac4d5e1fa350},
      {"MomentumWithL1L2Clip", 0x56cadef625fc47f0},
      {"Nesterov", 0x3543458a794e6210},
      {"NesterovWithL1", 0x1642eac80a6ca334},
      {"NesterovWithL2", 0x4e757c048939cb1},
      {"NesterovWithL1L2Clip", 0x7124377066c513f0},
      {"Adagrad", 0x17b9140abd1ff180},
      {"AdagradWithL1", 0xfd0d28d9e2efa237},
      {"AdagradWithL2", 0xf04f248e821e1529},
      {"AdagradWithL1L2Clip", 0x7859d5ea3557cf},
      {"Rmsprop", 0x6cfe281738a24860},
      {"RmspropWithL1", 0xc2c902adcea19266},
      {"RmspropWithL2", 0x8d4b827bbf630af5},
      {"RmspropWithL1L2Clip", 0x73de1c0c7cc6568b},
      {"Adadelta", 0xc79fb9a43ce9aed1},
      {"AdadeltaWithL1", 0xd37dd5eb0214c399},
      {"AdadeltaWithL2", 0x97bde83f9f42f64e},
      {"AdadeltaWithL1L2Clip", 0x734986cb2ed46fe7},
      {"Adam", 0x6d79abecb56dc51d},
      {"AdamWithL1", 0xef802f6894816772},
      {"AdamWithL2", 0xfca9f4a419a6438e},
      {"AdamWithL1L2Clip", 0x16a5bf8b80e5fa4f},
      {"Adamw", 0xd34eb0f9d2b4fe70},
      {"AdamwWithL1", 0x556e0bb7b254b9f4},
      {"AdamwWithL2", 0xeb82eed120117b11},
      {"AdamwWithL1L2Clip", 0x76cc03bcfa2d5d0e},
      {"Ftrl", 0x5ba595baec6b55ce},
      {"FtrlWithL1", 0xf9117907a6d9dd2b},
      {"FtrlWithL2", 0x67b9d0001e7cfb1f},
      {"FtrlWithL1L2Clip", 0xe0824ed2ef6a63d0},
      {"Sum", 0xe670b5398760fd0e},
      {"Assign", 0xbfcdedb98c48afae},
  };
  for (const OptimizerVariant& variant : OptimizerVariants()) {
    const auto found = golden.find(variant.name);
    const uint64_t digest =
        Digest(Train(Table(TableKind::kDense, variant.spec, 3)));
    EXPECT_TRUE(found != golden.end() && found->second == digest)
        << "{\"" << variant.name << "\", 0x" << std::hex << digest << "},";
  }
}

// Users and files see original keys in their order although rows lie by mixed
// ones, and initial values belong to the original key.
TEST(ScrambledStoreTest, ExportsInTheOrderOfOriginalKeys) {
  TableSpec table = Table(TableKind::kSparse, {.kind = OptimizerKind::kSum}, 1);
  table.width = 1;
  auto store = *MakeRowStore(table, {0, kMaxKey});
  const std::vector<Key> originals = {0, 1, 2, 77, kMaxKey - 1, kMaxKey};
  std::map<Key, float> pushes;  // By mixed key.
  for (const Key key : originals) pushes[Scramble(key)] = 0.0f;
  std::vector<Key> mixed;
  for (const auto& [key, g] : pushes) mixed.push_back(key);
  store->Apply(mixed, std::vector<float>(mixed.size()), {}, nullptr);
  EXPECT_EQ(store->Keys({0, kMaxKey}), mixed);

  std::vector<Key> keys;
  std::vector<float> values;
  store->Cursor()->Next(100, {}, &keys, &values);
  EXPECT_EQ(keys, originals);
  const Initializer initializer(table);
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(values[i], initializer.Value(originals[i], 0)) << originals[i];
  }
}

}  // namespace
}  // namespace seraph
