#include "worker/client/table_client.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

void AppendKeys(absl::Span<const Key> keys, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(keys.data()),
                keys.size() * sizeof(Key));
}

void EncodeClock(Clock clock, v1::Clock* message) {
  message->set_epoch(clock.epoch);
  message->set_step(clock.step);
}

// Sets a part's keys: as a range where they are one, else as bytes.
template <typename Part>
void SetKeys(absl::Span<const Key> keys, Part* part, std::string* bytes) {
  part->set_key_count(keys.size());
  if (!keys.empty() && keys.back() - keys.front() == keys.size() - 1) {
    part->set_encoding(v1::KEY_ENCODING_RANGE);
    part->set_first_key(keys.front());
  } else {
    part->set_encoding(v1::KEY_ENCODING_RAW64);
    AppendKeys(keys, bytes);
  }
}

template <typename Part>
void SetPlace(const PartitionPlacement& placement, Part* part) {
  part->set_table(placement.table);
  part->set_partition(placement.partition);
  part->set_epoch(placement.epoch);
}

// The error of a part, for a rank: it ends the rank.
absl::Status PartError(const v1::PartResult& result) {
  switch (result.code()) {
    case v1::PART_OK:
      return absl::OkStatus();
    case v1::PART_RETRY_AFTER:
      return WithRetryAfter(absl::UnavailableError(result.message()),
                            absl::Milliseconds(result.retry_after_ms()));
    case v1::PART_STALE_ATTEMPT:
      return WithReason(absl::AbortedError(result.message()), "STALE_ATTEMPT");
    case v1::PART_FAILED:
      return WithReason(absl::InternalError(result.message()),
                        "PARTITION_FAILED");
    case v1::PART_INVALID:
      return absl::InvalidArgumentError(result.message());
    default:
      return absl::FailedPreconditionError(result.message());
  }
}

}  // namespace

TableClient::TableClient(TableClientOptions options, const TableRouter* router)
    : options_(std::move(options)), router_(*router) {}

void TableClient::FillHeader(size_t server, v1::RequestHeader* header) const {
  header->mutable_job()->set_id(options_.job);
  header->mutable_job()->set_generation(options_.generation);
  header->set_incarnation(router_.servers()[server].incarnation);
  header->mutable_rank()->set_rank(options_.rank);
  header->mutable_rank()->set_attempt(options_.attempt);
}

absl::StatusOr<uint64_t> TableClient::Start(const Step& step,
                                            std::vector<Outgoing>* outgoing) {
  std::optional<Route> push_route, pull_route;
  if (step.entry.has_value()) {
    std::vector<absl::Span<const Key>> keys(router_.tables().size());
    for (size_t t = 0; t < step.entry->tables.size(); ++t) {
      keys[t] = step.entry->tables[t].keys;
    }
    SERAPH_ASSIGN_OR_RETURN(push_route,
                            router_.Split(keys, /*all_partitions=*/true));
  }
  if (step.pull.has_value()) {
    SERAPH_ASSIGN_OR_RETURN(
        pull_route, router_.Split(step.pull->keys, /*all_partitions=*/false));
  }

  const uint64_t number = ++last_step_;
  OpenStep& open = steps_[number];
  open.result.step = number;
  for (size_t t = 0; pull_route.has_value() && t < router_.tables().size();
       ++t) {
    open.result.rows.emplace_back(step.pull->keys[t].size() *
                                  router_.tables()[t].width);
    open.origin.push_back(std::move(pull_route->tables[t].origin));
  }
  for (size_t server = 0; server < router_.servers().size(); ++server) {
    AddMessages(number, step, server,
                push_route.has_value() ? &*push_route : nullptr,
                pull_route.has_value() ? &*pull_route : nullptr, outgoing);
  }
  return number;
}

