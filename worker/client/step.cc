#include "worker/client/step.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "common/status/status_macros.h"
#include "common/wire/value_codec.h"
#include "common/wire/value_encoding.h"
#include "worker/client/row_bytes.h"

namespace seraph {
namespace {

template <typename Part>
void SetPlace(const PartitionPlacement& placement, Part* part) {
  part->set_table(placement.table);
  part->set_partition(placement.partition);
  part->set_epoch(placement.epoch);
}

// The rows of a table's push, in the order of its keys.
struct PushedRows {
  const char* rows = nullptr;
  std::shared_ptr<const void> owner;  // Null: they must be copied.
};

PushedRows RowsOf(const RoutedStep& step, uint32_t table) {
  if (table < step.encoded.size() && !step.encoded[table].empty()) {
    return {.rows = step.encoded[table].data(), .owner = nullptr};
  }
  const TablePush& push = step.step->entry->tables[table];
  return {.rows = reinterpret_cast<const char*>(push.values.data()),
          .owner = push.owner};
}

// Row origin[i] of `rows` for each i.
void CopyRows(const char* rows, absl::Span<const uint32_t> origin,
              size_t row_bytes, char* out) {
  WithRowBytes(row_bytes, [&](auto bytes) {
    for (const uint32_t row : origin) {
      std::memcpy(out, rows + row * bytes, bytes);
      out += bytes;
    }
  });
}

}  // namespace

absl::StatusOr<RoutedStep> RouteStep(const TableRouter& router,
                                     const Step& step, KeyOrders* orders) {
  RoutedStep routed{.step = &step};
  if (step.entry.has_value()) {
    std::vector<absl::Span<const Key>> keys(router.tables().size());
    for (size_t t = 0; t < step.entry->tables.size(); ++t) {
      keys[t] = step.entry->tables[t].keys;
    }
    SERAPH_ASSIGN_OR_RETURN(
        routed.push, router.Split(keys, /*all_partitions=*/true, orders));
  }
  if (step.pull.has_value()) {
    SERAPH_ASSIGN_OR_RETURN(
        routed.pull,
        router.Split(step.pull->keys, /*all_partitions=*/false, orders));
  }
  return routed;
}

void WriteParts(
    const TableRouter& router, const RoutedStep& step, size_t server,
    size_t message_bytes, uint64_t* last_pull, ToldLists* lists,
    NamedKeys* named, RequestWriter* writer,
    absl::FunctionRef<void(uint32_t placement, size_t chunks)> on_chunks) {
  const auto parts_of =
      [&](const std::optional<Route>& route) -> absl::Span<const RoutedPart> {
    if (!route.has_value()) return {};
    return server == TableRouter::kNoServer ? route->homeless
                                            : route->servers[server];
  };
  const auto row_bytes_of = [&](const RoutedPart& part) -> size_t {
    const TableSpec& spec =
        router.tables()[router.placements()[part.placement].table];
    return RowBytes(spec.transport, spec.width);
  };
  // Of values that have no place in a message yet.
  size_t bytes_left = 0;
  size_t with_keys = 0;
  for (const RoutedPart& part : parts_of(step.push)) {
    bytes_left += part.count * row_bytes_of(part);
    with_keys += part.count > 0;
  }
  writer->Expect(with_keys, parts_of(step.push).size() - with_keys);
  for (const RoutedPart& part : parts_of(step.push)) {
    const PartitionPlacement& placement = router.placements()[part.placement];
    if (part.count == 0) continue;
    const TableSpec& spec = router.tables()[placement.table];
    const size_t row_bytes = row_bytes_of(part);
    const size_t chunk_keys =
        std::max<size_t>(1, message_bytes / (sizeof(Key) + row_bytes));
    const size_t chunks =
        std::max<size_t>(1, (part.count + chunk_keys - 1) / chunk_keys);
    if (chunks > 1) on_chunks(part.placement, chunks);
    const RoutedTable& table = step.push->tables[placement.table];
    for (size_t chunk = 0; chunk < chunks; ++chunk) {
      const size_t first = part.first + chunk * chunk_keys;
      const size_t count =
          std::min(chunk_keys, part.first + part.count - first);
      v1::PushRequest* push =
          writer->Push(part.placement, count * (sizeof(Key) + row_bytes));
      v1::PushPart* out = push->add_parts();
      SetPlace(placement, out);
      lists->Write(part.placement, table.keys.subspan(first, count), out,
                   push->mutable_keys(), named);
      out->set_chunk(chunk);
      out->set_chunks(chunks);
      out->set_values(EncodingOf(spec.transport));
      const size_t bytes = count * row_bytes;
      bytes_left -= bytes;
      const size_t more =
          std::min(bytes_left, std::max(chunk_keys, count) * row_bytes - bytes);
      const PushedRows pushed = RowsOf(step, placement.table);
      if (table.origin.empty()) {
        writer->AddValues({pushed.rows + first * row_bytes, bytes},
                          pushed.owner, more);
      } else {
        CopyRows(pushed.rows, table.origin.subspan(first, count), row_bytes,
                 writer->AddValues(bytes, more));
      }
    }
  }

  for (const RoutedPart& part : parts_of(step.push)) {
    if (part.count > 0) continue;
    const PartitionPlacement& placement = router.placements()[part.placement];
    writer->PushEmpty(part.placement,
                      {placement.table, placement.partition, placement.epoch});
  }

  for (const RoutedPart& part : parts_of(step.pull)) {
    const PartitionPlacement& placement = router.placements()[part.placement];
    const TableSpec& spec = router.tables()[placement.table];
    const size_t row_bytes = RowBytes(spec.transport, spec.width);
    const size_t piece_keys = std::max<size_t>(1, message_bytes / row_bytes);
    const RoutedTable& table = step.pull->tables[placement.table];
    for (size_t done = 0; done < part.count; done += piece_keys) {
      const size_t first = part.first + done;
      const size_t count = std::min(piece_keys, part.count - done);
      v1::PullRequest* pull =
          writer->Pull({part.placement, placement.table, first, count},
                       count * std::max(row_bytes, sizeof(Key)));
      v1::PullPart* out = pull->add_parts();
      SetPlace(placement, out);
      out->set_number(++*last_pull);
      out->set_values(EncodingOf(spec.transport));
      lists->Write(part.placement, table.keys.subspan(first, count), out,
                   pull->mutable_keys(), named);
    }
  }
}

}  // namespace seraph
