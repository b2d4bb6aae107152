// A measured client: a rank that pulls and pushes as fast as it is answered.
#ifndef SERAPH_CLIENT_BENCH_RANK_LOAD_H_
#define SERAPH_CLIENT_BENCH_RANK_LOAD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/base/interrupt.h"
#include "client/bench/bench_options.h"
#include "common/base/clock.h"
#include "common/base/key.h"
#include "common/cluster/nearest_address.h"
#include "common/time/clock.h"
#include "proto/parameters.pb.h"
#include "worker/client/table_client.h"
#include "worker/client/table_router.h"
#include "worker/service/link_cache.h"
#include "worker/train/mailbox.h"

namespace seraph {

struct LoadCounts {
  uint64_t requests = 0;  // Answered in full.
  uint64_t keys = 0;      // In them; once where a request pushes and pulls.
  absl::Duration time;    // From the first request to the last answer.
  std::vector<double> latencies_us;  // Of each request.
  // Of messages and answers, as protobuf counts them; 0 unless it was asked to
  // look.
  uint64_t request_bytes = 0;
  uint64_t reply_bytes = 0;
};

// Goes the way of a worker's rank (worker/train/rank_runner.h): a TableClient
// on a thread of its own makes messages, the links of a worker process carry
// them, answers come back through a mailbox. What differs is that nothing is
// computed, and that several requests are under way: those that push are
// entries of successive clocks, as with a pipeline.
//
// Threads: one at a time.
class RankLoad {
 public:
  struct Options {
    std::string job;
    uint32_t rank = 0;
    uint32_t width = 1;
    // How servers are reached: LinkCache::Options::here.
    Neighbourhood here;
    // Without a single answer for so long the load gives up.
    absl::Duration patience = absl::Seconds(30);
  };

  RankLoad(Options options, std::shared_ptr<const TableRouter> router);

  // Takes the rank over from whoever runs it.
  // Errors: what the servers say; DeadlineExceeded; Cancelled.
  absl::Status Begin(Interrupt* interrupt);

  // Whether to look at the sizes of messages from now on, which takes time.
  void CountBytes(bool count) { counts_bytes_ = count; }

  // The keys of request 0, 1, 2, ...; empty: there are no more.
  using NextKeys = std::function<absl::Span<const Key>(uint64_t request)>;

  // Sends requests of this kind until `duration` is over or there are no more
  // keys, `in_flight` of them at a time, and waits for the last answers. Pushed
  // values are random ones around 0.
  // Errors: what the servers say; DeadlineExceeded; Cancelled.
  absl::Status Run(BenchOperation operation, const NextKeys& keys,
                   uint32_t in_flight, absl::Duration duration,
                   Interrupt* interrupt, LoadCounts* counts);

 private:
  struct Event {
    uint64_t message = 0;
    absl::StatusOr<WithBulk<v1::ExchangeReply>> reply;
  };
  struct Open {
    absl::Duration begun;
    uint64_t keys = 0;
  };

  // An entry of the clock, which moves on.
  EntryPush NextEntry();
  absl::Status StartRequest(BenchOperation operation,
                            absl::Span<const Key> keys,
                            TableClient::Output* output);
  // Waits for an answer, or for the time to send something again.
  absl::Status Await(BenchOperation operation, LoadCounts* counts);
  void Send(const std::vector<TableClient::Outgoing>& outgoing,
            LoadCounts* counts);
  // Sends what waits for others to leave with them.
  void Flush();
  absl::Status TakeFinished(const std::vector<FinishedStep>& finished,
                            BenchOperation operation, LoadCounts* counts);

  const Options options_;
  const std::shared_ptr<const TableRouter> router_;
  const MonotonicClock& clock_ = *MonotonicClock::Real();
  std::shared_ptr<Mailbox<Event>> mailbox_ = std::make_shared<Mailbox<Event>>();
  LinkCache links_;
  std::map<std::string, std::shared_ptr<ServerLink>> open_links_;
  TableClient client_;
  bool counts_bytes_ = false;
  Clock clock_of_rank_;   // Of the next entry.
  absl::Duration heard_;  // When the last answer came.
  v1::LedgerRecord ledger_;
  // For as many keys as ever were pushed at once. Those that are out stay.
  std::shared_ptr<const std::vector<float>> values_;
  std::map<uint64_t, Open> open_;  // By step.
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_RANK_LOAD_H_
