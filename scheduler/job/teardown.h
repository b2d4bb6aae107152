// Frees what a job holds on nodes.
#ifndef SERAPH_SCHEDULER_JOB_TEARDOWN_H_
#define SERAPH_SCHEDULER_JOB_TEARDOWN_H_

#include <map>
#include <string>
#include <vector>

#include "common/cluster/node.h"
#include "scheduler/job/job_ref.h"
#include "scheduler/job/order.h"
#include "scheduler/job/order_book.h"

namespace seraph {

// Tells every worker that got an order of the job to stop it, and every server
// to drop it, again and again until the node has answered or is gone.
//
// A node whose order to begin is still under way is told when that has been
// answered: overtaken by the order to stop, it would leave ranks or tables
// behind that nobody frees.
//
// Threads: one at a time.
class Teardown {
 public:
  // As OrderBook's. There is no giving up.
  Teardown(JobRef job, RetryOptions options, OrderId* last_id);

  // The node has got, or is about to get, an order of the job. May be repeated.
  // Of one name there may be several lives.
  void Add(const Node& node);

  // Begins. `open` are the orders to nodes that were not answered yet. Once.
  void Start(const std::vector<Order>& open, Moment now, Orders* out);

  // Takes the reply if it is to an order of the teardown, or to one of `open`.
  bool Take(const Reply& reply, Moment now, Orders* out);

  void ForgetNode(const Node& node);
  void Tick(Moment now, Orders* out) { book_.Tick(now, out); }

  // All are free: there is nothing left to do once it has started.
  bool done() const { return nodes_.empty(); }

  // Whether the node may still hold something of the job.
  bool Holds(const Node& node) const;

  // All that may, by incarnation.
  std::vector<Node> Holders() const;

 private:
  void Tell(const Node& node, Moment now, Orders* out);

  OrderBook book_;
  std::map<uint64_t, Node> nodes_;       // Not free yet, by incarnation.
  std::map<OrderId, Node> first_await_;  // Orders to begin, under way.
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_JOB_TEARDOWN_H_
