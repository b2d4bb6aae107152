// The verbs that work on files alone.
#include <string>
#include <vector>

#include "client/cli/test_environment.h"
#include "client/render/documents.h"
#include "client/verbs/verbs.h"
#include "common/model_file/model_file_writer.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::TempFolder;
using ::seraph::testing::TestEnvironment;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FileVerbsTest : public ::testing::Test {
 protected:
  int Run(std::vector<std::string> arguments) {
    return env_.Run(MakeVerbs(), std::move(arguments));
  }

  Document Json() const { return Document::parse(env_.out()); }

  // weights: key 0 -> 1, key 1 -> -2; bias 0.5; labels -1 and 1.
  std::string Model(ModelKind kind = ModelKind::kLogisticRegression,
                    const DataOptions& options = {}) {
    ModelMetadata metadata;
    metadata.data_options = options;
    metadata.model.kind = kind;
    metadata.model.keys = 2;
    metadata.labels.task = TaskOf(kind);
    metadata.labels.negative = -1;
    metadata.labels.positive = 1;
    metadata.labels.classes = 2;
    const std::string path = folder_.Path("model");
    auto writer = *ModelFileWriter::Create(path, metadata);
    EXPECT_THAT(writer->BeginTable({"bias", TableKind::kDense, 1, 1}), IsOk());
    EXPECT_THAT(writer->AddRows({0}, {0.5f}), IsOk());
    EXPECT_THAT(writer->EndTable(), IsOk());
    EXPECT_THAT(writer->BeginTable({"weights", TableKind::kDense, 2, 1}),
                IsOk());
    EXPECT_THAT(writer->AddRows({0, 1}, {1.0f, -2.0f}), IsOk());
    EXPECT_THAT(writer->EndTable(), IsOk());
    const absl::StatusOr<ModelFileSummary> summary = writer->Finish();
    EXPECT_THAT(summary, IsOk());
    digest_ = summary->digest;
    return path;
  }

  const TempFolder folder_;
  TestEnvironment env_;
  std::string digest_;
};

TEST_F(FileVerbsTest, TheDigestOfAModel) {
  const std::string model = Model();
  EXPECT_EQ(Run({"digest", model}), 0);
  EXPECT_EQ(env_.out(), digest_ + "\n");
  EXPECT_EQ(Run({"digest", model, "-o", "json"}), 0);
  EXPECT_EQ(Json()["model"]["digest"], digest_);
}

