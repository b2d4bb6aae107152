#include "client/render/job_text.h"

#include <string>

#include "absl/time/time.h"
#include "client/render/text_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

JobView Sample() {
  JobView job;
  job.id = "j1";
  job.name = "adult-lr";
  job.state = JobState::kRunning;
  job.phase = "training";
  job.submitted = "2024-05-01T12:00:00.123456Z";
  job.epochs = {{1, 32561, 0.5, {{"log_loss", 0.41}}, {{"auc", 0.89}}},
                {2, 32561, 0.25, {{"log_loss", 0.4}}, {}}};
  job.epochs_total = 10;
  job.ranks = 4;
  return job;
}

TEST(TextTableTest, AlignsTextLeftAndNumbersRight) {
  TextTable table({{"NAME"}, {"N", true}, {"WORD"}});
  table.AddRow({"a", "1", "x"});
  table.AddRow({"müller", "1000", "line\nend"});
  EXPECT_EQ(table.ToString(),
            "NAME       N  WORD\n"
            "a          1  x\n"
            "müller  1000  line end\n");
}

TEST(JobTextTest, AListOfJobs) {
  JobView done = Sample();
  done.id = "j22";
  done.state = JobState::kFailed;
  done.ended = "2024-05-01T12:10:00Z";
  EXPECT_EQ(JobsText({Sample(), done}),
            "ID   NAME      STATE    EPOCHS  PHASE     SUBMITTED (UTC)      "
            "ENDED (UTC)\n"
            "j1   adult-lr  RUNNING    2/10  training  2024-05-01 12:00:00  "
            "-\n"
            "j22  adult-lr  FAILED     2/10  -         2024-05-01 12:00:00  "
            "2024-05-01 12:10:00\n");
  EXPECT_EQ(JobsText({}), "no jobs\n");
}

TEST(JobTextTest, OneJobWithItsEpochs) {
  JobView job = Sample();
  job.warnings = {"3 bad records"};
  EXPECT_EQ(JobText(job),
            "id           j1\n"
            "name         adult-lr\n"
            "state        RUNNING\n"
            "phase        training\n"
            "epochs       2/10\n"
            "ranks        4\n"
            "submitted    2024-05-01T12:00:00.123456Z\n"
            "warning      3 bad records\n"
            "\n"
            "EPOCH  EXAMPLES   TIME  EXAMPLES/S  train log_loss  valid. auc\n"
            "    1    32,561  0.50s      65,122            0.41        0.89\n"
            "    2    32,561  0.25s     130,244             0.4           -\n");
}

TEST(JobTextTest, TheResultOfASuccess) {
  JobView job = Sample();
  job.state = JobState::kSucceeded;
  job.model_path = "/tmp/out/model";
  job.model_digest = "sha256:ab";
  job.records_read = 32561;
  job.records_bad = 2;
  job.recoveries = 1;
  job.epochs.pop_back();
  EXPECT_EQ(ResultText(job),
            "job          adult-lr (j1)\n"
            "state        SUCCEEDED\n"
            "epochs       1/10\n"
            "train        log_loss 0.41\n"
            "validation   auc 0.89\n"
            "model        /tmp/out/model\n"
            "digest       sha256:ab\n"
            "records      32,561 read, 2 bad\n"
            "recoveries   1\n");
}

TEST(JobTextTest, TheResultOfAFailureBeforeItsSubmission) {
  JobView job;
  job.name = "adult-lr";
  job.state = JobState::kFailed;
  job.error = "no daemons";
  EXPECT_EQ(ResultText(job),
            "job          adult-lr\n"
            "state        FAILED\n"
            "error        no daemons\n");
}

TEST(JobTextTest, AJobThatWaitsSaysForWhat) {
  JobView job;
  job.state = JobState::kRunning;
  job.waiting_for = "a worker for rank 3";
  job.replicas = 2;
  job.least_in_sync = 1;
  job.checkpoint = {.path = "/ckpt/m-7", .epoch = 3, .step = 20};
  EXPECT_THAT(
      JobText(job),
      AllOf(HasSubstr("waiting for  a worker for rank 3\n"),
            HasSubstr("replicas     2, of a partition only 1 in sync"),
            HasSubstr("checkpoint   /ckpt/m-7, 3 epochs and 20 steps")));
  job.state = JobState::kSucceeded;
  EXPECT_THAT(JobText(job), Not(HasSubstr("waiting for")));
  EXPECT_THAT(JobText(job), HasSubstr("replicas     2\n"));
}

TEST(JobTextTest, AClusterWithItsNodes) {
  ClusterView cluster;
  cluster.name = "seraph";
  cluster.version = "0.1.0";
  EXPECT_EQ(ClusterText(cluster),
            "cluster 'seraph', version 0.1.0: 0 running, 0 pending\n"
            "no nodes\n");
  cluster.nodes = {{"h:7401", "server", "ALIVE", "h:7401", "0.1.0",
                    absl::Milliseconds(250), 23 << 20, 8, 1000, 0, 5, 3}};
  EXPECT_EQ(ClusterText(cluster),
            "cluster 'seraph', version 0.1.0: 0 running, 0 pending\n"
            "\n"
            "NODE    ROLE    STATE  HEARTBEAT  MEMORY  PRIMARIES  BACKUPS   "
            "ROWS  RANKS  VERSION\n"
            "h:7401  server  ALIVE  0.25s ago  23 MiB          5        3  "
            "1,000      0  0.1.0\n");
  cluster.degraded_partitions = 2;
  EXPECT_THAT(ClusterText(cluster),
              HasSubstr("2 partitions with fewer replicas in sync"));
}

}  // namespace
}  // namespace seraph
