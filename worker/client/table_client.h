// The rows of a job's tables, as one rank sees them.
#ifndef SERAPH_WORKER_CLIENT_TABLE_CLIENT_H_
#define SERAPH_WORKER_CLIENT_TABLE_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/clock.h"
#include "common/base/key.h"
#include "common/rpc/backoff.h"
#include "proto/parameters.pb.h"
#include "worker/client/table_router.h"

namespace seraph {

// What a rank does to one table in a clock.
struct TablePush {
  absl::Span<const Key> keys;      // [n] original, strictly increasing.
  absl::Span<const float> values;  // [n * width].
};

struct EntryPush {
  Clock clock;
  bool ends_epoch = false;
  uint64_t examples = 0;
  v1::LedgerRecord ledger;
  std::vector<TablePush> tables;  // By table; empty: no keys anywhere.
};

struct ClockPull {
  Clock clock;
  std::vector<absl::Span<const Key>> keys;  // By table; as in TablePush.
};

// One request to all servers that it concerns: an entry, a pull, or both.
struct Step {
  std::optional<EntryPush> entry;
  std::optional<ClockPull> pull;
};

struct FinishedStep {
  uint64_t step = 0;  // As Start returned.
  // OK: every partition has acknowledged the entry, and all rows are there.
  absl::Status status;
  std::vector<std::vector<float>> rows;  // By table, [n * width]: of a pull.
};

struct TableClientOptions {
  std::string job;
  uint64_t generation = 1;
  uint32_t rank = 0;
  uint32_t attempt = 1;
  // A request is cut so that no message carries more keys and values than
  // this; an entry goes in chunks then.
  size_t max_message_bytes = size_t{16} << 20;
  absl::Duration retry_backoff = absl::Milliseconds(20);
  absl::Duration retry_backoff_max = absl::Seconds(2);
  uint64_t seed = 1;  // Of the jitter.
};

// Without IO: a step becomes messages, replies finish it. A message that was
// lost, or that the server asks to send again, is sent again as it was, with
// the same name, until it is answered; whoever stops the rank ends that.
//
// Threads: one at a time.
class TableClient {
 public:
  struct Outgoing {
    size_t server = 0;  // Index into the router's servers.
    uint64_t message = 0;
    // The number in it is of the stream, and set by whoever sends it.
    std::shared_ptr<const v1::ExchangeRequest> request;
    absl::Duration delay;  // Before sending.
  };

  // `router` must outlive this.
  TableClient(TableClientOptions options, const TableRouter* router);

  // Begins a step, and returns its number. Keys and values are copied into
  // the messages before this returns.
  // Errors: OutOfRange for a key that its table cannot have.
  absl::StatusOr<uint64_t> Start(const Step& step,
                                 std::vector<Outgoing>* outgoing);

  // The reply to a message, or why there is none: Unavailable if its stream
  // broke. Replies to messages that are no longer out are ignored. Returns the
  // step, if this was its last reply.
  std::optional<FinishedStep> OnReply(uint64_t message,
                                      absl::StatusOr<v1::ExchangeReply> reply,
                                      std::vector<Outgoing>* outgoing);

 private:
  // Where the values of a pulled part go.
  struct PulledPart {
    uint32_t table = 0;
    size_t first = 0;  // Of the routed keys.
    size_t count = 0;
  };

  struct Message {
    uint64_t step = 0;
    size_t server = 0;
    std::shared_ptr<const v1::ExchangeRequest> request;
    std::vector<PulledPart> pulled;
    Backoff backoff;
    // The server missed an earlier entry although none was out any more.
    bool found_gap_alone = false;
  };

  struct OpenStep {
    size_t messages_out = 0;
    std::vector<std::vector<uint32_t>> origin;  // By table, of a pull.
    FinishedStep result;
  };

  void FillHeader(size_t server, v1::RequestHeader* header) const;
  void AddMessages(uint64_t step, const Step& content, size_t server,
                   const Route* push_route, const Route* pull_route,
                   std::vector<Outgoing>* outgoing);
  void Send(uint64_t step, size_t server, v1::ExchangeRequest request,
            std::vector<PulledPart> pulled, std::vector<Outgoing>* outgoing);
  // With a pipeline, a later entry may overtake one that was lost: it is sent
  // again until the earlier one is there.
  bool EarlierEntryIsOut(const Message& message) const;
  // What became of the push and the pull in a reply: OK, Unavailable to send
  // again (`delay` says when, if the server did; `gap` that an earlier entry is
  // missing there), or an error.
  absl::Status Judge(const Message& message, const v1::ExchangeReply& reply,
                     absl::Duration* delay, bool* gap) const;
  absl::Status TakeRows(const Message& message, const v1::PullReply& reply,
                        OpenStep* step) const;

  const TableClientOptions options_;
  const TableRouter& router_;
  uint64_t last_step_ = 0;
  uint64_t last_message_ = 0;
  std::map<uint64_t, OpenStep> steps_;
  std::map<uint64_t, Message> messages_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_TABLE_CLIENT_H_
