#include "common/rpc/grpc_status.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status/errors.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/error_details.pb.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

absl::Status ThereAndBack(const absl::Status& status) {
  return FromGrpcStatus(ToGrpcStatus(status));
}

TEST(GrpcStatusTest, EveryCodeSurvives) {
  EXPECT_THAT(ThereAndBack(absl::OkStatus()), IsOk());
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "why");
    EXPECT_EQ(ToGrpcStatus(status).error_code(), code);
    EXPECT_EQ(ThereAndBack(status), status);
    EXPECT_THAT(ToGrpcStatus(status).error_details(), IsEmpty());
  }
}

TEST(GrpcStatusTest, ReasonValuesAndDelaySurvive) {
  for (absl::Duration delay :
       {absl::ZeroDuration(), absl::Milliseconds(20), absl::Seconds(61)}) {
    const absl::Status status = WithRetryAfter(
        WithReason(absl::ResourceExhaustedError("full\nof \xC3\xA4 bytes"),
                   "MEMORY_LIMIT", {{"limit_bytes", "1024"}, {"node", "a:1"}}),
        delay);
    EXPECT_EQ(ThereAndBack(status), status);
    EXPECT_EQ(RetryAfterOf(ThereAndBack(status)), delay);
  }
}

TEST(GrpcStatusTest, OtherClientsFindTheStandardMessages) {
  const grpc::Status wire = ToGrpcStatus(WithRetryAfter(
      WithReason(absl::AbortedError("again"), "BUSY", {{"job", "j"}}),
      absl::Milliseconds(1500)));
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(wire.error_details()));
  // Libraries in other languages insist on these two.
  EXPECT_EQ(details.code(), wire.error_code());
  EXPECT_EQ(details.message(), wire.error_message());
  ASSERT_THAT(details.details(), SizeIs(2));
  google::rpc::ErrorInfo error;
  ASSERT_TRUE(details.details(0).UnpackTo(&error));
  EXPECT_EQ(error.reason(), "BUSY");
  EXPECT_EQ(error.domain(), "seraph");
  EXPECT_THAT((std::map<std::string, std::string>(error.metadata().begin(),
                                                  error.metadata().end())),
              UnorderedElementsAre(Pair("job", "j")));
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(details.details(1).UnpackTo(&retry));
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 500'000'000);
}

TEST(GrpcStatusTest, BrokenDetailsAreLeftOut) {
  EXPECT_EQ(FromGrpcStatus(grpc::Status(grpc::NOT_FOUND, "gone", "\xFF\xFF")),
            absl::NotFoundError("gone"));
}

TEST(GrpcStatusTest, BytesThatAreNotUtf8BecomeQuestionMarks) {
  struct Case {
    std::string text, want;
  };
  const std::vector<Case> cases = {
      {"plain", "plain"},
      {"\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80",
       "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80"},
      {"\xFF", "?"},
      {"a\x80z", "a?z"},
      {"cut \xE2\x82", "cut ??"},
      {"\xC0\xAF", "??"},            // Not the shortest form.
      {"\xE0\x80\xAF", "???"},       // Likewise.
      {"\xED\xA0\x80", "???"},       // Half of a pair.
      {"\xF4\x90\x80\x80", "????"},  // Beyond the last.
      {std::string("nul\0", 4), std::string("nul\0", 4)},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(ThereAndBack(WithReason(absl::InternalError(c.text), "R",
                                      {{"k", c.text}})),
              WithReason(absl::InternalError(c.want), "R", {{"k", c.want}}))
        << c.want;
  }
}

TEST(GrpcStatusTest, ALongMessageIsCutAtACharacterAndSaysSo) {
  for (const std::string start : {"", "a", "ab", "abc"}) {
    std::string text = start;
    while (text.size() < 100'000) absl::StrAppend(&text, "\xE2\x82\xAC");
    const absl::Status status =
        ThereAndBack(WithReason(absl::InternalError(text), "R", {{"k", "v"}}));
    EXPECT_EQ(ReasonOf(status), "R");
    const std::string message(status.message());
    const size_t kept = message.find("...");
    ASSERT_NE(kept, std::string::npos);
    EXPECT_GT(kept, 500);
    EXPECT_EQ(message, absl::StrCat(text.substr(0, kept), "... (",
                                    text.size() - kept, " bytes cut)"));
    EXPECT_EQ((kept - start.size()) % 3, 0) << "half a character";
  }
}

TEST(GrpcStatusTest, ValuesThatDoNotFitAreLeftOut) {
  const absl::Status status = ThereAndBack(WithReason(
      absl::InternalError("why"), "R", {{"large", std::string(5000, 'x')}}));
  EXPECT_EQ(status.message(), "why");
  EXPECT_EQ(ReasonOf(status), "R");
  EXPECT_THAT(ReasonValuesOf(status), IsEmpty());
}

}  // namespace
}  // namespace seraph
