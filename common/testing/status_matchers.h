// GoogleTest matchers for absl::Status and absl::StatusOr.
//
//   EXPECT_THAT(store.Put(1), IsOk());
//   EXPECT_THAT(store.Get(2), IsOkAndHolds(Eq(7)));
//   EXPECT_THAT(Parse("x"), StatusIs(absl::StatusCode::kInvalidArgument,
//                                    HasSubstr("line 1")));
#ifndef SERAPH_COMMON_TESTING_STATUS_MATCHERS_H_
#define SERAPH_COMMON_TESTING_STATUS_MATCHERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

namespace seraph::testing {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "is OK") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status.ToString();
  return status.ok();
}

MATCHER_P(IsOkAndHolds, value, "is OK and holds a value") {
  *result_listener << arg.status().ToString();
  return arg.ok() &&
         ::testing::ExplainMatchResult(value, *arg, result_listener);
}

MATCHER_P(StatusIs, code, "has the status code") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status.ToString();
  return status.code() == code;
}

MATCHER_P2(StatusIs, code, message, "has the status code and message") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status.ToString();
  return status.code() == code &&
         ::testing::ExplainMatchResult(message, std::string(status.message()),
                                       result_listener);
}

}  // namespace seraph::testing

#endif  // SERAPH_COMMON_TESTING_STATUS_MATCHERS_H_
