#include "server/service/admission.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(AdmissionTest, AJobHoldsUpToTheLimitAndGivesBack) {
  auto server = std::make_shared<Admission>(100, 1);
  auto job = std::make_shared<JobAdmission>(server);
  auto first = job->TryTake(60);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(job->TryTake(41).has_value());
  {
    const auto second = job->TryTake(40);
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(server->held_bytes(), 100);
  }
  EXPECT_EQ(server->held_bytes(), 60);
  first.reset();
  EXPECT_EQ(server->held_bytes(), 0);
  EXPECT_EQ(job->held_bytes(), 0);
}

TEST(AdmissionTest, ARequestLargerThanTheLimitPassesAlone) {
  auto server = std::make_shared<Admission>(100, 1);
  auto job = std::make_shared<JobAdmission>(server);
  auto large = job->TryTake(1000);
  ASSERT_TRUE(large.has_value());
  EXPECT_FALSE(job->TryTake(1).has_value());
  large.reset();
  EXPECT_TRUE(job->TryTake(1).has_value());
}

// One job that fills the server does not keep another one out for ever.
TEST(AdmissionTest, JobsHaveEqualShares) {
  auto server = std::make_shared<Admission>(100, 1);
  auto one = std::make_shared<JobAdmission>(server);
  auto two = std::make_shared<JobAdmission>(server);
  const auto held = one->TryTake(40);
  ASSERT_TRUE(held.has_value());
  EXPECT_FALSE(one->TryTake(20).has_value()) << "half of it is the other's";
  EXPECT_TRUE(two->TryTake(50).has_value());
  two.reset();
  EXPECT_TRUE(one->TryTake(60).has_value()) << "alone it may have all";
}

TEST(AdmissionTest, WhatReleasesMemoryIsTakenWhateverIsHeld) {
  auto server = std::make_shared<Admission>(100, 1);
  auto job = std::make_shared<JobAdmission>(server);
  const auto held = job->TryTake(100);
  ASSERT_TRUE(held.has_value());
  {
    const JobAdmission::Hold always = job->Take(500);
    EXPECT_EQ(server->exempt_bytes(), 500);
    EXPECT_EQ(server->held_bytes(), 100) << "counted apart";
  }
  EXPECT_EQ(server->exempt_bytes(), 0);
}

TEST(AdmissionTest, OfARankThatIsTakenOnceAtATime) {
  auto server = std::make_shared<Admission>(100, 1);
  auto job = std::make_shared<JobAdmission>(server);
  auto first = job->TakeOnce({0, 1, 2}, 500);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(server->exempt_bytes(), 500);
  EXPECT_FALSE(job->TakeOnce({0, 1, 2}, 1).has_value());
  EXPECT_TRUE(job->TakeOnce({0, 1, 3}, 1).has_value());
  EXPECT_TRUE(job->TakeOnce({0, 0, 2}, 1).has_value());
  JobAdmission::Hold moved = *std::move(first);
  first.reset();
  EXPECT_FALSE(job->TakeOnce({0, 1, 2}, 1).has_value()) << "still held";
  moved = JobAdmission::Hold();
  EXPECT_EQ(server->exempt_bytes(), 0);
  EXPECT_TRUE(job->TakeOnce({0, 1, 2}, 1).has_value());
}

TEST(AdmissionTest, WhatIsSmallHasAQuarterBesideTheBudget) {
  auto server = std::make_shared<Admission>(100, 1);
  auto job = std::make_shared<JobAdmission>(server);
  const auto held = job->TryTake(100);
  ASSERT_TRUE(held.has_value());
  const auto beside = job->TakeBeside(20);
  ASSERT_TRUE(beside.has_value());
  EXPECT_FALSE(job->TakeBeside(6).has_value());
  EXPECT_TRUE(job->TakeBeside(5).has_value());
  EXPECT_EQ(server->exempt_bytes(), 20);
}

TEST(AdmissionTest, AHoldMayOutliveItsJob) {
  auto server = std::make_shared<Admission>(100, 1);
  std::optional<JobAdmission::Hold> hold;
  {
    auto job = std::make_shared<JobAdmission>(server);
    hold = job->TryTake(10);
  }
  EXPECT_EQ(server->held_bytes(), 10);
  hold.reset();
  EXPECT_EQ(server->held_bytes(), 0);
}

TEST(AdmissionTest, DelaysAreSpreadOut) {
  auto server = std::make_shared<Admission>(100, 1);
  auto job = std::make_shared<JobAdmission>(server);
  uint32_t least = ~0u;
  uint32_t most = 0;
  for (int i = 0; i < 100; ++i) {
    const uint32_t delay = job->RetryAfterMs();
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  EXPECT_GE(least, 20);
  EXPECT_LT(most, 100);
  EXPECT_GT(most - least, 40);
  EXPECT_EQ(server->refusals(), 100);
}

class ChunksTest : public ::testing::Test {
 protected:
  static JobAdmission::ChunkedEntry Entry(uint32_t rank, uint32_t step,
                                          uint32_t attempt = 1) {
    return {.table = 0,
            .partition = 2,
            .rank = {rank, attempt},
            .clock = {0, step}};
  }

  std::shared_ptr<Admission> server_ = std::make_shared<Admission>(100, 1);
  std::shared_ptr<JobAdmission> job_ = std::make_shared<JobAdmission>(server_);
};

TEST_F(ChunksTest, AnEntryThatHasBegunKeepsItsRoomUntilItsEnd) {
  job_->Begin(Entry(0, 5), *job_->TryTake(80));
  EXPECT_TRUE(job_->HasBegun(Entry(0, 5)));
  EXPECT_FALSE(job_->HasBegun(Entry(1, 5)));
  EXPECT_FALSE(job_->HasBegun(Entry(0, 6)));
  EXPECT_FALSE(job_->HasBegun(Entry(0, 5, 2))) << "another attempt";
  EXPECT_FALSE(job_->TryTake(30).has_value());
  job_->End(Entry(0, 6));
  EXPECT_EQ(server_->held_bytes(), 80) << "that was another one";
  job_->End(Entry(0, 5));
  EXPECT_EQ(server_->held_bytes(), 0);
}

// A rank that was handed out anew never finishes what it began.
TEST_F(ChunksTest, ALaterEntryOfTheRankTakesTheRoomOfTheOneBefore) {
  job_->Begin(Entry(0, 5), *job_->TryTake(80));
  job_->Begin(Entry(0, 5, 2), *job_->TryTake(20));
  EXPECT_EQ(server_->held_bytes(), 20);
  EXPECT_FALSE(job_->HasBegun(Entry(0, 5)));
}

TEST_F(ChunksTest, AJobThatGoesTakesItsReservationsWithIt) {
  job_->Begin(Entry(0, 5), *job_->TryTake(80));
  job_.reset();
  EXPECT_EQ(server_->held_bytes(), 0);
}

}  // namespace
}  // namespace seraph