void TableClient::AddMessages(uint64_t step, const Step& content, size_t server,
                              const Route* push_route, const Route* pull_route,
                              std::vector<Outgoing>* outgoing) {
  static const std::vector<RoutedPart> kNone;
  const auto& pushes =
      push_route == nullptr ? kNone : push_route->servers[server];
  const auto& pulls =
      pull_route == nullptr ? kNone : pull_route->servers[server];
  if (pushes.empty() && pulls.empty()) return;

  v1::ExchangeRequest request;
  std::vector<PulledPart> pulled;
  size_t bytes = 0;
  const auto flush = [&] {
    if (request.has_push_pull()) {
      // One of the two alone travels as itself.
      v1::PushPullRequest both = std::move(*request.mutable_push_pull());
      if (both.push().parts().empty()) {
        *request.mutable_pull() = std::move(*both.mutable_pull());
      } else if (both.pull().parts().empty()) {
        *request.mutable_push() = std::move(*both.mutable_push());
      } else {
        *request.mutable_push_pull() = std::move(both);
      }
      Send(step, server, std::move(request), std::move(pulled), outgoing);
    }
    request = v1::ExchangeRequest();
    pulled.clear();
    bytes = 0;
  };
  const auto make_room = [&](size_t more) {
    if (bytes > 0 && bytes + more > options_.max_message_bytes) flush();
    bytes += more;
    return request.mutable_push_pull();
  };

  for (const RoutedPart& part : pushes) {
    const PartitionPlacement& placement = router_.placements()[part.placement];
    const size_t width = router_.tables()[placement.table].width;
    const size_t row_bytes = sizeof(Key) + width * sizeof(float);
    const size_t chunk_keys =
        std::max<size_t>(1, options_.max_message_bytes / row_bytes);
    const size_t chunks =
        std::max<size_t>(1, (part.count + chunk_keys - 1) / chunk_keys);
    const RoutedTable& table = push_route->tables[placement.table];
    for (size_t chunk = 0; chunk < chunks; ++chunk) {
      const size_t first = part.first + chunk * chunk_keys;
      const size_t count =
          std::min(chunk_keys, part.first + part.count - first);
      v1::PushRequest* push = make_room(count * row_bytes)->mutable_push();
      if (push->parts().empty()) {
        FillHeader(server, push->mutable_header());
        EncodeClock(content.entry->clock, push->mutable_clock());
        push->set_ends_epoch(content.entry->ends_epoch);
        push->set_examples(content.entry->examples);
        *push->mutable_ledger() = content.entry->ledger;
      }
      v1::PushPart* out = push->add_parts();
      SetPlace(placement, out);
      SetKeys(table.keys.subspan(first, count), out, push->mutable_keys());
      out->set_chunk(chunk);
      out->set_chunks(chunks);
      if (count == 0) continue;
      const float* values =
          content.entry->tables[placement.table].values.data();
      if (table.origin.empty()) {
        push->mutable_values()->append(
            reinterpret_cast<const char*>(values + first * width),
            count * width * sizeof(float));
      } else {
        for (size_t i = first; i < first + count; ++i) {
          push->mutable_values()->append(
              reinterpret_cast<const char*>(values + table.origin[i] * width),
              width * sizeof(float));
        }
      }
    }
  }

  for (const RoutedPart& part : pulls) {
    const PartitionPlacement& placement = router_.placements()[part.placement];
    const size_t row_bytes =
        router_.tables()[placement.table].width * sizeof(float);
    const size_t piece_keys =
        std::max<size_t>(1, options_.max_message_bytes / row_bytes);
    const RoutedTable& table = pull_route->tables[placement.table];
    for (size_t done = 0; done < part.count; done += piece_keys) {
      const size_t first = part.first + done;
      const size_t count = std::min(piece_keys, part.count - done);
      v1::PullRequest* pull =
          make_room(count * std::max(row_bytes, sizeof(Key)))->mutable_pull();
      if (pull->parts().empty()) {
        FillHeader(server, pull->mutable_header());
        EncodeClock(content.pull->clock, pull->mutable_clock());
      }
      v1::PullPart* out = pull->add_parts();
      SetPlace(placement, out);
      SetKeys(table.keys.subspan(first, count), out, pull->mutable_keys());
      pulled.push_back({placement.table, first, count});
    }
  }
  flush();
}

void TableClient::Send(uint64_t step, size_t server,
                       v1::ExchangeRequest request,
                       std::vector<PulledPart> pulled,
                       std::vector<Outgoing>* outgoing) {
  const uint64_t number = ++last_message_;
  const auto shared =
      std::make_shared<const v1::ExchangeRequest>(std::move(request));
  messages_.emplace(number,
                    Message{.step = step,
                            .server = server,
                            .request = shared,
                            .pulled = std::move(pulled),
                            .backoff = Backoff(options_.retry_backoff,
                                               options_.retry_backoff_max,
                                               options_.seed + number)});
  ++steps_[step].messages_out;
  outgoing->push_back({.server = server,
                       .message = number,
                       .request = shared,
                       .delay = absl::ZeroDuration()});
}

