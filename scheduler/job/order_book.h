// The orders of a job that wait for their reply, and those to be sent again.
#ifndef SERAPH_SCHEDULER_JOB_ORDER_BOOK_H_
#define SERAPH_SCHEDULER_JOB_ORDER_BOOK_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/cluster/node.h"
#include "scheduler/job/job_ref.h"
#include "scheduler/job/order.h"

namespace seraph {

struct RetryOptions {
  // The pause before the first repeat; it doubles from repeat to repeat.
  absl::Duration pause = absl::Milliseconds(50);
  absl::Duration pause_max = absl::Seconds(2);
  // After so long without a success an order is given up. It is longer than
  // the heartbeat timeout: the death of a node is noticed before.
  absl::Duration give_up = absl::Seconds(60);
};

// An order whose reply has come.
struct ClosedOrder {
  Order order;
  int repeats = 0;
  absl::Duration first_sent;
};

// Threads: one at a time.
class OrderBook {
 public:
  // `*last_id` is the number of the last order of the whole scheduler. It must
  // outlive this.
  OrderBook(JobRef job, const RetryOptions& options, OrderId* last_id);

  // Appends the order to `out`, and remembers it.
  OrderId Send(std::optional<Node> to, OrderBody body, Moment now, Orders* out);

  // The order with that number; nullopt if nobody waits for its reply (any
  // more). It is forgotten.
  std::optional<ClosedOrder> Close(OrderId id);

  // Sends it again after a pause, under a new number. False if it has been
  // tried for too long, `give_up` or as the options say: it is then forgotten.
  bool Retry(ClosedOrder order, Moment now) {
    return Retry(std::move(order), now, options_.give_up);
  }
  bool Retry(ClosedOrder order, Moment now, absl::Duration give_up);

  // Sends what is due.
  void Tick(Moment now, Orders* out);

  bool IsOpen(OrderId id) const { return open_.contains(id); }
  bool empty() const { return open_.empty() && paused_.empty(); }

  // Forgets everything, and returns the orders whose reply has not come.
  std::vector<Order> Release();

  // Forgets the orders to that incarnation of a node.
  void ForgetNode(const Node& node);

 private:
  const JobRef job_;
  const RetryOptions options_;
  OrderId* const last_id_;
  std::map<OrderId, ClosedOrder> open_;
  std::multimap<absl::Duration, ClosedOrder> paused_;  // By when to send.
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_ORDER_BOOK_H_
