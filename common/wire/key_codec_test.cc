#include "common/wire/key_codec.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;

constexpr uint64_t kSeed = 9017;

std::string Encoded(KeyForm form, const std::vector<Key>& keys) {
  std::string bytes = "x";  // It appends.
  AppendKeys(form, keys, &bytes);
  return bytes.substr(1);
}

absl::StatusOr<std::vector<Key>> Decoded(KeyForm form, Key first, size_t count,
                                         absl::string_view bytes,
                                         size_t cut_at = 0) {
  const absl::string_view pieces[] = {bytes.substr(0, cut_at),
                                      bytes.substr(cut_at), "tail"};
  SliceReader reader(ByteSlices(pieces, nullptr));
  std::vector<Key> keys = {1, 2, 3};
  const absl::Status status =
      TakeKeys(form, first, count, bytes.size(), &reader, &keys);
  EXPECT_EQ(reader.left(), 4) << "its own bytes and no others";
  if (!status.ok()) return status;
  return keys;
}

void ComesBack(KeyForm form, const std::vector<Key>& keys) {
  const std::string bytes = Encoded(form, keys);
  EXPECT_EQ(KeyBytes(form, keys.size(), bytes.size()), bytes.size());
  for (const size_t cut : {size_t{0}, bytes.size() / 2, bytes.size() / 3}) {
    const auto back =
        Decoded(form, keys.empty() ? 0 : keys.front(), keys.size(), bytes, cut);
    ASSERT_THAT(back, IsOk());
    EXPECT_EQ(*back, keys);
  }
}

// `count` keys from `first` on, the gaps between 1 and `most`.
std::vector<Key> Keys(Key first, size_t count, uint64_t most, uint64_t seed) {
  std::vector<Key> keys = {first};
  while (keys.size() < count) {
    const uint64_t gap = 1 + ToBelow(Draw(seed, {keys.size()}), most);
    if (gap > kMaxKey - keys.back()) break;
    keys.push_back(keys.back() + gap);
  }
  return keys;
}

TEST(KeyCodecTest, KeysComeBackInTheFormThatIsChosen) {
  std::set<KeyForm> chosen;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", " << seed);
    const uint64_t first = Draw(kSeed, {seed}) >> ToBelow(seed * 7, 64);
    const std::vector<Key> keys =
        Keys(first, 1 + ToBelow(Draw(kSeed, {seed, 1}), 500),
             uint64_t{1} << seed % 60, seed);
    const KeyForm form = ChooseKeyForm(keys);
    chosen.insert(form);
    if (form != KeyForm::kRange) ComesBack(form, keys);
    ComesBack(KeyForm::kRaw64, keys);
    ComesBack(KeyForm::kDelta, keys);
    if (keys.back() - keys.front() <= 0xffffffff) {
      ComesBack(KeyForm::kOffset32, keys);
    }
  }
  EXPECT_EQ(chosen.size(), 4);
  ComesBack(KeyForm::kRaw64, {});
  ComesBack(KeyForm::kOffset32, {});
  ComesBack(KeyForm::kDelta, {});
}

TEST(KeyCodecTest, TheChosenFormFitsAndIsNoLongerThanRaw) {
  EXPECT_EQ(ChooseKeyForm({}), KeyForm::kRaw64);
  EXPECT_EQ(ChooseKeyForm({7}), KeyForm::kRange);
  EXPECT_EQ(ChooseKeyForm({kMaxKey - 1, kMaxKey}), KeyForm::kRange);
  EXPECT_EQ(ChooseKeyForm({0, 0xffffffff}), KeyForm::kOffset32);
  EXPECT_NE(ChooseKeyForm({0, 0x100000000}), KeyForm::kOffset32);
  EXPECT_EQ(ChooseKeyForm({0, kMaxKey}), KeyForm::kRaw64);
  // One gap may be as large as all others together.
  std::vector<Key> uneven = Keys(0, 1000, 2, 1);
  uneven.push_back(uneven.back() + (1 << 15));
  EXPECT_EQ(ChooseKeyForm(uneven), KeyForm::kDelta);
  EXPECT_LT(Encoded(KeyForm::kDelta, uneven).size(), 1010);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<Key> keys =
        Keys(Draw(kSeed, {seed}), 300, uint64_t{1} << seed % 60, seed);
    EXPECT_LE(Encoded(ChooseKeyForm(keys), keys).size(), 8 * keys.size());
  }
}

