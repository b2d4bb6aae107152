// The rows of a job's tables, as one rank sees them.
#ifndef SERAPH_WORKER_CLIENT_TABLE_CLIENT_H_
#define SERAPH_WORKER_CLIENT_TABLE_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/cluster/node.h"
#include "common/rpc/backoff.h"
#include "common/wire/bulk_split.h"
#include "common/wire/byte_slices.h"
#include "proto/parameters.pb.h"
#include "worker/client/key_orders.h"
#include "worker/client/push_encoder.h"
#include "worker/client/rank_request.h"
#include "worker/client/request_writer.h"
#include "worker/client/step.h"
#include "worker/client/table_router.h"
#include "worker/client/told_lists.h"

namespace seraph {

struct TableClientOptions {
  std::string job;
  uint64_t generation = 1;
  uint32_t rank = 0;
  uint32_t attempt = 1;
  RequestLimits limits;  // An entry above them goes in chunks.
  // ssp and asp: see PushEncoder.
  bool error_feedback = false;
  absl::Duration retry_backoff = absl::Milliseconds(20);
  absl::Duration retry_backoff_max = absl::Seconds(2);
  // What is unanswered for so long is sent again; then for twice as long, and
  // so on: a pull may have to wait long for other ranks, and every repeat of it
  // waits at the server beside it.
  absl::Duration lease = absl::Seconds(5);
  uint64_t seed = 1;  // Of the jitter.
  // Keys that come again go by name: of `job` and `generation` above.
  ToldLists::Options lists;
};

// Without IO, and with the time as an argument (of any monotonic clock): a step
// becomes messages, replies finish it. What is lost, refused for a passing
// reason, unanswered for a lease time, or for a partition that has moved, is
// sent again by the newest placements, with the same name and the same bytes,
// until it is answered; whoever stops the rank ends that. Each part of a
// message is settled by itself.
//
// A step ends at once with the first error that does not pass; see
// worker/client/refusal.h for those that mean that somebody else goes on.
//
// Threads: one at a time.
class TableClient {
 public:
  struct Outgoing {
    std::shared_ptr<const Node> server;
    uint64_t message = 0;
    // The number in it is of the stream, and set by whoever sends it.
    std::shared_ptr<const RankRequest> request;
  };
  // What came of a call.
  struct Output {
    std::vector<Outgoing> outgoing;      // To be sent, in order.
    std::vector<FinishedStep> finished;  // Each step once.
  };

  TableClient(TableClientOptions options,
              std::shared_ptr<const TableRouter> router);

  // Begins a step, and returns its number. Keys and values are copied into
  // the messages before this returns.
  // Errors: OutOfRange for a key that its table cannot have.
  absl::StatusOr<uint64_t> Start(const Step& step, absl::Duration now,
                                 Output* output);

  // The reply to a message, or why there is none: Unavailable if its stream
  // broke. Replies to messages that are no longer out are ignored, and so are
  // answers of an epoch below one that was seen of the partition.
  void OnReply(uint64_t message,
               absl::StatusOr<WithBulk<v1::ExchangeReply>> reply,
               absl::Duration now, Output* output);

  // Newer placements of the same tables; older ones are ignored. What is out
  // for partitions whose epoch or primary changed is sent anew, and that of
  // partitions without a primary waits for the next ones.
  void UpdateRouter(std::shared_ptr<const TableRouter> router,
                    absl::Duration now, Output* output);

  // From now on only entries count, of which no partition is to be left without
  // what others have: pulls are given up, and entries that travel with one,
  // whose answer waits for other ranks, are sent alone. Steps of pulls end
  // without their rows.
  void KeepEntriesAlone(absl::Duration now, Output* output);

  // Nothing is out.
  bool idle() const { return messages_.empty(); }

  // Sends what is due again.
  void Tick(absl::Duration now, Output* output);
  // When that is the case next; infinite while nothing is out.
  absl::Duration NextTick() const;

  // Pushed values that were beyond the range of what they travel as.
  uint64_t saturated() const { return encoder_.saturated(); }

