#include "worker/data/epoch_stream.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/testing/compress.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/data/scan.h"

namespace seraph {
namespace {

using ::seraph::testing::Gzip;
using ::seraph::testing::IsOk;
using ::seraph::testing::StatusIs;
using ::seraph::testing::TempFolder;
using ::seraph::testing::Zstd;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Record i of a data set has the value i + 1 of feature 1.
std::vector<uint64_t> Ids(const Batch& batch) {
  std::vector<uint64_t> ids;
  for (size_t row = 0; row < batch.size(); ++row) {
    ids.push_back(static_cast<uint64_t>(batch.values[batch.row_starts[row]]) -
                  1);
  }
  return ids;
}

std::string Records(int first, int count) {
  std::string content;
  for (int i = first; i < first + count; ++i) {
    absl::StrAppend(&content, i % 2 == 0 ? -1 : 1, " 1:", i + 1, "\n");
  }
  return content;
}

class EpochStreamTest : public ::testing::Test {
 protected:
  EpochStreamTest() { spool_ = *Spool::Create(folder_.Path("spool")); }

  std::unique_ptr<BlockSource> Source(const std::vector<std::string>& contents,
                                      uint64_t block_bytes,
                                      uint64_t cache_bytes = 0) {
    std::vector<InputFile> files;
    std::vector<DatasetFacts> parts;
    for (size_t i = 0; i < contents.size(); ++i) {
      const std::string name = absl::StrCat("f", i);
      files.push_back({*StampFile(folder_.Write(name, contents[i])), {}});
      auto part = ScanPart(
          {files.back(), static_cast<uint32_t>(i), 0, ~0ul, block_bytes},
          rules_, spool_.get());
      EXPECT_THAT(part, IsOk());
      parts.push_back(*std::move(part));
    }
    auto facts = MergeFacts(files, std::move(parts));
    EXPECT_THAT(facts, IsOk());
    auto labels = DecideLabels(TaskKind::kBinary, 0, {&*facts});
    EXPECT_THAT(labels, IsOk());
    return std::make_unique<BlockSource>(*std::move(facts), rules_,
                                         *std::move(labels), cache_bytes,
                                         spool_.get());
  }

  // What the stream gives from where it stands, `n` records at a time.
  std::vector<uint64_t> ReadOn(EpochStream* stream, size_t n) {
    std::vector<uint64_t> all;
    Batch batch;
    while (true) {
      EXPECT_THAT(stream->NextBatch(n, &batch), IsOk());
      if (batch.empty()) return all;
      EXPECT_TRUE(batch.size() == n || stream->position() == stream->records());
      for (const uint64_t id : Ids(batch)) all.push_back(id);
    }
  }

  TempFolder folder_;
  RecordRules rules_;
  std::unique_ptr<Spool> spool_;
};

TEST_F(EpochStreamTest, WithoutShuffleTheOrderIsThatOfTheFiles) {
  const auto source = Source({Records(0, 30), Records(30, 5)}, 64);
  EpochStream stream(source.get(), {});
  EXPECT_EQ(stream.records(), 35);
  Batch batch;
  ASSERT_THAT(stream.NextBatch(3, &batch), IsOk());
  EXPECT_THAT(Ids(batch), ElementsAre(0, 1, 2));
  EXPECT_THAT(batch.labels, ElementsAre(0, 1, 0)) << "through the label map";
  const std::vector<uint64_t> rest = ReadOn(&stream, 4);
  EXPECT_EQ(rest.size(), 32);
  EXPECT_TRUE(std::is_sorted(rest.begin(), rest.end()));
}

struct Shape {
  int records;
  uint64_t block_bytes, group_bytes;
  uint32_t ranks;
  bool shuffle;
  size_t batch;
};

TEST_F(EpochStreamTest, EveryRecordOnceAndEverySeekLikeReadingOn) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 40; ++round) {
    const Shape shape = {static_cast<int>(1 + random() % 400),
                         64 + random() % 500,
                         4096 + random() % 4000,
                         static_cast<uint32_t>(1 + random() % 6),
                         random() % 2 == 0,
                         1 + random() % 50};
    rules_.options.group_bytes = shape.group_bytes;
    const int first_file = random() % (shape.records + 1);
    const auto source =
        Source({Records(0, first_file),
                Records(first_file, shape.records - first_file) + "-1 1:9999"},
               shape.block_bytes, random() % 3 * 2000);
    std::vector<uint64_t> all;
    for (uint32_t rank = 0; rank < shape.ranks; ++rank) {
      const EpochStreamOptions options = {.seed = seed,
                                          .epoch = static_cast<uint32_t>(round),
                                          .ranks = shape.ranks,
                                          .rank = rank,
                                          .shuffle = shape.shuffle};
      EpochStream stream(source.get(), options);
      const std::vector<uint64_t> read = ReadOn(&stream, shape.batch);
      ASSERT_EQ(read.size(), stream.records());
      all.insert(all.end(), read.begin(), read.end());
      for (int i = 0; i < 5; ++i) {
        const uint64_t place = random() % (read.size() + 1);
        // In the stream that has read on, and in one that has read nothing.
        EpochStream fresh(source.get(), options);
        ASSERT_THAT(stream.Seek(place), IsOk());
        ASSERT_THAT(fresh.Seek(place), IsOk());
        const std::vector<uint64_t> rest(read.begin() + place, read.end());
        EXPECT_EQ(ReadOn(&stream, 1 + random() % 50), rest);
        EXPECT_EQ(ReadOn(&fresh, shape.batch), rest);
      }
    }
    std::sort(all.begin(), all.end());
    std::vector<uint64_t> want;
    for (int i = 0; i < shape.records; ++i) want.push_back(i);
    want.push_back(9998);
    EXPECT_EQ(all, want);
  }
}

