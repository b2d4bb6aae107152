#include "client/bench/bench_report.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TableReport Report() {
  TableReport report;
  report.options.operation = BenchOperation::kPush;
  report.options.keys_per_request = 100;
  report.options.width = 2;
  report.requests = 50;
  report.keys = 5000;
  report.seconds = 2;
  report.requests_per_second = 25;
  report.keys_per_second = 2500;
  report.latency_us = {.p50 = 10, .p90 = 20, .p99 = 30, .max = 40};
  report.request_bytes = 1700;
  report.reply_bytes = 100;
  report.server_bytes_per_key = 18.5;
  report.server_cpu_ns_per_key = 30;
  report.client_cpu_ns_per_key = 11;
  report.table_rows = 1'000'000;
  report.log_records = 400;
  report.pushed_entries = 400;
  report.tcp_requests_per_second = 100;
  report.memcpy_bytes_per_second = 80'000;
  report.noop_keys_per_second = 5000;
  report.echo_messages_per_second = 50;
  return report;
}

TEST(BenchReportTest, TheDocumentHasTheContractsKeys) {
  const Document document = ReportDocument(Report());
  EXPECT_EQ(document["operation"], "push");
  EXPECT_EQ(document["parameters"]["keys_per_request"], 100);
  EXPECT_EQ(document["parameters"]["table"], "sparse");
  EXPECT_EQ(document["requests"], 50);
  EXPECT_EQ(document["seconds"], 2.0);
  EXPECT_EQ(document["keys_per_second"], 2500.0);
  // A key of 8 bytes and 2 values of 4.
  EXPECT_EQ(document["bytes_per_second"], 40'000.0);
  EXPECT_EQ(document["latency_us"]["p99"], 30.0);
  EXPECT_EQ(document["server_bytes_per_key"], 18.5);
  EXPECT_EQ(document["server_cpu_ns_per_key"], 30.0);
  EXPECT_EQ(document["client_cpu_ns_per_key"], 11.0);
  EXPECT_EQ(document["wire"]["bytes_per_key"], 18.0);
  EXPECT_EQ(document["baselines"]["tcp_bytes_per_second"], 160'000.0);
  EXPECT_EQ(document["ratios"]["to_tcp"], 0.25);
  EXPECT_EQ(document["ratios"]["to_memcpy"], 0.5);
  EXPECT_EQ(document["ratios"]["to_noop"], 0.5);
  EXPECT_EQ(document["ratios"]["to_echo_stream"], 0.5);
}

TEST(BenchReportTest, WhatWasNotMeasuredIsNull) {
  TableReport report = Report();
  report.server_bytes_per_key.reset();
  report.server_cpu_ns_per_key.reset();
  report.echo_messages_per_second = 0;
  const Document document = ReportDocument(report);
  EXPECT_TRUE(document["server_bytes_per_key"].is_null());
  EXPECT_TRUE(document["server_cpu_ns_per_key"].is_null());
  EXPECT_EQ(document["ratios"]["to_echo_stream"], 0.0);
  EXPECT_THAT(ReportText(report), HasSubstr("unknown"));
}

TEST(BenchReportTest, ThePayloadOfEachOperation) {
  BenchOptions options;
  options.width = 3;
  EXPECT_EQ(PayloadBytesPerKey(options), 20u);
  options.operation = BenchOperation::kPushPull;
  EXPECT_EQ(PayloadBytesPerKey(options), 40u);
  options.table = TableKind::kDense;
  EXPECT_EQ(PayloadBytesPerKey(options), 24u);
}

TEST(BenchReportTest, TheTableSaysWhatPeopleWant) {
  const std::string text = ReportText(Report());
  EXPECT_THAT(text, HasSubstr("push: 100 keys a request of 1000000 in a sparse "
                              "table of width 2 (sum)"));
  EXPECT_THAT(text, HasSubstr("40 k"));
  EXPECT_THAT(text, HasSubstr("10 / 20 / 30"));
  EXPECT_THAT(text, HasSubstr("25 % of it is reached"));
  EXPECT_THAT(text, Not(HasSubstr("\n\n\n")));
}

TEST(BenchReportTest, TrainingIsToldBesideLocalTables) {
  TrainReport report;
  report.examples_per_second = 60'000;
  report.local_examples_per_second = 80'000;
  EXPECT_EQ(ReportDocument(report)["ratios"]["to_local"], 0.75);
  EXPECT_THAT(ReportText(report), HasSubstr("0.75"));
  report.local_examples_per_second = 0;
  EXPECT_EQ(report.ratio(), 0);
}

TEST(BenchOptionsTest, WhatCannotBeMeasuredIsRefusedByItsFlag) {
  const auto refusal = [](auto change) {
    BenchOptions options;
    change(&options);
    return std::string(Validate(options).message());
  };
  EXPECT_TRUE(Validate({}).ok());
  EXPECT_THAT(refusal([](auto* o) { o->keys_per_request = 0; }),
              HasSubstr("--keys-per-request"));
  EXPECT_THAT(refusal([](auto* o) { o->table_keys = 99'999; }),
              HasSubstr("--keys-per-request: 100000 distinct keys of 99999"));
  EXPECT_THAT(refusal([](auto* o) { o->width = 0; }), HasSubstr("--width"));
  EXPECT_THAT(refusal([](auto* o) { o->in_flight = 0; }),
              HasSubstr("--in-flight"));
  EXPECT_THAT(refusal([](auto* o) { o->clients = 0; }), HasSubstr("--clients"));
  EXPECT_THAT(refusal([](auto* o) { o->duration = absl::ZeroDuration(); }),
              HasSubstr("--seconds"));
  EXPECT_THAT(refusal([](auto* o) { o->keys_file = "x"; }),
              HasSubstr("--keys-file"));
  EXPECT_THAT(
      refusal([](auto* o) { o->distribution = KeyDistribution::kFile; }),
      HasSubstr("--keys-file"));
  EXPECT_THAT(refusal([](auto* o) {
                o->distribution = KeyDistribution::kFile;
                o->keys_file = "x";
                o->table = TableKind::kDense;
              }),
              HasSubstr("sparse"));
  EXPECT_THAT(refusal([](auto* o) { o->transport = "pigeon"; }),
              HasSubstr("'pigeon'; there are tcp, unix, shm, auto"));
}

}  // namespace
}  // namespace seraph
