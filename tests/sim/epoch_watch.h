// Sees from outside that a TableClient keeps to the epochs.
#ifndef SERAPH_TESTS_SIM_EPOCH_WATCH_H_
#define SERAPH_TESTS_SIM_EPOCH_WATCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "common/base/clock.h"
#include "proto/parameters.pb.h"
#include "worker/client/rank_request.h"
#include "worker/client/table_client.h"
#include "worker/client/table_router.h"

namespace seraph::testing {

// No part of a step is settled by an answer of an epoch that is older than one
// that the client had seen of the partition by then, in its placements or in an
// answer to what was out. It watches one client, by what goes in and comes out.
class EpochWatch {
 public:
  // The client's first placements, and later ones, before it takes them.
  void OnRouter(const TableRouter& router);
  // What a step begins with; parts that wait for a primary are not watched.
  void OnStart(uint64_t step, const TableClient::Output& output);
  // What leaves; a message may leave more than once.
  void OnSent(const TableClient::Outgoing& outgoing);
  // Before the client takes it.
  void OnReply(uint64_t message, const v1::ExchangeReply& reply);
  // A step has ended, well or not. How many of its parts have no other answer
  // than an old one.
  int OnEnd(uint64_t step);

  // Answers that were older than what had been seen.
  int old_answers() const { return old_answers_; }

 private:
  using Place = std::pair<uint32_t, uint32_t>;  // Table, partition.
  // Whether it is pushed, its clock, where, and the chunk or the pull's number.
  using Part = std::tuple<bool, Clock, Place, uint64_t>;
  enum class Answer { kNone, kOld, kCounts };
  struct Standing {
    uint64_t step = 0;
    uint64_t message = 0;  // The one that carries it; 0: one that has not left.
    uint64_t newest = 0;   // Of those that have carried it.
    Answer answer = Answer::kNone;
  };

  template <typename Visit>
  static void ForEachPart(const v1::ExchangeRequest& request, Visit visit);

  std::map<Place, PartitionPlacement> places_;
  std::map<Place, uint64_t> seen_;
  std::map<uint64_t, std::shared_ptr<const RankRequest>> requests_;
  std::map<Part, Standing> parts_;
  int old_answers_ = 0;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_EPOCH_WATCH_H_
