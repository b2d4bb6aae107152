#include "client/base/exit_code.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(ExitCodeTest, HasTheContractsNumbers) {
  EXPECT_EQ(static_cast<int>(ExitCode::kDone), 0);
  EXPECT_EQ(static_cast<int>(ExitCode::kFailed), 1);
  EXPECT_EQ(static_cast<int>(ExitCode::kUsage), 2);
  EXPECT_EQ(static_cast<int>(ExitCode::kUnreachable), 3);
  EXPECT_EQ(static_cast<int>(ExitCode::kInterrupted), 130);
}

struct Case {
  absl::StatusCode code;
  ExitCode input;
  ExitCode output;
  ExitCode call;
};

TEST(ExitCodeTest, DependsOnWhoseErrorItIs) {
  using C = absl::StatusCode;
  constexpr ExitCode kFailed = ExitCode::kFailed;
  constexpr ExitCode kUsage = ExitCode::kUsage;
  constexpr ExitCode kUnreachable = ExitCode::kUnreachable;
  constexpr ExitCode kInterrupted = ExitCode::kInterrupted;
  const std::vector<Case> cases = {
      {C::kInvalidArgument, kUsage, kUsage, kUsage},
      {C::kNotFound, kUsage, kFailed, kUsage},
      {C::kPermissionDenied, kUsage, kFailed, kFailed},
      {C::kFailedPrecondition, kUsage, kUsage, kFailed},
      {C::kDataLoss, kUsage, kFailed, kFailed},
      {C::kAlreadyExists, kUsage, kFailed, kUsage},
      {C::kResourceExhausted, kFailed, kFailed, kFailed},
      {C::kInternal, kFailed, kFailed, kFailed},
      {C::kUnavailable, kFailed, kFailed, kUnreachable},
      {C::kDeadlineExceeded, kFailed, kFailed, kUnreachable},
      {C::kUnimplemented, kFailed, kFailed, kUnreachable},
      {C::kCancelled, kInterrupted, kInterrupted, kInterrupted},
  };
  for (const Case& c : cases) {
    const absl::Status status(c.code, "x");
    EXPECT_EQ(ExitCodeOf(InputError(status)), c.input) << status;
    EXPECT_EQ(ExitCodeOf(OutputError(status)), c.output) << status;
    EXPECT_EQ(ExitCodeOf(CallError(status)), c.call) << status;
    EXPECT_EQ(InputError(status).message(), "x");
  }
}

TEST(ExitCodeTest, TheFirstOpinionHolds) {
  const absl::Status status = CallError(absl::UnavailableError("x"));
  EXPECT_EQ(ExitCodeOf(InputError(status)), ExitCode::kUnreachable);
  EXPECT_EQ(ExitCodeOf(WithExitCode(status, ExitCode::kUsage)),
            ExitCode::kUsage);
}

TEST(ExitCodeTest, OkIsDoneAndAnUnseenErrorIsAFailure) {
  EXPECT_EQ(ExitCodeOf(InputError(absl::OkStatus())), ExitCode::kDone);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("x")), ExitCode::kFailed);
}

TEST(ExitCodeTest, WhatWasReportedIsNotPrintedAgain) {
  EXPECT_TRUE(IsReported(absl::OkStatus()));
  EXPECT_FALSE(IsReported(InputError(absl::NotFoundError("x"))));
  EXPECT_TRUE(IsReported(Reported(ExitCode::kInterrupted)));
  EXPECT_EQ(ExitCodeOf(Reported(ExitCode::kInterrupted)),
            ExitCode::kInterrupted);
  EXPECT_TRUE(Reported(ExitCode::kDone).ok());
}

}  // namespace
}  // namespace seraph
