// The writer and the reader, against each other.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/model_file/loaded_model.h"
#include "common/model_file/model_file_reader.h"
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
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ModelMetadata Metadata() {
  ModelMetadata metadata;
  metadata.job_name = "adult-lr";
  metadata.model.loss = LossKind::kLog;
  metadata.labels.task = TaskKind::kBinary;
  return metadata;
}

// Tables of many widths, of which one needs several blocks and one is empty.
std::vector<LoadedTable> SampleTables() {
  std::vector<LoadedTable> tables;
  tables.push_back({{"bias", TableKind::kDense, 1, 1}, {0}, {0.5f}});
  tables.push_back({{"empty", TableKind::kSparse, 0, 7}, {}, {}});
  LoadedTable large{{"large", TableKind::kSparse, 0, 2}, {}, {}};
  for (Key key = 0; key < 50000; ++key) {
    large.keys.push_back(key * key * 7);
    large.values.push_back(0.001f * key);
    large.values.push_back(-0.5f);
  }
  tables.push_back(large);
  LoadedTable wide{{"wide", TableKind::kSparse, 0, 100000}, {1, kMaxKey}, {}};
  wide.values.resize(200000, 1e-40f);
  tables.push_back(wide);
  return tables;
}

// Writes `tables`, the rows cut into calls of at most `rows_per_call`.
absl::StatusOr<ModelFileSummary> WriteModel(
    const std::string& path, const std::vector<LoadedTable>& tables,
    size_t rows_per_call) {
  auto writer = ModelFileWriter::Create(path, Metadata());
  if (!writer.ok()) return writer.status();
  for (const LoadedTable& table : tables) {
    EXPECT_THAT((*writer)->BeginTable(table.header), IsOk());
    const auto keys = absl::MakeConstSpan(table.keys);
    const auto values = absl::MakeConstSpan(table.values);
    const size_t width = table.header.width;
    for (size_t i = 0; i < keys.size(); i += rows_per_call) {
      EXPECT_THAT(
          (*writer)->AddRows(keys.subspan(i, rows_per_call),
                             values.subspan(i * width, rows_per_call * width)),
          IsOk());
    }
    EXPECT_THAT((*writer)->EndTable(), IsOk());
  }
  return (*writer)->Finish();
}

TEST(ModelFileTest, ReadsBackWhatWasWritten) {
  const TempFolder dir;
  const std::vector<LoadedTable> tables = SampleTables();
  const absl::StatusOr<ModelFileSummary> summary =
      WriteModel(dir.Path("model"), tables, 1000);
  ASSERT_THAT(summary, IsOk());
  EXPECT_EQ(summary->rows, 1 + 50000 + 2);
  EXPECT_EQ(summary->bytes, dir.Read("model").size());

  const absl::StatusOr<LoadedModel> model = LoadModel(dir.Path("model"));
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(model->metadata, Metadata());
  EXPECT_EQ(model->digest, summary->digest);
  ASSERT_EQ(model->tables.size(), tables.size());
  for (size_t i = 0; i < tables.size(); ++i) {
    EXPECT_EQ(model->tables[i].header, tables[i].header);
    EXPECT_EQ(model->tables[i].keys, tables[i].keys);
    EXPECT_EQ(model->tables[i].values, tables[i].values);
  }
}

TEST(ModelFileTest, TheBytesDoNotDependOnHowTheRowsAreCut) {
  const TempFolder dir;
  ASSERT_THAT(WriteModel(dir.Path("a"), SampleTables(), 1), IsOk());
  ASSERT_THAT(WriteModel(dir.Path("b"), SampleTables(), 1 << 20), IsOk());
  EXPECT_EQ(dir.Read("a"), dir.Read("b"));
}

TEST(ModelFileTest, AReaderMaySkipRowsAndStillChecksThem) {
  const TempFolder dir;
  ASSERT_THAT(WriteModel(dir.Path("model"), SampleTables(), 1000), IsOk());
  std::string bytes = dir.Read("model");
  auto reader = ModelFileReader::Open(dir.Path("model"));
  ASSERT_THAT(reader, IsOk());
  std::vector<std::string> names;
  while (true) {
    const auto table = (*reader)->NextTable();
    ASSERT_THAT(table, IsOk());
    if (!table->has_value()) break;
    names.push_back((*table)->name);
  }
  EXPECT_THAT(names, ElementsAre("bias", "empty", "large", "wide"));
  EXPECT_EQ((*reader)->footer().tables, 4);
  EXPECT_EQ((*reader)->footer().rows, 50003);

  bytes[bytes.size() / 2] ^= 1;
  dir.Write("model", bytes);
  reader = ModelFileReader::Open(dir.Path("model"));
  ASSERT_THAT(reader, IsOk());
  absl::Status status;
  while (status.ok()) status = (*reader)->NextTable().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ((*reader)->NextTable().status(), status) << "it is remembered";
}

TEST(ModelFileTest, AModelWithoutTablesIsAModel) {
  const TempFolder dir;
  ASSERT_THAT(WriteModel(dir.Path("model"), {}, 1), IsOk());
  const absl::StatusOr<LoadedModel> model = LoadModel(dir.Path("model"));
  ASSERT_THAT(model, IsOk());
  EXPECT_THAT(model->tables, IsEmpty());
}

