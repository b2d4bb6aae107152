#include "common/wire/slice_values.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/base/draw.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

// `bytes`, cut at random into pieces of 0 to `longest` bytes.
ByteSlices CutUp(const std::string& bytes, size_t longest, uint64_t seed) {
  std::vector<absl::string_view> pieces;
  absl::string_view left = bytes;
  for (uint64_t i = 0; !left.empty(); ++i) {
    const size_t size = ToBelow(Draw(seed, {i}), longest + 1);
    pieces.push_back(left.substr(0, size));
    left.remove_prefix(pieces.back().size());
  }
  return ByteSlices(pieces, nullptr);
}

template <typename T>
void ComesBack(size_t longest, uint64_t seed) {
  std::string bytes(1 + 100 * sizeof(T), '\0');  // The first is before them.
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(Draw(seed, {7, i}));
  }
  SliceReader reader(CutUp(bytes, longest, seed));
  reader.Skip(1);
  std::vector<T> first(3, 1), second;
  TakeValues(60, &reader, &first);
  TakeValues(40, &reader, &second);
  EXPECT_EQ(reader.left(), 0);
  ASSERT_EQ(first.size(), 60);
  ASSERT_EQ(second.size(), 40);
  EXPECT_EQ(std::memcmp(first.data(), bytes.data() + 1, 60 * sizeof(T)), 0);
  EXPECT_EQ(std::memcmp(second.data(), bytes.data() + 1 + 60 * sizeof(T),
                        40 * sizeof(T)),
            0);
}

TEST(SliceValuesTest, AnyCutGivesTheSameNumbers) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const size_t longest = 1 + seed % 40;
    ComesBack<uint64_t>(longest, seed);
    ComesBack<float>(longest, seed);
  }
}

TEST(SliceValuesTest, RecordsComeWholeWhereverTheyAreCut) {
  std::string bytes;
  for (size_t i = 0; i < 300; ++i) bytes.push_back(static_cast<char>(i));
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SliceReader reader(CutUp(bytes, 1 + seed % 30, seed));
    reader.Skip(3);
    std::string back;
    ForEachRecord(20, 12, &reader,
                  [&](const char* record) { back.append(record, 12); });
    ForEachRecord(0, 12, &reader, [&](const char* record) { FAIL(); });
    EXPECT_EQ(back, bytes.substr(3, 240)) << seed;
    EXPECT_EQ(reader.left(), 57);
  }
}

TEST(SliceValuesTest, NoNumbersNeedNoBytes) {
  SliceReader reader{ByteSlices()};
  std::vector<float> none = {1};
  TakeValues(0, &reader, &none);
  EXPECT_TRUE(none.empty());
}

TEST(ByteSlicesTest, TheOwnerLivesAsLongAsAPiece) {
  auto owner = std::make_shared<const std::string>("abcdef");
  const std::weak_ptr<const std::string> alive = owner;
  ByteSlices part;
  {
    SliceReader reader(ByteSlices(*owner, owner));
    owner.reset();
    reader.Skip(2);
    part = reader.Take(3);
  }
  EXPECT_EQ(part.ToString(), "cde");
  part = ByteSlices::Join({part, part});
  EXPECT_EQ(part.ToString(), "cdecde");
  EXPECT_FALSE(alive.expired());
  part = ByteSlices();
  EXPECT_TRUE(alive.expired());
}

}  // namespace
}  // namespace seraph
