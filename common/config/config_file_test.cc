#include "common/config/config_file.h"

#include <fstream>
#include <string>

#include "common/config/yaml_tree.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::testing::HasSubstr;

std::string WriteFile(const std::string& name, const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(ReadConfigFileTest, GivesTheBytes) {
  const std::string bytes("a: 1\r\n\0", 7);
  EXPECT_THAT(ReadConfigFile(WriteFile("some.yaml", bytes)),
              IsOkAndHolds(bytes));
  EXPECT_THAT(ReadConfigFile(WriteFile("empty.yaml", "")), IsOkAndHolds(""));
  const std::string most(kMaxYamlBytes, '#');
  EXPECT_THAT(ReadConfigFile(WriteFile("most.yaml", most)), IsOkAndHolds(most));
}

TEST(ReadConfigFileTest, NamesThePathWhenItCannot) {
  EXPECT_THAT(ReadConfigFile("/no/such/file.yaml"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("cannot read /no/such/file.yaml")));
  EXPECT_THAT(ReadConfigFile(::testing::TempDir()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("cannot read ")));
  EXPECT_THAT(ReadConfigFile(
                  WriteFile("more.yaml", std::string(kMaxYamlBytes + 1, '#'))),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more.yaml: larger than 1 MiB")));
  // Endless, and no memory for all of it.
  EXPECT_THAT(ReadConfigFile("/dev/zero"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("larger than 1 MiB")));
}

}  // namespace
}  // namespace seraph
