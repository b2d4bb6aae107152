#include "scheduler/job/teardown.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

namespace seraph {
namespace {

RetryOptions WithoutGivingUp(RetryOptions options) {
  options.give_up = absl::InfiniteDuration();
  return options;
}

// Whether the order leaves something behind on its node.
bool Begins(const Order& order) {
  return order.to.has_value() &&
         (std::holds_alternative<RunRanks>(order.body) ||
          std::holds_alternative<AssignPartitions>(order.body) ||
          std::holds_alternative<ConfigureReplicas>(order.body));
}

// The node holds nothing (any more): it has freed it, never had it, or is
// another incarnation.
bool IsFree(const absl::Status& status) {
  return status.ok() || status.code() == absl::StatusCode::kNotFound ||
         status.code() == absl::StatusCode::kFailedPrecondition;
}

}  // namespace

Teardown::Teardown(JobRef job, RetryOptions options, OrderId* last_id)
    : book_(std::move(job), WithoutGivingUp(options), last_id) {}

void Teardown::Add(const Node& node) { nodes_[node.incarnation] = node; }

void Teardown::Start(const std::vector<Order>& open, Moment now, Orders* out) {
  std::set<uint64_t> awaited;
  for (const Order& order : open) {
    if (!Begins(order) || !Holds(*order.to)) continue;
    first_await_.emplace(order.id, *order.to);
    awaited.insert(order.to->incarnation);
  }
  for (const auto& [incarnation, node] : nodes_) {
    if (!awaited.contains(incarnation)) Tell(node, now, out);
  }
}

bool Teardown::Take(const Reply& reply, Moment now, Orders* out) {
  if (auto begun = first_await_.extract(reply.order); !begun.empty()) {
    const Node& node = begun.mapped();
    const bool more = std::any_of(
        first_await_.begin(), first_await_.end(), [&](const auto& item) {
          return item.second.incarnation == node.incarnation;
        });
    if (!more) Tell(node, now, out);
    return true;
  }
  std::optional<ClosedOrder> closed = book_.Close(reply.order);
  if (!closed.has_value()) return false;
  if (IsFree(reply.status)) {
    nodes_.erase(closed->order.to->incarnation);
  } else {
    book_.Retry(*std::move(closed), now);
  }
  return true;
}

void Teardown::ForgetNode(const Node& node) {
  if (nodes_.erase(node.incarnation) == 0) return;
  book_.ForgetNode(node);
  std::erase_if(first_await_, [&](const auto& item) {
    return item.second.incarnation == node.incarnation;
  });
}

bool Teardown::Holds(const Node& node) const {
  return nodes_.contains(node.incarnation);
}

std::vector<Node> Teardown::Holders() const {
  std::vector<Node> holders;
  for (const auto& [incarnation, node] : nodes_) holders.push_back(node);
  return holders;
}

void Teardown::Tell(const Node& node, Moment now, Orders* out) {
  if (node.role == NodeRole::kWorker) {
    book_.Send(node, StopJob{}, now, out);
  } else {
    book_.Send(node, DropJob{}, now, out);
  }
}

}  // namespace seraph
