#include "common/model_file/digest.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace seraph {
namespace {

// The expected values come from Python's hashlib and struct, over the layout
// that docs/model-format.md gives.
TEST(ModelDigestTest, IsTheHashOfTheDocumentedLayout) {
  ModelDigest digest;
  digest.BeginTable("bias", 1, TableKind::kDense);
  digest.AddRows({0}, {0.5f});
  digest.BeginTable("weights", 2, TableKind::kSparse);
  digest.AddRows({3, kMaxKey}, {1.5f, -2.0f, 0.0f, 1e-40f});
  EXPECT_EQ(digest.Finish(),
            "sha256:"
            "c85042d3372a47848d293a51682fb76b27cfa7b9e06cd6ffc1b43d7d36366e93");
}

TEST(ModelDigestTest, OfNoTablesIsTheEmptyHash) {
  ModelDigest digest;
  EXPECT_EQ(digest.Finish(),
            "sha256:"
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(ModelDigestTest, DoesNotDependOnHowTheRowsAreCut) {
  constexpr uint32_t kWidth = 3;
  std::vector<Key> keys;
  std::vector<float> values;
  for (Key key = 0; key < 20000; ++key) {
    keys.push_back(key * key);
    for (uint32_t i = 0; i < kWidth; ++i) values.push_back(0.1f * key + i);
  }
  ModelDigest whole, parts;
  whole.BeginTable("t", kWidth, TableKind::kSparse);
  whole.AddRows(keys, values);
  parts.BeginTable("t", kWidth, TableKind::kSparse);
  const auto all_keys = absl::MakeConstSpan(keys);
  const auto all_values = absl::MakeConstSpan(values);
  for (size_t done = 0, n = 0; done < keys.size(); done += n) {
    n = std::min(n * 2 + 1, keys.size() - done);
    parts.AddRows(all_keys.subspan(done, n),
                  all_values.subspan(done * kWidth, n * kWidth));
  }
  EXPECT_EQ(whole.Finish(), parts.Finish());
}

TEST(ModelDigestTest, ChangesWithNameWidthKindKeyAndValue) {
  struct Table {
    const char* name;
    uint32_t width;
    TableKind kind;
    Key key;
    float value;
  };
  const auto of = [](const Table& table) {
    ModelDigest digest;
    digest.BeginTable(table.name, table.width, table.kind);
    digest.AddRows({table.key}, std::vector<float>(table.width, table.value));
    return digest.Finish();
  };
  const std::string base = of({"w", 1, TableKind::kSparse, 7, 0.0f});
  EXPECT_EQ(of({"w", 1, TableKind::kSparse, 7, 0.0f}), base);
  EXPECT_NE(of({"v", 1, TableKind::kSparse, 7, 0.0f}), base);
  EXPECT_NE(of({"w", 2, TableKind::kSparse, 7, 0.0f}), base);
  EXPECT_NE(of({"w", 1, TableKind::kDense, 7, 0.0f}), base);
  EXPECT_NE(of({"w", 1, TableKind::kSparse, 8, 0.0f}), base);
  EXPECT_NE(of({"w", 1, TableKind::kSparse, 7, -0.0f}), base);
}

}  // namespace
}  // namespace seraph
