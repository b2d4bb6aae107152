#include "worker/client/told_lists.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kKeys = 10;  // Of a list.

Node Server(const std::string& name, uint64_t incarnation = 1) {
  Node node;
  node.name = name;
  node.incarnation = incarnation;
  return node;
}

enum class Form { kSpelled, kNamed, kListed };

class ToldListsTest : public ::testing::Test {
 protected:
  explicit ToldListsTest(size_t room = 2) { Make(room, 100); }

  // Room for so many lists at each server.
  void Make(size_t room, size_t seen) {
    lists_.emplace(ToldLists::Options{
        .job = "j",
        .least_keys = kKeys,
        .bytes_per_server = room * kKeys * ToldLists::kBytesPerKey,
        .seen = seen});
    lists_->Place(0, Server("a"));
    lists_->Place(1, Server("a"));
    lists_->Place(2, Server("b"));
  }

  void Move(uint32_t placement, const Node& server) {
    std::vector<bool> moved(3);
    moved[placement] = true;
    lists_->Forget(moved);
    lists_->Place(placement, server);
  }

  static std::vector<Key> KeysOf(uint64_t list) {
    std::vector<Key> keys;
    for (Key i = 0; i < kKeys; ++i) keys.push_back(list * 1000 + i * i);
    return keys;
  }

  // How a part with these keys goes; the server takes it, unless not.
  template <typename Part = v1::PullPart>
  Form Send(const std::vector<Key>& keys, uint32_t placement = 0,
            bool is_taken = true) {
    Part part;
    std::string bytes;
    NamedKeys named;
    lists_->Write(placement, keys, &part, &bytes, &named);
    EXPECT_EQ(part.key_count(), keys.size());
    Form form = part.has_list() ? Form::kNamed : Form::kSpelled;
    if (part.encoding() == v1::KEY_ENCODING_LISTED) {
      form = Form::kListed;
      EXPECT_THAT(bytes, IsEmpty());
      EXPECT_THAT(named, SizeIs(1));
      // What it stands for can be had again.
      Part spelled;
      std::string expected;
      SetKeys(absl::MakeConstSpan(keys), &spelled, &expected);
      Part again = part;
      ToldLists::WriteAnew(placement, "", named, &again, &bytes);
      EXPECT_EQ(bytes, expected);
      EXPECT_FALSE(again.has_list());
      EXPECT_EQ(again.encoding(), spelled.encoding());
    } else {
      EXPECT_THAT(named, IsEmpty());
    }
    if (is_taken) lists_->OnTaken(placement, part);
    last_name_ = part.list();
    return form;
  }
  Form Pull(uint64_t list, uint32_t placement = 0) {
    return Send<v1::PullPart>(KeysOf(list), placement);
  }
  Form Push(uint64_t list, uint32_t placement = 0) {
    return Send<v1::PushPart>(KeysOf(list), placement);
  }
  // The server says that it does not know what was sent last.
  void Miss(uint32_t placement = 0) {
    v1::PullPart part;
    part.set_encoding(v1::KEY_ENCODING_LISTED);
    *part.mutable_list() = last_name_;
    lists_->OnUnknown(placement, part);
  }

  std::optional<ToldLists> lists_;
  v1::KeyListName last_name_;
};

TEST_F(ToldListsTest, AListIsNamedAtItsSecondSightAndThenGoesByName) {
  EXPECT_EQ(Pull(1), Form::kSpelled);
  EXPECT_EQ(Pull(1), Form::kNamed);
  EXPECT_EQ(Pull(1), Form::kListed);
  EXPECT_EQ(Push(1), Form::kListed) << "one list for both";
  EXPECT_EQ(Pull(1, 1), Form::kSpelled) << "another partition knows nothing";
}

TEST_F(ToldListsTest, ThePushOfWhatWasPulledIsNoSecondSight) {
  EXPECT_EQ(Pull(1), Form::kSpelled);
  EXPECT_EQ(Push(1), Form::kSpelled);
  EXPECT_EQ(Pull(1), Form::kNamed);
  EXPECT_EQ(Push(1), Form::kListed);
}