TEST_F(EpochStreamTest, ShuffleIsAFunctionOfSeedAndEpoch) {
  const auto source = Source({Records(0, 1000)}, 500);
  const auto order = [&](uint64_t seed, uint32_t epoch) {
    EpochStream stream(source.get(),
                       {.seed = seed, .epoch = epoch, .shuffle = true});
    return ReadOn(&stream, 64);
  };
  const std::vector<uint64_t> once = order(1, 0);
  EXPECT_EQ(order(1, 0), once);
  EXPECT_NE(order(1, 1), once);
  EXPECT_NE(order(2, 0), once);
}

// A file sorted by label, as there are: batches must see both labels.
TEST_F(EpochStreamTest, ShuffleMixesWhatAFileHasSorted) {
  std::string content;
  for (int i = 0; i < 5000; ++i) {
    absl::StrAppend(&content, i < 2500 ? -1 : 1, " 1:", i + 1, "\n");
  }
  const auto source =
      Source({content}, BlockBytes(content.size(), /*ranks=*/4, 0));
  for (uint32_t rank = 0; rank < 4; ++rank) {
    EpochStream stream(source.get(),
                       {.ranks = 4, .rank = rank, .shuffle = true});
    Batch batch;
    ASSERT_THAT(stream.NextBatch(200, &batch), IsOk());
    const double positive =
        std::count(batch.labels.begin(), batch.labels.end(), 1.0);
    EXPECT_GT(positive, 20) << rank;
    EXPECT_LT(positive, 180) << rank;
  }
}

TEST_F(EpochStreamTest, CacheSizeAndCompressionMakeNoDifference) {
  const std::string content = Records(0, 2000);
  std::vector<std::vector<uint64_t>> orders;
  for (const std::string& bytes : {content, Gzip(content), Zstd(content)}) {
    for (const uint64_t cache : {0, 10000, 1 << 20}) {
      const auto source = Source({bytes}, 700, cache);
      std::vector<uint64_t> order;
      for (uint32_t epoch : {0, 1}) {
        EpochStream stream(source.get(), {.epoch = epoch, .shuffle = true});
        for (const uint64_t id : ReadOn(&stream, 64)) order.push_back(id);
      }
      orders.push_back(std::move(order));
    }
  }
  for (const auto& order : orders) EXPECT_EQ(order, orders[0]);
}

TEST_F(EpochStreamTest, ValidationAndTrainingShareTheRecords) {
  rules_.validation_fraction = 0.2;
  const auto source = Source({Records(0, 1000)}, 300);
  std::vector<uint64_t> all;
  uint64_t validation = 0;
  for (const RecordPart part : {RecordPart::kTrain, RecordPart::kValidation}) {
    for (uint32_t rank : {0, 1, 2}) {
      EpochStream stream(
          source.get(),
          {.part = part, .ranks = 3, .rank = rank, .shuffle = true});
      const auto read = ReadOn(&stream, 10);
      if (part == RecordPart::kValidation) {
        validation += read.size();
        EXPECT_TRUE(std::is_sorted(read.begin(), read.end()))
            << "validation is never shuffled";
      }
      all.insert(all.end(), read.begin(), read.end());
    }
  }
  EXPECT_NEAR(validation, 200, 70);
  std::sort(all.begin(), all.end());
  std::vector<uint64_t> want(1000);
  for (int i = 0; i < 1000; ++i) want[i] = i;
  EXPECT_EQ(all, want);
}

