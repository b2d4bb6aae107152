// Real files as people have them: each is read right, or refused with file,
// line and reason. The files are not part of the repository; the environment
// variable SERAPH_TEST_DATA names the folder that has them.

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/dataset/label_map.h"
#include "common/dataset/resolve_dataset.h"
#include "common/status/status_macros.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/data/record_reader.h"
#include "worker/data/scan.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class MessyFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("SERAPH_TEST_DATA");
    if (folder == nullptr || !std::filesystem::is_directory(folder)) {
      GTEST_SKIP() << "SERAPH_TEST_DATA names no folder of data sets";
    }
    data_ = folder;
    spool_ = *Spool::Create(temp_.Path("spool"));
  }

  absl::StatusOr<DatasetFacts> Scan(const std::string& name,
                                    RecordRules rules = {},
                                    uint64_t block_bytes = 4096) {
    SERAPH_ASSIGN_OR_RETURN(const std::vector<InputFile> files,
                            ResolveDataset(data_, {name}, rules.format, {}));
    std::vector<DatasetFacts> parts;
    for (uint32_t i = 0; i < files.size(); ++i) {
      SERAPH_ASSIGN_OR_RETURN(
          DatasetFacts part,
          ScanPart(
              {.file = files[i], .file_index = i, .block_bytes = block_bytes},
              rules, spool_.get()));
      parts.push_back(std::move(part));
    }
    return MergeFacts(files, std::move(parts));
  }

  absl::StatusOr<RecordBlock> Read(const std::string& name,
                                   RecordRules rules = {}) {
    SERAPH_ASSIGN_OR_RETURN(const std::vector<InputFile> files,
                            ResolveDataset(data_, {name}, rules.format, {}));
    SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<RecordReader> reader,
                            RecordReader::Open(files[0], rules, spool_.get()));
    RecordBlock block;
    SERAPH_RETURN_IF_ERROR(reader->ReadBlock(0, reader->size(), &block));
    return block;
  }

  // The number of classes, or 0 after a failure.
  uint32_t Classes(const absl::StatusOr<DatasetFacts>& facts) {
    EXPECT_THAT(facts, IsOk());
    if (!facts.ok()) return 0;
    const auto labels = DecideLabels(TaskKind::kMulticlass, 0, {&*facts});
    EXPECT_THAT(labels, IsOk());
    return labels.ok() ? labels->classes : 0;
  }

  TempFolder temp_;
  std::string data_;
  std::unique_ptr<Spool> spool_;
};

RecordRules Csv(const std::string& label_column) {
  RecordRules rules;
  rules.format = DataFormat::kCsv;
  rules.options.label_column = label_column;
  return rules;
}

RecordRules Libffm() { return {.format = DataFormat::kLibffm}; }

TEST_F(MessyFilesTest, RecordCounts) {
  const struct {
    std::string name;
    uint64_t records;
  } kCases[] = {{"messy/a9a_crlf_head3000.libsvm", 3000},
                {"messy/w8a_tail_blankline.libsvm", 19},
                {"messy/covtype_labels12_trailing_space.libsvm", 500},
                {"messy/svmlight_classification.txt", 6},
                {"messy/svmlight_invalid_order.txt", 1},
                {"messy/ltr_qid_unsorted.txt", 119},
                {"keys64/embedx_libsvm.txt", 300},
                {"a9a/a9a", 32561},
                {"a9a/a9a.t", 16281},
                {"agaricus/agaricus.txt.train", 6513},
                {"agaricus/agaricus.txt.test", 1611},
                {"w8a/w8a.tr", 39800},
                {"ijcnn1/ijcnn1.val.tr", 10000},
                {"frappe/frappe.validation.libfm", 57722},
                {"frappe/frappe.test.libfm", 28860},
                {"farm_ads", 3108}};
  for (const auto& [name, records] : kCases) {
    RecordRules rules;
    if (name.find("frappe") == 0) rules.options.index_base = 0;
    const auto facts = Scan(name, rules);
    ASSERT_THAT(facts, IsOk()) << name;
    EXPECT_EQ(TrainRecords(*facts), records) << name;
    EXPECT_EQ(BadRecords(*facts), 0) << name;
  }
}

TEST_F(MessyFilesTest, CarriageReturnsChangeNoNumber) {
  const auto crlf = Read("messy/a9a_crlf_head3000.libsvm");
  const auto plain = Read("a9a/a9a");
  ASSERT_THAT(crlf, IsOk());
  ASSERT_THAT(plain, IsOk());
  Batch head;
  for (size_t row = 0; row < 3000; ++row) {
    head.AppendRow(plain->records, row);
  }
  EXPECT_EQ(crlf->records.labels, head.labels);
  EXPECT_EQ(crlf->records.keys, head.keys);
  EXPECT_EQ(crlf->records.values, head.values);
  EXPECT_EQ(crlf->records.row_starts, head.row_starts);
}