TEST_F(FileVerbsTest, FilesThatAreNoModelsAreTwo) {
  EXPECT_EQ(Run({"digest", folder_.Path("none")}), 2);
  EXPECT_THAT(env_.err(), HasSubstr(folder_.Path("none")));
  EXPECT_EQ(Run({"digest", folder_.Write("text", "hello")}), 2);
  EXPECT_THAT(env_.err(), HasSubstr("no Seraph model file"));
  const std::string model = Model();
  const std::string bytes = folder_.Read("model");
  folder_.Write("model", bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(Run({"export", model, "--format", "text", folder_.Path("x")}), 2);
  EXPECT_THAT(env_.err(), HasSubstr("ends early"));
  EXPECT_EQ(Run({"predict", "--model", model, "--data", model, "--out",
                 folder_.Path("x")}),
            2);
}

TEST_F(FileVerbsTest, AModelIsExported) {
  const std::string model = Model();
  const std::string out = folder_.Path("weights.tsv");
  EXPECT_EQ(Run({"export", model, "--format", "text", out, "-o", "json"}), 0);
  EXPECT_EQ(folder_.Read("weights.tsv"), "0\t1\n1\t-2\nbias\t0.5\n");
  EXPECT_EQ(Json()["files"][0], out);
  EXPECT_EQ(Json()["format"], "text");
  EXPECT_EQ(Json()["tables"][1]["rows"], 2);
  EXPECT_EQ(Run({"export", model, "--format", "text", out}), 0);
  EXPECT_EQ(env_.out(), out + ": 3 rows\n");
  EXPECT_EQ(Run({"export", model, "--format", "npy", folder_.Path("a")}), 0);
  EXPECT_EQ(env_.out(), folder_.Path("a") + ": 3 rows in 2 files\n");
  EXPECT_EQ(Run({"export", model, out}), 2) << "--format is required";
  EXPECT_EQ(Run({"export", model, "--format", "onnx", out}), 2);
}

TEST_F(FileVerbsTest, ExamplesAreScored) {
  const std::string model = Model();
  const std::string data = folder_.Write("data", "1 1:1\n-1 2:1\n");
  const std::string out = folder_.Path("out");
  EXPECT_EQ(Run({"predict", "--model", model, "--data", data, "--format",
                 "libsvm", "--out", out, "-o", "json"}),
            0)
      << env_.err();
  EXPECT_EQ(Json()["predictions"]["count"], 2);
  EXPECT_EQ(Json()["predictions"]["path"], out);
  EXPECT_EQ(Json()["records"]["bad"], 0);
  EXPECT_EQ(Json()["labelled"], 2);
  EXPECT_EQ(Json()["metrics"]["auc"], 1.0);
  EXPECT_EQ(Json()["metrics"]["accuracy"], 1.0);
  EXPECT_THAT(folder_.Read("out"), StartsWith("0.81757"));

  EXPECT_EQ(Run({"predict", "--model", model, "--data", data, "--out", out}),
            0);
  EXPECT_THAT(env_.out(),
              AllOf(HasSubstr(": 2 predictions"), HasSubstr("auc 1"),
                    HasSubstr("(2 labelled examples)")));
}

TEST_F(FileVerbsTest, TheModelsOptionsMayBeOverridden) {
  const std::string model = Model(ModelKind::kSvm);
  const std::string out = folder_.Path("out");
  const std::string zero = folder_.Write("zero", "1 0:1\nx 1:1\n-1 1:1\n");
  std::vector<std::string> call = {"predict", "--model", model,
                                   "--data",  zero,      "--out",
                                   out,       "--set",   "index_base=0"};
  EXPECT_EQ(Run(call), 2);
  EXPECT_THAT(env_.err(), HasSubstr("zero:2:"));
  call.insert(call.end(), {"--set", "on_bad_record=skip"});
  EXPECT_EQ(Run(call), 0) << env_.err();
  EXPECT_EQ(folder_.Read("out"), "1.5\n-1.5\n");
  EXPECT_THAT(env_.out(), HasSubstr("1 bad records were passed over"));

  const std::string csv = folder_.Write("csv", "1;0\n0;1\n");
  EXPECT_EQ(Run({"predict", "--model", model, "--data", csv, "--out", out,
                 "--format", "csv", "--set", "data.options.delimiter=;",
                 "--set", "label_column=none"}),
            0)
      << env_.err();
  EXPECT_EQ(folder_.Read("out"), "1.5\n-1.5\n");
}

TEST_F(FileVerbsTest, TheModelsOptionsAreTheDefaultsForItsFormat) {
  DataOptions options;
  options.index_base = 0;
  const std::string model = Model(ModelKind::kSvm, options);
  const std::string out = folder_.Path("out");
  const std::string zero = folder_.Write("zero", "1 0:1\n-1 1:1\n");
  EXPECT_EQ(Run({"predict", "--model", model, "--data", zero, "--out", out}), 0)
      << env_.err();
  EXPECT_EQ(folder_.Read("out"), "1.5\n-1.5\n");
  const std::string csv = folder_.Write("csv", "1,1,0\n-1,0,1\n");
  EXPECT_EQ(Run({"predict", "--model", model, "--data", csv, "--format", "csv",
                 "--out", out}),
            0)
      << env_.err();
  EXPECT_EQ(folder_.Read("out"), "1.5\n-1.5\n");
}

TEST_F(FileVerbsTest, PredictExplainsWrongUsage) {
  const std::string model = Model();
  const std::string data = folder_.Write("data", "1 1:1\n");
  const std::string out = folder_.Path("out");
  EXPECT_EQ(Run({"predict", "--model", model, "--data", data}), 2);
  EXPECT_THAT(env_.err(), HasSubstr("--out is required"));
  EXPECT_EQ(Run({"predict", "--model", model, "--data", data, "--out", out,
                 "--set", "index_bse=0"}),
            2);
  EXPECT_THAT(env_.err(), HasSubstr("did you mean 'index_base'"));
  EXPECT_EQ(Run({"predict", "--model", model, "--data", data, "--out", out,
                 "--probabilities"}),
            2);
  EXPECT_THAT(env_.err(), HasSubstr("is for softmax"));
  EXPECT_EQ(folder_.Read("out"), "");
}

constexpr char kJob[] =
    "name: small\n"
    "model: {kind: logistic_regression}\n"
    "data: {format: libsvm, train: [a.svm]}\n";

TEST_F(FileVerbsTest, JobFilesAreChecked) {
  folder_.Write("a.svm", "1 1:1\n");
  const std::string job = folder_.Write("job.yaml", kJob);
  EXPECT_EQ(Run({"validate", job}), 0) << env_.err();
  EXPECT_EQ(env_.out(), job + ": a valid job file\n");
  EXPECT_EQ(Run({"validate", job, "--set", "train.epochs=0", "--set",
                 "sync.mode=bps", "-o", "json"}),
            2);
  EXPECT_EQ(Json()["kind"], "job");
  EXPECT_EQ(Json()["valid"], false);
  EXPECT_EQ(Json()["problems"].size(), 2);
  EXPECT_THAT(env_.err(), HasSubstr("did you mean 'bsp'"));
}

TEST_F(FileVerbsTest, TheFilesOfAJobAreLookedForUnlessTheyAreElsewhere) {
  const std::string job = folder_.Write("job.yaml", kJob);
  EXPECT_EQ(Run({"validate", job}), 2);
  EXPECT_THAT(env_.err(), HasSubstr(job + ":3:32: data.train[0]: "));
  EXPECT_EQ(Run({"validate", job, "--no-files"}), 0);
}

TEST_F(FileVerbsTest, ClusterFilesAreRecognised) {
  const std::string cluster = folder_.Write(
      "cluster.yaml", "cluster: {name: prod}\ntables: {partitions: 4}\n");
  EXPECT_EQ(Run({"validate", cluster}), 0) << env_.err();
  EXPECT_EQ(env_.out(), cluster + ": a valid cluster file\n");
  folder_.Write("cluster.yaml", "server: {listn: a:1}\nlog: {level: info}\n");
  EXPECT_EQ(Run({"validate", cluster, "-o", "json"}), 2);
  EXPECT_EQ(Json()["kind"], "cluster");
  EXPECT_THAT(env_.err(),
              HasSubstr("cluster.yaml:1:10: unknown key 'listn' in 'server' "
                        "(did you mean 'listen'?)"));
  EXPECT_EQ(Run({"validate", cluster, "--kind", "job"}), 2);
  EXPECT_THAT(env_.err(), HasSubstr("unknown key 'server'"));
}

TEST_F(FileVerbsTest, WhatIsNoYamlIsExplained) {
  const std::string file = folder_.Write("job.yaml", "a: [1\n");
  EXPECT_EQ(Run({"validate", file}), 2);
  EXPECT_THAT(env_.err(), HasSubstr("job.yaml:"));
  EXPECT_EQ(Run({"validate", folder_.Path("none")}), 2);
}

TEST_F(FileVerbsTest, CompletionScriptsKnowAllVerbs) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_EQ(Run({"completion", shell}), 0);
    for (const std::unique_ptr<Verb>& verb : MakeVerbs()) {
      EXPECT_THAT(env_.out(), HasSubstr(verb->name())) << shell;
    }
  }
  EXPECT_EQ(Run({"completion", "tcsh"}), 2);
}

TEST_F(FileVerbsTest, RunChecksTheJobBeforeItStartsAnything) {
  const std::string job = folder_.Write("job.yaml", kJob);
  EXPECT_EQ(Run({"run", job}), 2);
  EXPECT_THAT(env_.err(), HasSubstr("data.train[0]"));
  EXPECT_EQ(env_.out(), "");
  folder_.Write("a.svm", "1 1:1\n");
  EXPECT_EQ(Run({"run", job, "--cluster-set", "log.levl=debug"}), 2);
  EXPECT_THAT(env_.err(), HasSubstr("levl"));
}

}  // namespace
}  // namespace seraph
