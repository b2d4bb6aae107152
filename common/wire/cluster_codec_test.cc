#include "common/wire/cluster_codec.h"

#include <functional>
#include <string>

#include "common/testing/status_matchers.h"
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

Node UnusualNode() {
  return {.name = "server-3",
          .role = NodeRole::kServer,
          .address = "10.0.0.3:7401",
          .incarnation = 0xfedcba9876543210,
          .host = "machine-3",
          .arithmetic = "opt-x86-64-v3",
          .version = "0.1.0",
          .slots = 5};
}

PartitionPlacement UnusualPlacement() {
  return {.table = 1,
          .partition = 2,
          .range = {3, kMaxKey},
          .epoch = 4,
          .primary = UnusualNode(),
          .backups = {UnusualNode()}};
}

TEST(ClusterCodecTest, EveryFieldTravels) {
  v1::PartitionPlacement message;
  ToProto(UnusualPlacement(), &message);
  EXPECT_THAT(UnsetFields(message), IsEmpty());
  EXPECT_THAT(FromProto(message), IsOkAndHolds(UnusualPlacement()));
}

TEST(ClusterCodecTest, AWorkerStaysAWorker) {
  Node node = UnusualNode();
  node.role = NodeRole::kWorker;
  v1::Node message;
  ToProto(node, &message);
  EXPECT_THAT(FromProto(message), IsOkAndHolds(node));
}

TEST(ClusterCodecTest, AClockTravels) {
  v1::Clock message;
  ToProto(Clock{7, 9}, &message);
  EXPECT_THAT(UnsetFields(message), IsEmpty());
  EXPECT_EQ(FromProto(message), (Clock{7, 9}));
}

struct BadPlacement {
  std::string name;
  std::function<void(v1::PartitionPlacement*)> spoil;
  std::string want;
};

class ClusterCodecRefuses : public ::testing::TestWithParam<BadPlacement> {};

TEST_P(ClusterCodecRefuses, AndNamesTheField) {
  v1::PartitionPlacement message;
  ToProto(UnusualPlacement(), &message);
  GetParam().spoil(&message);
  EXPECT_THAT(FromProto(message), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr(GetParam().want)));
}

INSTANTIATE_TEST_SUITE_P(
    Messages, ClusterCodecRefuses,
    ::testing::Values(
        BadPlacement{"NoName",
                     [](auto* m) { m->mutable_primary()->clear_name(); },
                     "node.name"},
        BadPlacement{"NoAddress",
                     [](auto* m) { m->mutable_primary()->clear_address(); },
                     "node.address"},
        BadPlacement{"NoRole",
                     [](auto* m) { m->mutable_primary()->clear_role(); },
                     "node.role"},
        BadPlacement{"NoIncarnation",
                     [](auto* m) { m->mutable_primary()->clear_incarnation(); },
                     "node.incarnation"},
        BadPlacement{"WorkerAsPrimary",
                     [](auto* m) {
                       m->mutable_primary()->set_role(v1::NODE_ROLE_WORKER);
                     },
                     "no server"},
        BadPlacement{"NoEpoch", [](auto* m) { m->clear_epoch(); },
                     "placement.epoch"},
        BadPlacement{"EmptyRange", [](auto* m) { m->set_last_key(2); },
                     "no range"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace seraph