std::optional<FinishedStep> TableClient::OnReply(
    uint64_t number, absl::StatusOr<v1::ExchangeReply> reply,
    std::vector<Outgoing>* outgoing) {
  const auto found = messages_.find(number);
  if (found == messages_.end()) return std::nullopt;
  Message& message = found->second;
  OpenStep& step = steps_.at(message.step);

  absl::Duration delay = absl::ZeroDuration();
  bool gap = false;
  absl::Status status =
      reply.ok() ? Judge(message, *reply, &delay, &gap) : reply.status();
  if (IsTransient(status) && ReasonOf(status) != "STALE_ATTEMPT") {
    message.found_gap_alone = gap && !EarlierEntryIsOut(message);
    outgoing->push_back({.server = message.server,
                         .message = number,
                         .request = message.request,
                         .delay = std::max(delay, message.backoff.Next())});
    return std::nullopt;
  }
  if (status.ok()) {
    const v1::PullReply& pull =
        reply->has_push_pull() ? reply->push_pull().pull() : reply->pull();
    status = TakeRows(message, pull, &step);
  }
  step.result.status.Update(status);
  const auto open = steps_.find(message.step);
  messages_.erase(found);
  if (--step.messages_out > 0) return std::nullopt;
  FinishedStep finished = std::move(step.result);
  steps_.erase(open);
  return finished;
}

bool TableClient::EarlierEntryIsOut(const Message& message) const {
  const auto clock_of = [](const Message& of) -> std::optional<Clock> {
    const v1::ExchangeRequest& request = *of.request;
    const v1::PushRequest& push =
        request.has_push_pull() ? request.push_pull().push() : request.push();
    if (push.parts().empty()) return std::nullopt;
    return Clock{push.clock().epoch(), push.clock().step()};
  };
  const std::optional<Clock> clock = clock_of(message);
  for (const auto& [number, other] : messages_) {
    const std::optional<Clock> earlier = clock_of(other);
    if (other.server == message.server && earlier.has_value() &&
        earlier < clock) {
      return true;
    }
  }
  return false;
}

absl::Status TableClient::Judge(const Message& message,
                                const v1::ExchangeReply& reply,
                                absl::Duration* delay, bool* gap) const {
  if (reply.error_code() != 0) {
    return absl::Status(static_cast<absl::StatusCode>(reply.error_code()),
                        reply.error_message());
  }
  absl::Status worst;
  const auto look_at = [&](const auto& results, int parts) {
    if (results.size() != parts) {
      worst.Update(absl::InternalError(
          absl::StrCat("server ", router_.servers()[message.server].name,
                       " answered ", results.size(), " of ", parts, " parts")));
    }
    for (const v1::PartResult& result : results) {
      absl::Status status = PartError(result);
      if (status.ok()) continue;
      if (result.code() == v1::PART_EXPECTED_CLOCK) {
        *gap = true;
        // It overtook the entry before it. Once that is acknowledged there is
        // no reason left for a gap: the next time it is an error.
        if (EarlierEntryIsOut(message) || !message.found_gap_alone) {
          status = absl::UnavailableError(result.message());
        }
      }
      if (const auto after = RetryAfterOf(status); after.has_value()) {
        *delay = std::max(*delay, *after);
      }
      // What ends the rank counts more than what can be sent again.
      if (worst.ok() || (IsTransient(worst) && !IsTransient(status))) {
        worst = status;
      }
    }
  };
  const v1::ExchangeRequest& request = *message.request;
  switch (request.body_case()) {
    case v1::ExchangeRequest::kPush:
      look_at(reply.push().results(), request.push().parts_size());
      break;
    case v1::ExchangeRequest::kPull:
      look_at(reply.pull().results(), request.pull().parts_size());
      break;
    case v1::ExchangeRequest::kPushPull:
      look_at(reply.push_pull().push().results(),
              request.push_pull().push().parts_size());
      look_at(reply.push_pull().pull().results(),
              request.push_pull().pull().parts_size());
      break;
    case v1::ExchangeRequest::BODY_NOT_SET:
      break;
  }
  return worst;
}

absl::Status TableClient::TakeRows(const Message& message,
                                   const v1::PullReply& reply,
                                   OpenStep* step) const {
  size_t expected = 0;
  for (const PulledPart& part : message.pulled) {
    expected += part.count * router_.tables()[part.table].width * sizeof(float);
  }
  if (reply.values().size() != expected) {
    return absl::InternalError(absl::StrCat(
        "server ", router_.servers()[message.server].name, " sent ",
        reply.values().size(), " bytes of values, not ", expected));
  }
  const char* from = reply.values().data();
  for (const PulledPart& part : message.pulled) {
    const size_t width = router_.tables()[part.table].width;
    float* rows = step->result.rows[part.table].data();
    const std::vector<uint32_t>& origin = step->origin[part.table];
    if (origin.empty()) {
      std::memcpy(rows + part.first * width, from,
                  part.count * width * sizeof(float));
      from += part.count * width * sizeof(float);
    } else {
      for (size_t i = part.first; i < part.first + part.count; ++i) {
        std::memcpy(rows + origin[i] * width, from, width * sizeof(float));
        from += width * sizeof(float);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace seraph
