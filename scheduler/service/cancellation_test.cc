#include "scheduler/service/cancellation.h"

#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::ElementsAre;

TEST(CancellationTest, RunsWhatWasLeftOnceAndWhatComesLaterAtOnce) {
  Cancellation cancellation;
  std::vector<int> ran;
  cancellation.OnCancel([&] { ran.push_back(1); });
  const uint64_t forgotten = cancellation.OnCancel([&] { ran.push_back(2); });
  cancellation.OnCancel([&] { ran.push_back(3); });
  cancellation.Forget(forgotten);
  EXPECT_THAT(cancellation.Check(), IsOk());
  EXPECT_TRUE(cancellation.Sleep(absl::ZeroDuration()));

  cancellation.Cancel();
  cancellation.Cancel();
  EXPECT_THAT(ran, ElementsAre(1, 3));
  EXPECT_THAT(cancellation.Check(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_FALSE(cancellation.Sleep(absl::Hours(1))) << "it does not wait";
  cancellation.Forget(cancellation.OnCancel([&] { ran.push_back(4); }));
  EXPECT_THAT(ran, ElementsAre(1, 3, 4));
}

// What runs may come back: no lock is held.
TEST(CancellationTest, ACallMayLeaveAnother) {
  Cancellation cancellation;
  bool ran = false;
  cancellation.OnCancel([&] { cancellation.OnCancel([&] { ran = true; }); });
  cancellation.Cancel();
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace seraph