TEST_F(EpochStreamTest, TrainingSkipsTheRecordsThatTheScanSkipped) {
  rules_.options.on_bad_record = BadRecordAction::kSkip;
  const auto source =
      Source({Records(0, 100) + "1 1:nan\nx\n1 0:4\n" + Records(100, 100)}, 64);
  EpochStream stream(source.get(), {});
  const auto read = ReadOn(&stream, 7);
  EXPECT_EQ(read.size(), 200);
  EXPECT_EQ(BadRecords(source->facts()), 3);
}

// The data is much larger than what is in memory at any time.
TEST_F(EpochStreamTest, MemoryIsBoundedByTheGroupAndNotByTheFile) {
  constexpr int kRecords = 200000;
  const std::string content = Records(0, kRecords);  // About 2.4 MB.
  rules_.options.group_bytes = 32 << 10;
  const auto source = Source({content}, 4096);
  uint64_t read = 0;
  for (uint32_t rank : {0, 1}) {
    EpochStream stream(source.get(),
                       {.ranks = 2, .rank = rank, .shuffle = true});
    read += ReadOn(&stream, 256).size();
  }
  EXPECT_EQ(read, kRecords);
  // Records at the end of the file are a little longer than those before.
  EXPECT_LT(source->peak_bytes(), rules_.options.group_bytes * 5 / 4);
  EXPECT_GT(source->peak_bytes(), rules_.options.group_bytes / 2);
  EXPECT_EQ(source->live_bytes(), 0);

  const auto in_order = Source({content}, 4096);
  EpochStream stream(in_order.get(), {});
  EXPECT_EQ(ReadOn(&stream, 256).size(), kRecords);
  EXPECT_LT(in_order->peak_bytes(), 4 * 4096);
}

// Ranks of a process share the source.
TEST_F(EpochStreamTest, ManyThreadsReadOneSource) {
  const auto source = Source({Records(0, 3000), Gzip(Records(3000, 3000))}, 500,
                             /*cache_bytes=*/50000);
  constexpr uint32_t kRanks = 8;
  std::vector<std::vector<uint64_t>> read(kRanks);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      for (uint32_t epoch : {0, 1}) {
        EpochStream stream(
            source.get(),
            {.epoch = epoch, .ranks = kRanks, .rank = rank, .shuffle = true});
        for (const uint64_t id : ReadOn(&stream, 32)) read[rank].push_back(id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<uint64_t, int> times;
  for (const auto& ids : read) {
    for (const uint64_t id : ids) ++times[id];
  }
  EXPECT_EQ(times.size(), 6000);
  for (const auto& [id, count] : times) EXPECT_EQ(count, 2) << id;
  EXPECT_LE(source->live_bytes(), 50000);
}

TEST_F(EpochStreamTest, TheCacheStaysWithinItsLimit) {
  const auto source = Source({Records(0, 20000)}, 4096, 100000);
  {
    EpochStream stream(source.get(), {});
    ReadOn(&stream, 256);
  }
  EXPECT_LE(source->live_bytes(), 100000);
  EXPECT_GT(source->live_bytes(), 50000);
}

TEST_F(EpochStreamTest, ManyFilesNeedFewDescriptors) {
  std::vector<std::string> contents;
  for (int i = 0; i < 200; ++i) contents.push_back(Records(i, 1));
  const auto source = Source(contents, 64);
  EpochStream stream(source.get(), {});
  EXPECT_EQ(ReadOn(&stream, 3).size(), 200);
  const std::filesystem::directory_iterator descriptors("/proc/self/fd");
  EXPECT_LT(std::distance(begin(descriptors), end(descriptors)),
            BlockSource::kMaxOpenFiles + 20);
}

TEST_F(EpochStreamTest, AChangedFileStopsIt) {
  const auto source = Source({Records(0, 100)}, 64);
  EpochStream stream(source.get(), {});
  Batch batch;
  folder_.Write("f0", Records(0, 101));
  EXPECT_THAT(stream.NextBatch(1, &batch),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has changed since the job began")));
  EXPECT_EQ(stream.position(), 0);
}

TEST_F(EpochStreamTest, SeekBeyondTheEndIsAnError) {
  const auto source = Source({Records(0, 10)}, 64);
  EpochStream stream(source.get(), {});
  EXPECT_THAT(stream.Seek(10), IsOk());
  EXPECT_THAT(stream.Seek(11), StatusIs(absl::StatusCode::kOutOfRange));
  Batch batch;
  EXPECT_THAT(stream.NextBatch(5, &batch), IsOk());
  EXPECT_TRUE(batch.empty());
}

}  // namespace
}  // namespace seraph
