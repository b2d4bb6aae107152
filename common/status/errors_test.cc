#include "common/status/errors.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ErrorsTest, AReasonAndItsValuesAreKeptWithTheStatus) {
  const absl::Status status =
      WithReason(absl::NotFoundError("no job x"), "JOB_UNKNOWN",
                 {{"job", "x"}, {"", "y"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "no job x");
  EXPECT_EQ(ReasonOf(status), "JOB_UNKNOWN");
  EXPECT_THAT(ReasonValuesOf(status),
              ElementsAre(Pair("", "y"), Pair("job", "x")));
  EXPECT_THAT(status.ToString(), HasSubstr("JOB_UNKNOWN"));
}

TEST(ErrorsTest, ANewReasonReplacesTheOldValuesToo) {
  const absl::Status status =
      WithReason(WithReason(absl::AbortedError(""), "OLD", {{"a", "1"}}), "NEW",
                 {{"b", "2"}});
  EXPECT_EQ(ReasonOf(status), "NEW");
  EXPECT_THAT(ReasonValuesOf(status), ElementsAre(Pair("b", "2")));
}

TEST(ErrorsTest, WithoutAReasonThereIsNone) {
  EXPECT_EQ(ReasonOf(absl::AbortedError("")), "");
  EXPECT_THAT(ReasonValuesOf(absl::AbortedError("")), IsEmpty());
  EXPECT_EQ(RetryAfterOf(absl::AbortedError("")), std::nullopt);
}

TEST(ErrorsTest, OkStaysOk) {
  EXPECT_THAT(WithReason(absl::OkStatus(), "X", {{"a", "1"}}), IsOk());
  EXPECT_EQ(ReasonOf(WithReason(absl::OkStatus(), "X")), "");
  EXPECT_EQ(RetryAfterOf(WithRetryAfter(absl::OkStatus(), absl::Seconds(1))),
            std::nullopt);
  EXPECT_THAT(Annotate(absl::OkStatus(), "here"), IsOk());
  EXPECT_FALSE(IsTransient(absl::OkStatus()));
}

TEST(ErrorsTest, TheDelayIsKeptExactly) {
  for (absl::Duration delay : {absl::ZeroDuration(), absl::Nanoseconds(1),
                               absl::Milliseconds(250), absl::Hours(30)}) {
    EXPECT_EQ(RetryAfterOf(WithRetryAfter(absl::UnavailableError(""), delay)),
              delay);
  }
}

TEST(ErrorsTest, AnnotateKeepsAllButTheMessage) {
  const absl::Status status = Annotate(
      WithRetryAfter(
          WithReason(absl::UnavailableError("down"), "R", {{"k", "v"}}),
          absl::Seconds(2)),
      "server 10.0.0.1:7401");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "server 10.0.0.1:7401: down");
  EXPECT_EQ(ReasonOf(status), "R");
  EXPECT_THAT(ReasonValuesOf(status), ElementsAre(Pair("k", "v")));
  EXPECT_EQ(RetryAfterOf(status), absl::Seconds(2));
}

TEST(ErrorsTest, WhatMayBeRepeated) {
  EXPECT_TRUE(IsTransient(absl::UnavailableError("")));
  EXPECT_TRUE(IsTransient(absl::DeadlineExceededError("")));
  EXPECT_TRUE(IsTransient(absl::AbortedError("")));
  EXPECT_FALSE(IsTransient(absl::ResourceExhaustedError("")));
  EXPECT_TRUE(IsTransient(
      WithRetryAfter(absl::ResourceExhaustedError(""), absl::Milliseconds(5))));
  EXPECT_FALSE(IsTransient(absl::InvalidArgumentError("")));
  EXPECT_FALSE(IsTransient(absl::FailedPreconditionError("")));
}

}  // namespace
}  // namespace seraph
