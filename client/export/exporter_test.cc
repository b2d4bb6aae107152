// Every format, from a model file to the bytes on disk.
#include "client/export/exporter.h"

#include <signal.h>
#include <sys/resource.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "client/base/exit_code.h"
#include "client/export/float_text.h"
#include "client/export/npy_sink.h"
#include "common/base/draw.h"
#include "common/model_file/loaded_model.h"
#include "common/model_file/model_file_writer.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;

ModelMetadata Metadata(ModelKind kind) {
  ModelMetadata metadata;
  metadata.model.kind = kind;
  metadata.labels.task = TaskOf(kind);
  metadata.labels.negative = -1;
  metadata.labels.positive = 1;
  metadata.labels.classes = 2;
  return metadata;
}

ModelMetadata Softmax(int64_t first_class) {
  ModelMetadata metadata = Metadata(ModelKind::kSoftmax);
  metadata.model.classes = 3;
  metadata.labels.first_class = first_class;
  return metadata;
}

LoadedTable Bias(std::vector<float> values) {
  const uint32_t width = values.size();
  return {{"bias", TableKind::kDense, 1, width}, {0}, std::move(values)};
}

LoadedTable Dense(uint32_t width, std::vector<float> values) {
  LoadedTable table;
  table.header = {"weights", TableKind::kDense, values.size() / width, width};
  for (Key key = 0; key < table.header.keys; ++key) table.keys.push_back(key);
  table.values = std::move(values);
  return table;
}

LoadedTable Sparse(std::vector<Key> keys, std::vector<float> values) {
  return {{"weights", TableKind::kSparse, 0, 1},
          std::move(keys),
          std::move(values)};
}

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

class ExporterTest : public ::testing::Test {
 protected:
  void WriteModel(const ModelMetadata& metadata,
                  const std::vector<LoadedTable>& tables) {
    auto writer = *ModelFileWriter::Create(folder_.Path("model"), metadata);
    for (const LoadedTable& table : tables) {
      ASSERT_THAT(writer->BeginTable(table.header), IsOk());
      ASSERT_THAT(writer->AddRows(table.keys, table.values), IsOk());
      ASSERT_THAT(writer->EndTable(), IsOk());
    }
    ASSERT_THAT(writer->Finish(), IsOk());
  }

  absl::StatusOr<ExportSummary> Export(ExportFormat format,
                                       const std::string& out = "out") {
    return ExportModel(folder_.Path("model"), format, folder_.Path(out),
                       interrupt_,
                       [&](double fraction) { progress_.push_back(fraction); });
  }

  const TempFolder folder_;
  Interrupt interrupt_;
  std::vector<double> progress_;
};

TEST(FloatTextTest, ReadsBackToTheSameBits) {
  const float odd[] = {0.0f, -0.0f, 0.1f, 1e-45f,         3.4028235e38f,
                       -1,   1e20f, 3e7f, 1.17549435e-38f};
  for (uint64_t i = 0; i < 100000; ++i) {
    float value;
    if (i < std::size(odd)) {
      value = odd[i];
    } else {
      const uint32_t bits = Draw(/*seed=*/1, {i});
      std::memcpy(&value, &bits, sizeof(value));
      if (!std::isfinite(value)) continue;
    }
    std::string text;
    AppendFloat(value, &text);
    float read = 0;
    const auto end =
        std::from_chars(text.data(), text.data() + text.size(), read);
    ASSERT_EQ(end.ptr, text.data() + text.size()) << text;
    ASSERT_EQ(std::memcmp(&read, &value, sizeof(value)), 0) << text;
  }
}

TEST_F(ExporterTest, TextOfALinearModelHasItsBiasLast) {
  WriteModel(Metadata(ModelKind::kLogisticRegression),
             {Bias({0.5f}), Sparse({3, 10, kMaxKey}, {0.1f, -2, 1e-40f})});
  const absl::StatusOr<ExportSummary> summary = Export(ExportFormat::kText);
  ASSERT_THAT(summary, IsOk());
  EXPECT_EQ(folder_.Read("out"),
            "3\t0.1\n10\t-2\n18446744073709551615\t1e-40\nbias\t0.5\n");
  EXPECT_THAT(summary->files, ElementsAre(folder_.Path("out")));
  EXPECT_THAT(folder_.Names(), ElementsAre("model", "out"));
  EXPECT_THAT(progress_, AllOf(Each(Le(1.0)), Contains(Gt(0.9))));
}

TEST_F(ExporterTest, TextOfALinearModelWithoutABias) {
  WriteModel(Metadata(ModelKind::kSvm), {Dense(1, {1, 2})});
  ASSERT_THAT(Export(ExportFormat::kText), IsOk());
  EXPECT_EQ(folder_.Read("out"), "0\t1\n1\t2\n");
}

