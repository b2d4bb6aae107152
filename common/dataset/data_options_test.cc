#include "common/dataset/data_options.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(DataOptionsTest, EveryNameLeadsBackToItsValue) {
  for (absl::string_view name : DataFormatNames()) {
    const auto format = DataFormatFromName(name);
    ASSERT_TRUE(format.has_value()) << name;
    EXPECT_EQ(DataFormatName(*format), name);
    EXPECT_THAT(OptionNames(*format), Contains("block_bytes"));
  }
  for (absl::string_view name : {"auto", "true", "false"}) {
    EXPECT_EQ(CsvHeaderName(CsvHeaderFromName(name).value()), name);
  }
  for (absl::string_view name : {"fail", "skip"}) {
    EXPECT_EQ(BadRecordActionName(BadRecordActionFromName(name).value()), name);
  }
  EXPECT_EQ(DataFormatFromName("parquet"), std::nullopt);
}

TEST(DataOptionsTest, OptionsBelongToFormats) {
  EXPECT_THAT(OptionNames(DataFormat::kLibsvm), Contains("index_base"));
  EXPECT_THAT(OptionNames(DataFormat::kCsv), Not(Contains("index_base")));
  EXPECT_THAT(OptionNames(DataFormat::kIdx), Contains("labels"));
}

TEST(DataOptionsTest, TheIndexBaseIsTheFormatsUnlessGiven) {
  DataOptions options;
  EXPECT_EQ(options.IndexBase(DataFormat::kLibsvm), 1);
  EXPECT_EQ(options.IndexBase(DataFormat::kLibffm), 0);
  options.index_base = 0;
  EXPECT_EQ(options.IndexBase(DataFormat::kLibsvm), 0);
}

TEST(DataOptionsTest, DelimitersByCharacterAndName) {
  EXPECT_EQ(DelimiterFromName(";"), ';');
  EXPECT_EQ(DelimiterFromName("|"), '|');
  EXPECT_EQ(DelimiterFromName("\t"), '\t');
  EXPECT_EQ(DelimiterFromName("\\t"), '\t');
  EXPECT_EQ(DelimiterFromName("tab"), '\t');
  EXPECT_EQ(DelimiterFromName("space"), ' ');
  for (absl::string_view bad : {"", ",,", "x", "7", "\"", "-", ".", "\n"}) {
    EXPECT_EQ(DelimiterFromName(bad), std::nullopt) << bad;
  }
}

TEST(DataOptionsTest, ValidateNamesEveryBadField) {
  DataOptions options;
  EXPECT_THAT(options.Validate(), IsOk());
  options.block_bytes = 63;
  options.index_base = 2;
  options.scale = 0;
  options.hash_bits = 63;
  options.delimiter = '+';
  options.label_column = "";
  EXPECT_THAT(options.Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("block_bytes: 63 is not in 64.."),
                             HasSubstr("index_base: 2"), HasSubstr("scale"),
                             HasSubstr("hash_bits: 63"), HasSubstr("delimiter"),
                             HasSubstr("label_column"))));
}

}  // namespace
}  // namespace seraph
