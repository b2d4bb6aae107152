#include "scheduler/job/order_book.h"

#include <algorithm>
#include <utility>

namespace seraph {
namespace {

bool IsTo(const Order& order, const Node& node) {
  return order.to.has_value() && order.to->incarnation == node.incarnation;
}

}  // namespace

OrderBook::OrderBook(JobRef job, const RetryOptions& options, OrderId* last_id)
    : job_(std::move(job)), options_(options), last_id_(last_id) {}

OrderId OrderBook::Send(std::optional<Node> to, OrderBody body, Moment now,
                        Orders* out) {
  ClosedOrder entry;
  entry.order = {++*last_id_, job_, std::move(to), std::move(body)};
  entry.first_sent = now.steady;
  const OrderId id = entry.order.id;
  out->push_back(entry.order);
  open_.emplace(id, std::move(entry));
  return id;
}

std::optional<ClosedOrder> OrderBook::Close(OrderId id) {
  auto node = open_.extract(id);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

bool OrderBook::Retry(ClosedOrder order, Moment now, absl::Duration give_up) {
  if (now.steady - order.first_sent >= give_up) return false;
  absl::Duration pause = options_.pause;
  for (int i = 0; i < order.repeats && pause < options_.pause_max; ++i) {
    pause *= 2;
  }
  ++order.repeats;
  paused_.emplace(now.steady + std::min(pause, options_.pause_max),
                  std::move(order));
  return true;
}

void OrderBook::Tick(Moment now, Orders* out) {
  while (!paused_.empty() && paused_.begin()->first <= now.steady) {
    ClosedOrder entry = std::move(paused_.begin()->second);
    paused_.erase(paused_.begin());
    entry.order.id = ++*last_id_;
    out->push_back(entry.order);
    open_.emplace(entry.order.id, std::move(entry));
  }
}

std::vector<Order> OrderBook::Release() {
  std::vector<Order> orders;
  for (auto& [id, entry] : open_) orders.push_back(std::move(entry.order));
  open_.clear();
  paused_.clear();
  return orders;
}

void OrderBook::ForgetNode(const Node& node) {
  std::erase_if(
      open_, [&](const auto& item) { return IsTo(item.second.order, node); });
  std::erase_if(
      paused_, [&](const auto& item) { return IsTo(item.second.order, node); });
}

}  // namespace seraph
