// How messages for people name nodes and orders.
#ifndef SERAPH_SCHEDULER_JOB_NODE_TEXT_H_
#define SERAPH_SCHEDULER_JOB_NODE_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/cluster/node.h"
#include "scheduler/job/order.h"

namespace seraph {

// "server s1 (host:7401)".
std::string Describe(const Node& node);

// Each once: "s1, s2".
std::string NodeNames(const std::vector<Node>& nodes);

// What an order was about, where the message of its failure does not say it:
// "creating tables: ".
std::string DescribeOrder(const OrderBody& order);

// "1 rank", "3 ranks".
std::string CountText(uint64_t n, absl::string_view what);

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_NODE_TEXT_H_