TEST(KeyCodecTest, OffsetsReachTwoToThe32MinusOne) {
  const std::vector<Key> keys = {5, 6, 5 + 0xffffffffull};
  ComesBack(KeyForm::kOffset32, keys);
  EXPECT_EQ(Encoded(KeyForm::kOffset32, keys),
            std::string("\0\0\0\0\1\0\0\0\xff\xff\xff\xff", 12));
  // Exactly to the greatest key, and one beyond.
  const Key first = kMaxKey - 0xffffffff;
  ComesBack(KeyForm::kOffset32, {first, kMaxKey});
  EXPECT_THAT(Decoded(KeyForm::kOffset32, first + 1, 2,
                      absl::string_view("\0\0\0\0\xff\xff\xff\xff", 8)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(KeyCodecTest, DeltasAreProtobufsVarints) {
  for (uint64_t seed = 0; seed < 64; ++seed) {
    const std::vector<Key> keys = Keys(seed, 50, uint64_t{1} << seed, seed);
    std::string expected;
    {
      google::protobuf::io::StringOutputStream stream(&expected);
      google::protobuf::io::CodedOutputStream out(&stream);
      for (size_t i = 0; i < keys.size(); ++i) {
        out.WriteVarint64(i == 0 ? 0 : keys[i] - keys[i - 1] - 1);
      }
    }
    EXPECT_EQ(Encoded(KeyForm::kDelta, keys), expected);
  }
}

TEST(KeyCodecTest, VarintsOfTenBytesAndNotMore) {
  ComesBack(KeyForm::kDelta, {0, kMaxKey});  // A gap of 2^64 - 2.
  // The first key may lie behind `first`, by all there is.
  const std::string all(9, '\xff');
  auto keys = Decoded(KeyForm::kDelta, 0, 1, all + "\x01");
  ASSERT_THAT(keys, IsOk());
  EXPECT_EQ(*keys, std::vector<Key>{kMaxKey});
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument);
  // 65 bits, and eleven bytes.
  EXPECT_THAT(Decoded(KeyForm::kDelta, 0, 1, all + "\x02"), refused);
  EXPECT_THAT(Decoded(KeyForm::kDelta, 0, 1, all + "\x81" + '\0'), refused);
  // Beyond the greatest key: by the gap, and by the one that it leaves out.
  EXPECT_THAT(Decoded(KeyForm::kDelta, 1, 1, all + "\x01"), refused);
  EXPECT_THAT(
      Decoded(KeyForm::kDelta, kMaxKey, 2, absl::string_view("\0\0", 2)),
      refused);
  EXPECT_THAT(
      Decoded(KeyForm::kDelta, kMaxKey - 1, 2, absl::string_view("\0\1", 2)),
      refused);
}

TEST(KeyCodecTest, WrongLengthsAreRefusedBeforeMemoryIsTaken) {
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument);
  // Cut off, left over, and far fewer bytes than keys.
  EXPECT_THAT(Decoded(KeyForm::kDelta, 0, 2, absl::string_view("\0\x80", 2)),
              refused);
  EXPECT_THAT(Decoded(KeyForm::kDelta, 0, 2, absl::string_view("\0\0\0", 3)),
              refused);
  EXPECT_THAT(Decoded(KeyForm::kDelta, 0, ~size_t{0}, "abc"), refused);
  EXPECT_THAT(Decoded(KeyForm::kDelta, 0, 1, ""), refused);
}

TEST(KeyCodecTest, RandomBytesAreAStatusOrAscendingKeys) {
  int good = 0, bad = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", " << i);
    std::string bytes(ToBelow(Draw(kSeed, {i, 1}), 30), '\0');
    for (size_t b = 0; b < bytes.size(); ++b) {
      // High bits are rare, so that some are keys.
      bytes[b] = static_cast<char>(Draw(kSeed, {i, 2, b}) &
                                   (Draw(kSeed, {i, 3, b}) % 8 ? 0x7f : 0xff));
    }
    const size_t count = ToBelow(Draw(kSeed, {i, 4}), 30);
    const Key first = Draw(kSeed, {i, 5}) | (i % 2 ? ~uint64_t{0} << 6 : 0);
    const auto keys =
        Decoded(KeyForm::kDelta, first, count, bytes, bytes.size() / 2);
    ++(keys.ok() ? good : bad);
    if (!keys.ok()) continue;
    ASSERT_EQ(keys->size(), count);
    for (size_t k = 1; k < count; ++k) ASSERT_LT((*keys)[k - 1], (*keys)[k]);
  }
  EXPECT_GT(good, 100);
  EXPECT_GT(bad, 1000);
}

}  // namespace
}  // namespace seraph