TEST_F(MessyFilesTest, LabelsBecomeClasses) {
  EXPECT_EQ(Classes(Scan("messy/covtype_labels12_trailing_space.libsvm")), 7);
  EXPECT_EQ(Classes(Scan("messy/svmlight_classification.txt")), 4);
  EXPECT_EQ(Classes(Scan("covtype20k/covtype.tr.csv", Csv("-1"))), 7);
  EXPECT_EQ(Classes(Scan("digits/digits.csv.gz", Csv("-1"))), 10);
  for (const char* name : {"a9a/a9a", "agaricus/agaricus.txt.train",
                           "w8a/w8a.tr", "ijcnn1/ijcnn1.val.tr"}) {
    const auto facts = Scan(name);
    ASSERT_THAT(facts, IsOk());
    EXPECT_THAT(DecideLabels(TaskKind::kBinary, 0, {&*facts}), IsOk()) << name;
  }
  const auto cancer = Scan("breast-cancer/breast-cancer");
  ASSERT_THAT(cancer, IsOk());
  EXPECT_THAT(DecideLabels(TaskKind::kBinary, 0, {&*cancer}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("breast-cancer:")));
}

TEST_F(MessyFilesTest, BadFilesAreRefusedByFileLineAndReason) {
  const struct {
    std::string name;
    RecordRules rules;
    std::string error;
  } kCases[] = {
      {"messy/svmlight_invalid.txt", {}, "invalid.txt:1: label 'python'"},
      {"messy/svmlight_multilabel.txt", {}, "multilabel.txt:2: label '1,0'"},
      {"messy/xflow_ffm_crlf.txt", {}, "crlf.txt:1: value '0:0.3651'"},
      {"messy/vw_0001_head20.dat", {}, "head20.dat:1: '|features'"},
      {"frappe/frappe.test.libfm", {}, "options.index_base"},
      {"messy/stock_bom.csv", Csv("Close"),
       "stock_bom.csv:2: column 0 ('Date')"},
      {"messy/test_quote.csv", Csv("-1"), "test_quote.csv:1: column 0"},
      {"sector", {}, "compressed with bzip2"},
  };
  for (const auto& [name, rules, error] : kCases) {
    EXPECT_THAT(Scan(name, rules),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(error)))
        << name;
  }
}

TEST_F(MessyFilesTest, ATruncatedStreamIsNamedWithItsOffset) {
  EXPECT_THAT(Scan("messy/docword.kos.truncated.gz"),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("docword.kos.truncated.gz"),
                             HasSubstr("ends early at byte 30382"))));
}

TEST_F(MessyFilesTest, RepeatedAndUnsortedIndices) {
  const auto order = Read("messy/svmlight_invalid_order.txt");
  ASSERT_THAT(order, IsOk());
  EXPECT_EQ(order->records.keys, (std::vector<Key>{2, 5, 15}));

  const auto ltr = Scan("messy/ltr_qid_unsorted.txt");
  ASSERT_THAT(ltr, IsOk());
  EXPECT_EQ(ltr->repeated_index_records, 82);
  EXPECT_THAT(Warnings(*ltr), Contains(HasSubstr("82 records repeat")));
  const auto rows = Read("messy/ltr_qid_unsorted.txt");
  EXPECT_EQ(rows->records.groups.size(), 119);
  EXPECT_EQ(rows->records.groups[0], 1);
}

TEST_F(MessyFilesTest, KeysOf64BitsAreExact) {
  const auto facts = Scan("keys64/embedx_libsvm.txt");
  ASSERT_THAT(facts, IsOk());
  EXPECT_EQ(facts->nonzeros, 53033 - 559);
  EXPECT_GT(facts->max_key, uint64_t{10000000000000000});
  EXPECT_LT(facts->max_key, uint64_t{11000000000000000});
}

TEST_F(MessyFilesTest, LibffmKeepsTheFields) {
  for (const char* name :
       {"messy/xflow_ffm_crlf.txt", "ffm_criteo_small/small_train.txt"}) {
    const auto facts = Scan(name, Libffm());
    ASSERT_THAT(facts, IsOk()) << name;
    EXPECT_EQ(TrainRecords(*facts), 200);
    EXPECT_EQ(facts->max_field, 17);
  }
  EXPECT_THAT(Scan("lightctr_ads/train_sparse.csv", Libffm()), IsOk());
}