TEST_F(ExporterTest, TextOfWiderTables) {
  WriteModel(Softmax(0), {Bias({1, 2, 3}), Dense(3, {4, 5, 6, 7, 8, 9})});
  ASSERT_THAT(Export(ExportFormat::kText), IsOk());
  EXPECT_EQ(folder_.Read("out"),
            "bias\t0\t1 2 3\nweights\t0\t4 5 6\nweights\t1\t7 8 9\n");
}

TEST_F(ExporterTest, SeraphIsACopyByteForByte) {
  WriteModel(Metadata(ModelKind::kLogisticRegression),
             {Bias({0.5f}), Sparse({3}, {0.25f})});
  ASSERT_THAT(Export(ExportFormat::kSeraph), IsOk());
  EXPECT_EQ(folder_.Read("out"), folder_.Read("model"));
}

// The expected heads are what NumPy's np.save writes.
TEST(NpyHeaderTest, IsAsNumpyWritesIt) {
  const std::string one = NpyHeader("<f4", {3});
  EXPECT_EQ(one.size(), 128);
  EXPECT_EQ(one.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(one.substr(10, 62),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }     ");
  EXPECT_EQ(one.back(), '\n');
  EXPECT_EQ(NpyHeader("<f4", {3, 2}).substr(10, 60),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), } ");
}

TEST_F(ExporterTest, NpyOfOneTableIsAFile) {
  WriteModel(Metadata(ModelKind::kSvm), {Dense(1, {1, 2})});
  ASSERT_THAT(Export(ExportFormat::kNpy), IsOk());
  EXPECT_EQ(folder_.Read("out"),
            NpyHeader("<f4", {2}) + BytesOf<float>({1, 2}));
}

TEST_F(ExporterTest, NpyOfSeveralTablesIsAFolder) {
  WriteModel(Metadata(ModelKind::kLogisticRegression),
             {Bias({0.5f}), Sparse({3, 10}, {0.25f, 1})});
  const absl::StatusOr<ExportSummary> summary = Export(ExportFormat::kNpy);
  ASSERT_THAT(summary, IsOk());
  EXPECT_THAT(
      summary->files,
      ElementsAre(folder_.Path("out/bias.npy"), folder_.Path("out/weights.npy"),
                  folder_.Path("out/weights.keys.npy")));
  EXPECT_THAT(folder_.Names(), ElementsAre("model", "out"));
  EXPECT_EQ(folder_.Read("out/bias.npy"),
            NpyHeader("<f4", {1}) + BytesOf<float>({0.5f}));
  EXPECT_EQ(folder_.Read("out/weights.npy"),
            NpyHeader("<f4", {2}) + BytesOf<float>({0.25f, 1}));
  EXPECT_EQ(folder_.Read("out/weights.keys.npy"),
            NpyHeader("<u8", {2}) + BytesOf<uint64_t>({3, 10}));
}

TEST_F(ExporterTest, NpyWantsANewFolder) {
  WriteModel(Metadata(ModelKind::kSvm), {Bias({1}), Dense(1, {1, 2})});
  ASSERT_THAT(Export(ExportFormat::kNpy, "out/"), IsOk());
  EXPECT_THAT(Export(ExportFormat::kNpy),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is not empty")));
  EXPECT_THAT(Export(ExportFormat::kNpy, "model"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("a file has that name")));
  std::filesystem::create_directory(folder_.Path("empty"));
  EXPECT_THAT(Export(ExportFormat::kNpy, "empty"), IsOk());
  EXPECT_THAT(folder_.Names(), ElementsAre("empty", "model", "out"));
}

TEST_F(ExporterTest, NpyOfAWideTableIsAMatrix) {
  WriteModel(Softmax(0), {Dense(3, {4, 5, 6, 7, 8, 9})});
  ASSERT_THAT(Export(ExportFormat::kNpy), IsOk());
  EXPECT_EQ(folder_.Read("out"),
            NpyHeader("<f4", {2, 3}) + BytesOf<float>({4, 5, 6, 7, 8, 9}));
}

TEST_F(ExporterTest, LiblinearOfADenseModel) {
  WriteModel(Metadata(ModelKind::kLogisticRegression),
             {Bias({0.5f}), Dense(1, {1, 0, -2})});
  ASSERT_THAT(Export(ExportFormat::kLiblinear), IsOk());
  EXPECT_EQ(folder_.Read("out"),
            "solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 3\n"
            "bias 1\nw\n1 \n0 \n-2 \n0.5 \n");
}

TEST_F(ExporterTest, LiblinearOfASparseModelHasItsGapsAsZeros) {
  ModelMetadata metadata = Metadata(ModelKind::kSvm);
  metadata.model.bias = BiasKind::kNone;
  metadata.labels.negative = 2;
  metadata.labels.positive = 4;
  WriteModel(metadata, {Sparse({2, 4}, {1, 3})});
  ASSERT_THAT(Export(ExportFormat::kLiblinear), IsOk());
  EXPECT_EQ(folder_.Read("out"),
            "solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 4 2\n"
            "nr_feature 4\nbias -1\nw\n0 \n1 \n0 \n3 \n");
}

TEST_F(ExporterTest, LiblinearOfSparseDataThatCountsFromZero) {
  ModelMetadata metadata = Metadata(ModelKind::kLinearRegression);
  metadata.data_options.index_base = 0;
  WriteModel(metadata, {Sparse({0, 2}, {1, 3})});
  ASSERT_THAT(Export(ExportFormat::kLiblinear), IsOk());
  EXPECT_EQ(folder_.Read("out"),
            "solver_type L2R_L2LOSS_SVR\nnr_class 2\nnr_feature 3\n"
            "bias 1\nw\n1 \n0 \n3 \n0 \n");
}

TEST_F(ExporterTest, LiblinearOfSoftmax) {
  WriteModel(Softmax(1), {Bias({1, 2, 3}), Dense(3, {4, 5, 6})});
  ASSERT_THAT(Export(ExportFormat::kLiblinear), IsOk());
  EXPECT_EQ(folder_.Read("out"),
            "solver_type MCSVM_CS\nnr_class 3\nlabel 1 2 3\nnr_feature 1\n"
            "bias 1\nw\n4 5 6 \n1 2 3 \n");
}

TEST_F(ExporterTest, LiblinearRefusesWhatItCannotHave) {
  const auto refused = [](const char* why) {
    return StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(why));
  };
  ModelMetadata metadata = Metadata(ModelKind::kLogisticRegression);
  WriteModel(metadata, {Sparse({5, kMaxKey}, {1, 2})});
  EXPECT_THAT(Export(ExportFormat::kLiblinear),
              refused("its keys go up to 18446744073709551615"));
  WriteModel(metadata, {Sparse({0}, {1})});
  EXPECT_THAT(Export(ExportFormat::kLiblinear), refused("it has the key 0"));
  metadata.labels.positive = 0.5;
  WriteModel(metadata, {Sparse({1}, {1})});
  EXPECT_THAT(Export(ExportFormat::kLiblinear),
              refused("its labels are no whole numbers"));
  WriteModel(metadata, {});
  EXPECT_THAT(Export(ExportFormat::kLiblinear), refused("it is not linear"));
  EXPECT_THAT(folder_.Names(), ElementsAre("model"));
}

