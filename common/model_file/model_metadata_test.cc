#include "common/model_file/model_metadata.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::testing::Eq;
using ::testing::HasSubstr;

ModelMetadata Sample() {
  ModelMetadata metadata;
  metadata.model.kind = ModelKind::kSoftmax;
  metadata.model.keys = uint64_t{1} << 63;
  metadata.model.bias = BiasKind::kRegularized;
  metadata.model.classes = 10;
  metadata.model.loss = LossKind::kCrossEntropy;
  metadata.model.huber_delta = 0.1;
  metadata.labels = {TaskKind::kMulticlass, -1.5, 2.25, 1, 2, {"no", "yes"}};
  metadata.data_format = DataFormat::kCsv;
  metadata.data_options.index_base = 0;
  metadata.data_options.label_column = "wei\"rd\n";
  metadata.data_options.delimiter = '\t';
  metadata.data_options.header = CsvHeader::kYes;
  metadata.data_options.skip_lines = 3;
  metadata.data_options.columns = {"a", "-1"};
  metadata.data_options.categorical = {"a"};
  metadata.data_options.hash_bits = 18;
  metadata.data_options.missing = {};
  metadata.data_options.scale = 1.0 / 3;
  metadata.job_id = "j-1";
  metadata.job_name = "adult-lr";
  metadata.seraph_version = "1.2.3";
  return metadata;
}

TEST(ModelMetadataTest, ReadsBackWhatItWrote) {
  EXPECT_THAT(ModelMetadataFromJson(ModelMetadataToJson(Sample())),
              IsOkAndHolds(Eq(Sample())));
  ModelMetadata defaults;
  defaults.model.loss = LossKind::kLog;
  defaults.labels.task = TaskKind::kBinary;
  EXPECT_THAT(ModelMetadataFromJson(ModelMetadataToJson(defaults)),
              IsOkAndHolds(Eq(defaults)));
}

TEST(ModelMetadataTest, WritesTheDocumentedKeysOnOneLine) {
  ModelMetadata metadata;
  metadata.model.keys = 123;
  metadata.labels = {TaskKind::kBinary, -1, 1, 0, 2, {}};
  metadata.job_name = "adult-lr";
  EXPECT_EQ(
      ModelMetadataToJson(metadata),
      R"({"seraph":"","job":{"id":"","name":"adult-lr"},)"
      R"("model":{"kind":"logistic_regression","keys":123,"bias":"free",)"
      R"("classes":null,"loss":"log","huber_delta":1.0},)"
      R"("labels":{"task":"binary","negative":-1.0,"positive":1.0,)"
      R"("first_class":0,"classes":2,"texts":[]},)"
      R"("data":{"format":"libsvm","options":{"index_base":null,)"
      R"("label_column":"0","delimiter":",","header":"auto","skip_lines":0,)"
      R"("columns":[],"categorical":[],"hash_bits":0,)"
      R"("missing":["","-","?","NA","N/A","null","NULL"],)"
      R"("scale":0.00392156862745098}}})");
}

TEST(ModelMetadataTest, IgnoresKeysOfLaterVersions) {
  std::string json = ModelMetadataToJson(Sample());
  json.insert(1, R"("later": {"x": [1, null]},)");
  EXPECT_THAT(ModelMetadataFromJson(json), IsOkAndHolds(Eq(Sample())));
}

struct BadJson {
  std::string from;
  std::string to;
  std::string want;
};

TEST(ModelMetadataTest, NamesWhatIsWrong) {
  const BadJson cases[] = {
      {R"("job":)", R"("jop":)", "'job' is missing"},
      {R"({"id":)", R"({"ip":)", "'job.id' is missing"},
      {R"("id":"j-1")", R"("id":1)", "'job.id' is no text"},
      {R"("softmax")", R"("softmin")", "'model.kind' is 'softmin'"},
      {R"("classes":10,"loss")", R"("classes":-1,"loss")",
       "'model.classes' is no whole number"},
      {R"("classes":10,"loss")", R"("classes":4294967296,"loss")",
       "'model.classes' is too large"},
      {R"("classes":10,"loss")", R"("classes":null,"loss")",
       "'model.classes' is missing"},
      {R"("classes":10,"loss")", R"("classes":1,"loss")", "classes"},
      {R"("huber_delta":0.1)", R"("huber_delta":"x")",
       "'model.huber_delta' is no number"},
      {R"("first_class":1)", R"("first_class":1.5)",
       "'labels.first_class' is no whole number"},
      {R"("multiclass")", R"("binary")", "'labels.task' is not that of"},
      {R"("options":{)", R"("options":[],"o":{)",
       "'data.options' is no object"},
      {R"("columns":["a","-1"])", R"("columns":"a")",
       "'data.options.columns' is no list"},
      {R"("columns":["a","-1"])", R"("columns":["a",1])",
       "'data.options.columns' is no list of texts"},
      {R"("hash_bits":18)", R"("hash_bits":99)", "hash_bits"},
  };
  const std::string good = ModelMetadataToJson(Sample());
  for (const BadJson& bad : cases) {
    const std::string json = absl::StrReplaceAll(good, {{bad.from, bad.to}});
    ASSERT_NE(json, good) << bad.from;
    EXPECT_THAT(
        ModelMetadataFromJson(json),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.want)))
        << bad.to;
  }
  EXPECT_THAT(
      ModelMetadataFromJson("{"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is no JSON")));
  EXPECT_THAT(
      ModelMetadataFromJson("[]"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is no object")));
}

TEST(ModelMetadataTest, BytesThatAreNoUtf8DoNotStopTheWriter) {
  ModelMetadata metadata = Sample();
  metadata.data_options.label_column = "caf\xe9";
  const absl::StatusOr<ModelMetadata> read =
      ModelMetadataFromJson(ModelMetadataToJson(metadata));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->data_options.label_column, HasSubstr("caf"));
}

}  // namespace
}  // namespace seraph
