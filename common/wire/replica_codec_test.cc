#include "common/wire/replica_codec.h"

#include "common/testing/status_matchers.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/every_field.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;
using ::seraph::testing::UnsetFields;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Node Server(const char* name) {
  return {.name = name,
          .role = NodeRole::kServer,
          .address = "10.0.0.3:7401",
          .incarnation = 7,
          .host = "machine-3",
          .arithmetic = "opt-x86-64-v3",
          .version = "0.1.0",
          .slots = 5};
}

TEST(ReplicaCodecTest, EveryFieldOfAnOrderTravels) {
  const ReplicaOrder order{.table = 1,
                           .partition = 2,
                           .epoch = 3,
                           .duty = ReplicaDuty::kLead,
                           .primary = Server("a"),
                           .members = {Server("a"), Server("b")}};
  v1::ReplicaOrder message;
  ToProto(order, &message);
  EXPECT_THAT(UnsetFields(message), IsEmpty());
  EXPECT_THAT(FromProto(message), IsOkAndHolds(order));
}

TEST(ReplicaCodecTest, EveryFieldOfAStateTravels) {
  const ReplicaState state{.table = 1,
                           .partition = 2,
                           .epoch = 3,
                           .duty = ReplicaDuty::kFollow,
                           .last = {4, 5},
                           .divergent = true};
  v1::ReplicaState message;
  ToProto(state, &message);
  EXPECT_THAT(UnsetFields(message), IsEmpty());
  EXPECT_THAT(FromProto(message), IsOkAndHolds(state));
}

TEST(ReplicaCodecTest, WhatNobodyOrderedIsRefused) {
  v1::ReplicaOrder message;
  ToProto(ReplicaOrder{.epoch = 1, .duty = ReplicaDuty::kCollect}, &message);
  EXPECT_THAT(
      FromProto(message),
      IsOkAndHolds(ReplicaOrder{.epoch = 1, .duty = ReplicaDuty::kCollect}));
  message.set_epoch(0);
  EXPECT_THAT(FromProto(message), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("replica.epoch")));
  message.set_epoch(1);
  message.set_duty(v1::REPLICA_DUTY_UNSPECIFIED);
  EXPECT_THAT(FromProto(message), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("replica.duty")));
  message.set_duty(v1::REPLICA_DUTY_FOLLOW);
  Node worker = Server("w");
  worker.role = NodeRole::kWorker;
  ToProto(worker, message.mutable_primary());
  EXPECT_THAT(FromProto(message), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("is no server")));
}

}  // namespace
}  // namespace seraph