TEST_F(ExporterTest, ADamagedModelLeavesNothingBehind) {
  WriteModel(Metadata(ModelKind::kSvm), {Dense(1, {1, 2})});
  std::string bytes = folder_.Read("model");
  bytes[bytes.size() - 20] ^= 1;
  folder_.Write("model", bytes);
  for (const std::string& name : ExportFormatNames()) {
    const absl::Status status = Export(*ParseExportFormat(name)).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss)) << name;
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kUsage);
  }
  EXPECT_THAT(folder_.Names(), ElementsAre("model"));
}

// A limit on the size of files stands for the full disk: both fail in write().
TEST_F(ExporterTest, ADiskThatIsFullIsAFailureAndLeavesNothingBehind) {
  std::vector<float> values(100000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sqrt(i + 0.5f);
  WriteModel(Metadata(ModelKind::kLogisticRegression),
             {Bias({1}), Dense(1, values)});
  struct rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  struct rlimit limit = old_limit;
  limit.rlim_cur = 300 << 10;
  signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::vector<absl::Status> statuses;
  for (const std::string& name : ExportFormatNames()) {
    statuses.push_back(Export(*ParseExportFormat(name)).status());
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  for (const absl::Status& status : statuses) {
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kFailed) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("cannot write"), HasSubstr(folder_.Path("out")),
                      Not(HasSubstr(".tmp"))));
  }
  EXPECT_THAT(folder_.Names(), ElementsAre("model"));
}

TEST_F(ExporterTest, AnInterruptLeavesNothingBehind) {
  WriteModel(Metadata(ModelKind::kSvm), {Dense(1, {1, 2})});
  int calls = 0;
  const absl::Status status =
      ExportModel(folder_.Path("model"), ExportFormat::kText,
                  folder_.Path("out"), interrupt_,
                  [&](double) {
                    if (++calls == 2) interrupt_.Trigger();
                  })
          .status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kInterrupted) << status;
  EXPECT_THAT(folder_.Names(), ElementsAre("model"));
}

TEST_F(ExporterTest, AFolderIsNoFile) {
  WriteModel(Metadata(ModelKind::kSvm), {Dense(1, {1, 2})});
  std::filesystem::create_directory(folder_.Path("out"));
  const absl::Status status = Export(ExportFormat::kText).status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kUsage) << status;
}

TEST(ExportFormatTest, HasTheContractsNames) {
  EXPECT_THAT(ExportFormatNames(),
              ElementsAre("seraph", "text", "npy", "liblinear"));
  EXPECT_EQ(ParseExportFormat("npy"), ExportFormat::kNpy);
  EXPECT_EQ(ParseExportFormat("json"), std::nullopt);
}

}  // namespace
}  // namespace seraph
