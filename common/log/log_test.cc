#include "common/log/log.h"

#include <string>

#include "common/log/log_line.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

LogLine Line(absl::string_view message) {
  return {.time = absl::FromUnixMicros(1714566896'123456),
          .level = LogLevel::kWarn,
          .component = "server",
          .node = "10.0.0.1:7401",
          .message = message};
}

nlohmann::json Parsed(absl::string_view message) {
  return nlohmann::json::parse(JsonLogLine(Line(message)));
}

TEST(TextLogLineTest, HasTimeLevelComponentNodeAndMessage) {
  EXPECT_EQ(TextLogLine(Line("job.started job=j7")),
            "2024-05-01T12:34:56.123456Z WARN server 10.0.0.1:7401 "
            "job.started job=j7");
  LogLine early = Line("daemon.started");
  early.node = "";
  EXPECT_EQ(TextLogLine(early),
            "2024-05-01T12:34:56.123456Z WARN server daemon.started");
}

TEST(TextLogLineTest, StaysOneLine) {
  EXPECT_THAT(TextLogLine(Line("a.b c=1\n2024 ERROR forged\r\x01\x7f\xC3\xA4")),
              HasSubstr("a.b c=1\\n2024 ERROR forged\\r\\x01\\x7f\xC3\xA4"));
}

TEST(JsonLogLineTest, HasEventAndFields) {
  EXPECT_EQ(JsonLogLine(Line("job.started job=j7 ranks=4")),
            R"({"time":"2024-05-01T12:34:56.123456Z","level":"warn",)"
            R"("component":"server","node":"10.0.0.1:7401",)"
            R"("event":"job.started","fields":{"job":"j7","ranks":"4"}})");
  EXPECT_FALSE(Parsed("daemon.started").contains("fields"));
}

TEST(JsonLogLineTest, QuotedValuesReadBack) {
  for (const std::string& value :
       {std::string(""), std::string("two words"), std::string("a=\"b\" \\n"),
        std::string("line\nend\ttab\r\x02\x7f"), std::string("\xC3\xA4"),
        std::string("nul\0!", 5)}) {
    EXPECT_EQ(Parsed("a.b v=" + LogValue(value) + " w=1")["fields"]["v"],
              value);
  }
  EXPECT_EQ(
      Parsed("a.b s=" + LogValue(absl::NotFoundError("no x")))["fields"]["s"],
      "NOT_FOUND: no x");
}

TEST(JsonLogLineTest, OtherFormsAreKeptAsAMessage) {
  for (const std::string message :
       {"plain words", "nodot a=1", "a.b word", "a.b a=\"open", "a.b  a=1",
        "a.b a=\"x\"y", "a.b =1", "a.b a=\"\\xZZ\"", ""}) {
    EXPECT_EQ(Parsed(message)["message"], message);
    EXPECT_FALSE(Parsed(message).contains("event")) << message;
  }
}

TEST(JsonLogLineTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(Parsed("a.b v=\"\xFF\"")["fields"]["v"], "\xEF\xBF\xBD");
}

class LogFileTest : public ::testing::Test {
 protected:
  ~LogFileTest() override {
    // The file's sink ends before its folder.
    EXPECT_THAT(SetUpLogging({}, "test"), IsOk());
  }

  TempFolder folder_;
  ClusterConfig::Log config_ = {.file = folder_.Path("log")};
};

TEST_F(LogFileTest, LinesGoToTheFileAtOnceAndAreAppended) {
  ASSERT_THAT(SetUpLogging(config_, "worker"), IsOk());
  spdlog::info("first.event n={}", 1);
  SetLogNode("host:1");
  spdlog::error("second.event name={}", absl::string_view("x"));
  EXPECT_THAT(folder_.Read("log"),
              MatchesRegex("[0-9T:.-]+Z INFO worker first.event n=1\n"
                           "[0-9T:.-]+Z ERROR worker host:1 second.event "
                           "name=x\n"));
  ASSERT_THAT(SetUpLogging(config_, "worker"), IsOk());
  spdlog::warn("third.event");
  EXPECT_THAT(
      folder_.Read("log"),
      AllOf(HasSubstr("first.event"), HasSubstr("WARN worker third.event\n")));
}

TEST_F(LogFileTest, TheLevelIsARunTimeMatter) {
  config_.level = LogLevel::kWarn;
  ASSERT_THAT(SetUpLogging(config_, "worker"), IsOk());
  spdlog::info("hidden.event");
  SetLogLevel(LogLevel::kDebug);
  spdlog::debug("shown.event");
  EXPECT_THAT(folder_.Read("log"),
              MatchesRegex("[0-9T:.-]+Z DEBUG worker shown.event\n"));
}

TEST_F(LogFileTest, JsonHasOneObjectALine) {
  config_.format = LogFormat::kJson;
  ASSERT_THAT(SetUpLogging(config_, "worker"), IsOk());
  SetLogNode("host:1");
  spdlog::info("some.event text={}", LogValue("two\nlines"));
  const auto json = nlohmann::json::parse(folder_.Read("log"));
  EXPECT_EQ(json["node"], "host:1");
  EXPECT_EQ(json["fields"]["text"], "two\nlines");
}

TEST_F(LogFileTest, AFileThatCannotBeOpenedChangesNothing) {
  ASSERT_THAT(SetUpLogging(config_, "worker"), IsOk());
  ClusterConfig::Log bad = config_;
  bad.file = folder_.Path("log/inside/a/file");
  EXPECT_THAT(SetUpLogging(bad, "worker"),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("log.file"), HasSubstr(bad.file))));
  spdlog::info("still.here");
  EXPECT_THAT(folder_.Read("log"), HasSubstr("still.here"));
}

}  // namespace
}  // namespace seraph
