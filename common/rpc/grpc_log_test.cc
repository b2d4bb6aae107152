#include "common/rpc/grpc_log.h"

#include "common/log/log.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "grpc/support/log.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::TempFolder;
using ::testing::MatchesRegex;

TEST(GrpcLogTest, ItsLinesAreOurs) {
  const TempFolder folder;
  ASSERT_THAT(
      SetUpLogging({.level = LogLevel::kDebug, .file = folder.Path("log")},
                   "server"),
      IsOk());
  SendGrpcLogsToOurs();
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_DEBUG);
  gpr_log("/long/path/tcp_server.cc", 17, GPR_LOG_SEVERITY_ERROR,
          "failed \"%s\"", "accept4");
  gpr_log("timer.cc", 3, GPR_LOG_SEVERITY_INFO, "tick");
  EXPECT_THAT(
      folder.Read("log"),
      MatchesRegex(
          "[^ ]+ WARN server grpc.log place=tcp_server.cc:17 "
          "message=\"failed ..accept4..\"\n"
          "[^ ]+ DEBUG server grpc.log place=timer.cc:3 message=\"tick\"\n"));
  EXPECT_THAT(SetUpLogging({}, "test"), IsOk());
}

}  // namespace
}  // namespace seraph
