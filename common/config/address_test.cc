#include "common/config/address.h"

#include <string>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::testing::HasSubstr;

TEST(AddressTest, ReadsNamesAndNumbersAndBack) {
  const std::pair<std::string, Address> cases[] = {
      {"127.0.0.1:7400", {"127.0.0.1", 7400}},
      {"localhost:0", {"localhost", 0}},
      {"server-1.seraph_net.example:65535",
       {"server-1.seraph_net.example", 65535}},
      {"[::1]:7400", {"::1", 7400}},
      {"[::]:0", {"::", 0}},
  };
  for (const auto& [text, want] : cases) {
    EXPECT_THAT(ParseAddress(text), IsOkAndHolds(want)) << text;
    EXPECT_EQ(ToString(want), text);
  }
}

struct Bad {
  std::string text;
  std::string why;
};

class AddressRefuses : public ::testing::TestWithParam<Bad> {};

TEST_P(AddressRefuses, AndSaysWhy) {
  EXPECT_THAT(
      ParseAddress(GetParam().text),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().why)));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, AddressRefuses,
    ::testing::Values(Bad{"", "there is no port"},
                      Bad{"localhost", "there is no port"},
                      Bad{"localhost:", "the port is not in 0..65535"},
                      Bad{"localhost:http", "the port is not in 0..65535"},
                      Bad{"localhost:65536", "the port is not in 0..65535"},
                      Bad{"localhost:-1", "the port is not in 0..65535"},
                      Bad{":7400", "got ':7400'"}, Bad{"a b:1", "got 'a b:1'"},
                      Bad{"-x:1", "got '-x:1'"},
                      Bad{"http://host:80", "got 'http://host:80'"},
                      Bad{"::1:7400", "an IPv6 address needs brackets"},
                      Bad{"[host]:1", "no IPv6 address in the brackets"},
                      Bad{"[::1]", "the port is not in 0..65535"}));

}  // namespace
}  // namespace seraph