TEST(ModelFileWriterTest, LeavesNothingBehindWhenItIsAbandoned) {
  const TempFolder dir;
  {
    auto writer = ModelFileWriter::Create(dir.Path("model"), Metadata());
    ASSERT_THAT(writer, IsOk());
    ASSERT_THAT((*writer)->BeginTable({"t", TableKind::kSparse, 0, 1}), IsOk());
    ASSERT_THAT((*writer)->AddRows({1}, {1.0f}), IsOk());
  }
  EXPECT_THAT(dir.Names(), IsEmpty());
}

// Each step is refused, remembered, and leaves no file.
class ModelFileWriterRefuses : public ::testing::Test {
 protected:
  ModelFileWriterRefuses()
      : writer_(*ModelFileWriter::Create(dir_.Path("model"), Metadata())) {}

  ~ModelFileWriterRefuses() override {
    EXPECT_FALSE(writer_->Finish().ok());
    writer_.reset();
    EXPECT_THAT(dir_.Names(), IsEmpty());
  }

  void Begin(TableKind kind, uint64_t keys) {
    ASSERT_THAT(writer_->BeginTable({"t", kind, keys, 2}), IsOk());
    ASSERT_THAT(writer_->AddRows({5}, {1, 2}), IsOk());
  }

  const TempFolder dir_;
  std::unique_ptr<ModelFileWriter> writer_;
};

TEST_F(ModelFileWriterRefuses, KeysThatDoNotAscendOverCalls) {
  Begin(TableKind::kSparse, 0);
  EXPECT_THAT(writer_->AddRows({5}, {1, 2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("table 't': key 5 comes after 5")));
}

TEST_F(ModelFileWriterRefuses, KeysThatDoNotAscendInACall) {
  Begin(TableKind::kSparse, 0);
  EXPECT_THAT(writer_->AddRows({9, 8}, {1, 2, 3, 4}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("key 8 comes after 9")));
}

TEST_F(ModelFileWriterRefuses, AKeyBeyondTheDenseTable) {
  Begin(TableKind::kDense, 10);
  EXPECT_THAT(writer_->AddRows({9, 10}, {1, 2, 3, 4}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("key 10 is beyond the last one, 9")));
}

TEST_F(ModelFileWriterRefuses, AWrongNumberOfValues) {
  Begin(TableKind::kSparse, 0);
  EXPECT_THAT(writer_->AddRows({6}, {1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("1 values for 1 keys of width 2")));
}

TEST_F(ModelFileWriterRefuses, ATableInsideATable) {
  Begin(TableKind::kSparse, 0);
  EXPECT_THAT(writer_->BeginTable({"u", TableKind::kSparse, 0, 1}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(ModelFileWriterRefuses, ToFinishInsideATable) {
  Begin(TableKind::kSparse, 0);
  EXPECT_THAT(writer_->Finish(),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(ModelFileWriterRefuses, RowsOutsideOfATable) {
  EXPECT_THAT(writer_->AddRows({1}, {1}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(ModelFileWriterRefuses, TablesThatAreNotInTheOrderOfTheirNames) {
  Begin(TableKind::kSparse, 0);
  ASSERT_THAT(writer_->EndTable(), IsOk());
  EXPECT_THAT(writer_->BeginTable({"s", TableKind::kSparse, 0, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'s'"), HasSubstr("'t'"))));
}

TEST_F(ModelFileWriterRefuses, ATableThatCannotBe) {
  EXPECT_THAT(writer_->BeginTable({"t", TableKind::kSparse, 0, 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("width")));
}

TEST(ModelTableHeaderTest, IsChecked) {
  const auto sparse = TableKind::kSparse;
  const auto dense = TableKind::kDense;
  EXPECT_THAT(CheckTableHeader({"t", sparse, 0, 1}), IsOk());
  EXPECT_THAT(CheckTableHeader({"t", dense, 1, kMaxTableWidth}), IsOk());
  EXPECT_FALSE(CheckTableHeader({"", sparse, 0, 1}).ok());
  EXPECT_FALSE(
      CheckTableHeader({std::string(kMaxTableNameBytes + 1, 'x'), sparse, 0, 1})
          .ok());
  EXPECT_FALSE(CheckTableHeader({"t", sparse, 0, kMaxTableWidth + 1}).ok());
  EXPECT_FALSE(CheckTableHeader({"t", sparse, 1, 1}).ok());
  EXPECT_FALSE(CheckTableHeader({"t", dense, 0, 1}).ok());
}

TEST(LoadedTableTest, GathersRowsAndZerosForKeysThatAreNotThere) {
  const LoadedTable table{
      {"t", TableKind::kSparse, 0, 2}, {2, 5, kMaxKey}, {1, 2, 3, 4, 5, 6}};
  std::vector<float> rows(10, -1);
  EXPECT_EQ(table.Gather({0, 2, 4, 5, kMaxKey}, absl::MakeSpan(rows)), 3);
  EXPECT_THAT(rows, ElementsAre(0, 0, 1, 2, 0, 0, 3, 4, 5, 6));
  EXPECT_EQ(table.Gather({}, {}), 0);
}

}  // namespace
}  // namespace seraph
