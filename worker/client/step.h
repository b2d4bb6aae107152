// What a rank asks of its job's tables.
#ifndef SERAPH_WORKER_CLIENT_STEP_H_
#define SERAPH_WORKER_CLIENT_STEP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/base/clock.h"
#include "common/base/float_buffer.h"
#include "common/base/key.h"
#include "proto/parameters.pb.h"
#include "worker/client/key_orders.h"
#include "worker/client/request_writer.h"
#include "worker/client/table_router.h"
#include "worker/client/told_lists.h"

namespace seraph {

// What a rank does to one table in a clock.
struct TablePush {
  absl::Span<const Key> keys;      // [n] original, strictly increasing.
  absl::Span<const float> values;  // [n * width].
  // Unless null: as long as it is kept, `values` stay what they are. Whoever
  // lets go of many values in this way spares a copy of them.
  std::shared_ptr<const void> owner;
};

struct EntryPush {
  Clock clock;
  bool ends_epoch = false;
  uint64_t examples = 0;
  v1::LedgerRecord ledger;
  // Functions that write, in this order, after the step: docs/functions.md.
  std::vector<v1::TableCall> calls;
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
  std::vector<FloatBuffer> rows;  // By table, [n * width]: of a pull.
};

// A step, and where its parts go.
struct RoutedStep {
  const Step* step = nullptr;
  std::optional<Route> push;
  std::optional<Route> pull;
  // The push's values by table, of those that travel as something else than
  // float32: PushEncoder.
  std::vector<std::string> encoded;
};

// Errors: OutOfRange for a key that its table cannot have.
absl::StatusOr<RoutedStep> RouteStep(const TableRouter& router,
                                     const Step& step, KeyOrders* orders);

// Writes the parts for a server, or those without one (kNoServer). An entry of
// a partition that is larger than `message_bytes` is cut into chunks, which
// `on_chunks` is told. Parts of pulls are numbered from `*last_pull` + 1. The
// keys of parts that have them by name alone come into `named`.
void WriteParts(
    const TableRouter& router, const RoutedStep& step, size_t server,
    size_t message_bytes, uint64_t* last_pull, ToldLists* lists,
    NamedKeys* named, RequestWriter* writer,
    absl::FunctionRef<void(uint32_t placement, size_t chunks)> on_chunks);

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_STEP_H_