TEST_F(ToldListsTest, WhatIsNotAnsweredIsSpelledOn) {
  Pull(1);
  EXPECT_EQ(Send(KeysOf(1), 0, /*is_taken=*/false), Form::kNamed);
  EXPECT_EQ(Send(KeysOf(1), 0, /*is_taken=*/false), Form::kNamed);
}

TEST_F(ToldListsTest, ShortListsAndRangesHaveNoNames) {
  std::vector<Key> few = KeysOf(1);
  few.pop_back();
  std::vector<Key> range;
  for (Key i = 0; i < 2 * kKeys; ++i) range.push_back(7 + i);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Send(few), Form::kSpelled);
    EXPECT_EQ(Send(range), Form::kSpelled);
    EXPECT_EQ(Send(std::vector<Key>()), Form::kSpelled);
  }
}

TEST_F(ToldListsTest, OtherKeysOfTheSameOffsetsAreAnotherList) {
  std::vector<Key> moved = KeysOf(1);
  for (Key& key : moved) key += 5;
  for (int i = 0; i < 3; ++i) Pull(1);
  EXPECT_EQ(Send(moved), Form::kSpelled);
}

TEST_F(ToldListsTest, AnotherLifeOfTheServerKnowsNothing) {
  for (int i = 0; i < 2; ++i) Pull(1);
  ASSERT_EQ(Pull(1), Form::kListed);
  Move(0, Server("a", 2));
  EXPECT_EQ(Pull(1), Form::kSpelled);
  EXPECT_EQ(Pull(1), Form::kNamed);
  // Without a leader, too.
  Move(0, Node());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Pull(1), Form::kSpelled);
}

TEST_F(ToldListsTest, AMissIsSpelledAgainAndTakenAsALackOfRoom) {
  for (uint64_t list : {1, 2}) {
    for (int i = 0; i < 3; ++i) Pull(list);
  }
  ASSERT_EQ(Pull(1), Form::kListed);
  Miss();
  Miss();  // Of the push beside the pull.
  EXPECT_EQ(Pull(2), Form::kListed);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Pull(1), Form::kSpelled) << "there is room for one list alone";
    EXPECT_EQ(Pull(2), Form::kListed);
  }
  // Not at another server.
  for (uint64_t list : {1, 2}) {
    for (int i = 0; i < 2; ++i) Pull(list, 2);
    EXPECT_EQ(Pull(list, 2), Form::kListed);
  }
}

TEST_F(ToldListsTest, OfAnEpochThatIsTooLargeSomeListsStay) {
  for (int epoch = 0; epoch < 5; ++epoch) {
    int listed = 0;
    for (uint64_t list = 0; list < 7; ++list) {
      listed += Pull(list) == Form::kListed;
      listed += Push(list) == Form::kListed;
    }
    // Pulled under its name by the second epoch, pushed by name at once.
    EXPECT_EQ(listed, epoch == 0 ? 0 : epoch == 1 ? 2 : 4) << epoch;
  }
}

TEST_F(ToldListsTest, ListsThatAreNoLongerUsedMakeRoom) {
  for (int i = 0; i < 3; ++i) {
    for (uint64_t list : {1, 2}) Pull(list);
  }
  for (int i = 0; i < 3; ++i) {
    Pull(1);
    Pull(3);
  }
  EXPECT_EQ(Pull(3), Form::kListed) << "in place of list 2";
  EXPECT_EQ(Pull(1), Form::kListed);
  EXPECT_EQ(Pull(2), Form::kSpelled);
}

TEST_F(ToldListsTest, OfListsThatWereSeenOnceOnlyTheLastAreRemembered) {
  Make(/*room=*/10, /*seen=*/3);
  for (uint64_t list : {1, 2, 3, 4}) Pull(list);
  EXPECT_EQ(Pull(1), Form::kSpelled) << "long forgotten; now 2 is, too";
  EXPECT_EQ(Pull(4), Form::kNamed);
  EXPECT_EQ(Pull(2), Form::kSpelled);
}

}  // namespace
}  // namespace seraph