 private:
  struct Part {
    uint32_t placement = 0;
    bool live = true;  // Neither settled nor taken over by another message.
    // A later copy of it waits at the server: there is nothing to do.
    bool replaced = false;
    // Once the server misses an earlier entry although all of them were
    // acknowledged: how many copies that left before may still come back and
    // say so. Below 0: it has not been so.
    int stale_gaps = -1;
  };
  struct Message {
    uint64_t step = 0;
    // Null: its partitions have no primary. It waits to be cut anew.
    std::shared_ptr<const Node> server;
    std::shared_ptr<const RankRequest> request;
    // Of the push, the empty ones last, then of the pull.
    std::vector<Part> parts;
    std::vector<PulledPart> pulled;  // By part of the pull.
    Backoff backoff;
    bool misses_list = false;  // Its last answer was that of a list.
    int copies = 0;            // That were sent.
    absl::Duration patience;   // Until it is sent again without an answer.
    absl::Duration due;        // When it is sent (again).

    size_t pushed() const { return parts.size() - pulled.size(); }
  };
  struct OpenStep {
    v1::Clock pull_clock;
    size_t parts_out = 0;
    std::vector<std::shared_ptr<const KeyOrder>> orders;  // As RoutedTable's.
    NamedKeys named;  // Of parts that were sent without them.
    FinishedStep result;
  };
  // A part, as one of a message that may be gone.
  struct Chunk {
    std::shared_ptr<const RankRequest> request;
    size_t part = 0;
  };
  // The pieces of one entry in one partition. They are acknowledged when all of
  // them are there; whoever is primary next has none of them.
  struct ChunkedEntry {
    size_t missing = 0;
    std::vector<Chunk> settled;
  };
  using Messages = std::map<uint64_t, Message>;

  RequestWriter WriterFor(size_t server, RequestWriter::WriteEntry entry,
                          const OpenStep& step) const;
  // Makes messages of what a writer has written, and sends them `delay` from
  // now, if they have a server.
  void AddMessages(uint64_t step, size_t server, RequestWriter* writer,
                   const Message* successor_of, absl::Duration delay,
                   absl::Duration now, Output* output);
  void SetDue(absl::Duration due, Message* message);
  void Emit(uint64_t number, Message* message, absl::Duration now,
            Output* output);
  // Moves the live parts that `wanted` names (all if null) into new messages
  // by the newest placements.
  void CutAnew(Message* message, const std::vector<bool>* changed,
               absl::Duration delay, absl::Duration now, Output* output);
  void ReviveChunks(const std::vector<bool>& changed, absl::Duration now,
                    Output* output);

  // Judges the answer to part `index` of the message: settled, or what is to
  // be done. `delay` grows to what the server asks for.
  absl::Status JudgePart(Message* message, size_t index,
                         const v1::PartResult& result, absl::Duration* delay);
  void Settle(Message* message, size_t index, OpenStep* step);
  // Calls `visit` with part `index`, a v1::PushPart or v1::PullPart, unless it
  // is an empty one.
  template <typename Visit>
  static void VisitPart(const Message& message, size_t index, Visit visit);
  absl::Status TakeReply(Message* message,
                         const WithBulk<v1::ExchangeReply>& reply,
                         OpenStep* step, absl::Duration* delay);
  void TakeRows(const PulledPart& part, SliceReader* from,
                OpenStep* step) const;
  bool EarlierEntryIsOut(const Message& message, size_t index) const;
  void FinishStep(uint64_t step, Output* output);
  size_t WidthOf(uint32_t table) const {
    return router_->tables()[table].width;
  }

  // Bytes of a row as it is pulled.
  size_t RowBytesOf(uint32_t table) const;

  const TableClientOptions options_;
  PushEncoder encoder_;
  std::shared_ptr<const TableRouter> router_;
  KeyOrders orders_;
  ToldLists lists_;
  std::vector<uint64_t> seen_epochs_;  // The highest, by placement.
  uint64_t last_step_ = 0;
  uint64_t last_pull_ = 0;  // Part of one.
  uint64_t last_message_ = 0;
  // Nothing is due before.
  absl::Duration next_due_ = absl::InfiniteDuration();
  std::map<uint64_t, OpenStep> steps_;
  Messages messages_;
  std::map<std::pair<uint64_t, uint32_t>, ChunkedEntry> chunked_;  // Step,
                                                                   // placement.
};

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_TABLE_CLIENT_H_