TEST_F(MessyFilesTest, CsvFilesWithHeadersMarksAndGaps) {
  RecordRules stock = Csv("Close");
  stock.options.columns = {"Open", "High", "Low", "Volume"};
  const auto prices = Read("messy/stock_bom.csv", stock);
  ASSERT_THAT(prices, IsOk());
  EXPECT_EQ(prices->records.size(), 251);
  EXPECT_EQ(prices->records.labels[0], 221.51);
  EXPECT_EQ(prices->records.values[0], 223.80f);

  const auto prostate = Scan("messy/prostate_missing.csv", Csv("CAPSULE"));
  ASSERT_THAT(prostate, IsOk());
  EXPECT_EQ(TrainRecords(*prostate), 380);
  EXPECT_EQ(prostate->columns, 8);
  EXPECT_EQ(prostate->column_names[0], "ID");

  RecordRules iris = Csv("Species");
  iris.text_labels = true;
  EXPECT_THAT(Scan("messy/iris_missing.csv", iris),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("iris_missing.csv:3: label 'NA' in column 4 "
                                 "('Species') is missing")));
  iris.options.on_bad_record = BadRecordAction::kSkip;
  const auto skipped = Scan("messy/iris_missing.csv", iris);
  EXPECT_EQ(Classes(skipped), 3);
  EXPECT_GT(BadRecords(*skipped), 0);
  EXPECT_EQ(TrainRecords(*skipped) + BadRecords(*skipped), 150);

  const auto rank = Scan("messy/xgb_rank.train.csv", Csv("0"));
  ASSERT_THAT(rank, IsOk());
  EXPECT_EQ(TrainRecords(*rank), 149);
  EXPECT_EQ(rank->columns, 4);
}

TEST_F(MessyFilesTest, CsvFilesOfNames) {
  RecordRules quotes = Csv("-1");
  for (int i = 0; i < 10; ++i) {
    quotes.options.categorical.push_back(absl::StrCat(i));
  }
  const auto names = Read("messy/test_quote.csv", quotes);
  ASSERT_THAT(names, IsOk());
  EXPECT_EQ(names->records.keys.size(), 10 * names->records.size());

  RecordRules adult = Csv("-1");
  adult.text_labels = true;
  for (int column : {1, 3, 5, 6, 7, 8, 9, 13}) {
    adult.options.categorical.push_back(absl::StrCat(column));
  }
  const auto people = Scan("adult_raw/adult.data.gz", adult);
  ASSERT_THAT(people, IsOk());
  EXPECT_EQ(TrainRecords(*people), 32561);
  const auto labels = DecideLabels(TaskKind::kBinary, 0, {&*people});
  ASSERT_THAT(labels, IsOk());
  EXPECT_EQ(labels->texts, (std::vector<std::string>{"<=50K", ">50K"}));

  RecordRules clicks = Csv("0");
  clicks.options.delimiter = '\t';
  for (int i = 14; i < 40; ++i) {
    clicks.options.categorical.push_back(absl::StrCat(i));
  }
  const auto criteo = Scan("criteo/train.csv", clicks);
  ASSERT_THAT(criteo, IsOk());
  EXPECT_EQ(TrainRecords(*criteo), 7200);
}

TEST_F(MessyFilesTest, CsvFilesOfNumbers) {
  RecordRules tabs = Csv("0");
  tabs.options.delimiter = '\t';
  const auto higgs = Scan("higgs/binary.train", tabs);
  ASSERT_THAT(higgs, IsOk());
  EXPECT_EQ(higgs->columns, 28);

  RecordRules count_line = Csv("-1");
  count_line.options.skip_lines = 1;
  for (const char* name : {"iris/iris.csv", "wine/wine_data.csv"}) {
    EXPECT_EQ(Classes(Scan(name, count_line)), 3) << name;
  }
  const auto boston = Scan("boston/boston_house_prices.csv", [] {
    RecordRules rules = Csv("MEDV");
    rules.options.skip_lines = 1;
    return rules;
  }());
  ASSERT_THAT(boston, IsOk());
  EXPECT_EQ(TrainRecords(*boston), 506);
  EXPECT_EQ(boston->columns, 13);

  RecordRules housing = Csv("median_house_value");
  housing.options.categorical = {"ocean_proximity"};
  EXPECT_THAT(Scan("housing_ca", housing), IsOk());
}

}  // namespace
}  // namespace seraph
