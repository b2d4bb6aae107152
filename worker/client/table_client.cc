#include "worker/client/table_client.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/wire/exchange_bulk.h"
#include "common/wire/push_parts.h"
#include "common/wire/slice_values.h"
#include "common/wire/value_codec.h"
#include "worker/client/refusal.h"
#include "worker/client/row_bytes.h"

namespace seraph {
namespace {

// A repeat that nobody answers comes at least so often, in leases.
constexpr int kMostPatience = 16;

void EncodeClock(Clock clock, v1::Clock* message) {
  message->set_epoch(clock.epoch);
  message->set_step(clock.step);
}

Clock DecodeClock(const v1::Clock& message) {
  return {message.epoch(), message.step()};
}

bool SamePlace(const PartitionPlacement& a, const PartitionPlacement& b) {
  return a.epoch == b.epoch && a.primary.name == b.primary.name &&
         a.primary.incarnation == b.primary.incarnation;
}

ToldLists::Options ListsOf(const TableClientOptions& options) {
  ToldLists::Options lists = options.lists;
  lists.job = options.job;
  lists.generation = options.generation;
  return lists;
}

}  // namespace

TableClient::TableClient(TableClientOptions options,
                         std::shared_ptr<const TableRouter> router)
    : options_(std::move(options)),
      encoder_(router->tables(), options_.rank, options_.error_feedback),
      router_(std::move(router)),
      lists_(ListsOf(options_)) {
  for (const PartitionPlacement& placement : router_->placements()) {
    lists_.Place(seen_epochs_.size(), placement.primary);
    seen_epochs_.push_back(placement.epoch);
  }
}

// Cutting
// ----------------------------------------------------------------------

RequestWriter TableClient::WriterFor(size_t server,
                                     RequestWriter::WriteEntry entry,
                                     const OpenStep& step) const {
  return RequestWriter(
      options_.limits,
      {.job = options_.job,
       .generation = options_.generation,
       .rank = options_.rank,
       .attempt = options_.attempt,
       .incarnation = server == TableRouter::kNoServer
                          ? 0
                          : router_->servers()[server].incarnation},
      entry, step.pull_clock);
}

absl::StatusOr<uint64_t> TableClient::Start(const Step& step,
                                            absl::Duration now,
                                            Output* output) {
  SERAPH_ASSIGN_OR_RETURN(RoutedStep routed,
                          RouteStep(*router_, step, &orders_));
  if (step.entry.has_value()) routed.encoded = encoder_.Encode(*step.entry);
  const uint64_t number = ++last_step_;
  OpenStep& open = steps_[number];
  open.result.step = number;
  const auto write_entry = [&step](v1::PushRequest* push) {
    EncodeClock(step.entry->clock, push->mutable_clock());
    push->set_ends_epoch(step.entry->ends_epoch);
    push->set_examples(step.entry->examples);
    *push->mutable_ledger() = step.entry->ledger;
    push->mutable_calls()->Assign(step.entry->calls.begin(),
                                  step.entry->calls.end());
  };
  if (step.pull.has_value()) {
    EncodeClock(step.pull->clock, &open.pull_clock);
    for (size_t t = 0; t < router_->tables().size(); ++t) {
      open.result.rows.emplace_back(step.pull->keys[t].size() * WidthOf(t));
    }
  }
  const auto cut = [&](size_t server) {
    RequestWriter writer = WriterFor(server, write_entry, open);
    WriteParts(*router_, routed, server, options_.limits.message_bytes,
               &last_pull_, &lists_, &open.named, &writer,
               [&](uint32_t placement, size_t chunks) {
                 chunked_[{number, placement}].missing = chunks;
               });
    AddMessages(number, server, &writer, nullptr, absl::ZeroDuration(), now,
                output);
  };
  for (size_t server = 0; server < router_->servers().size(); ++server) {
    cut(server);
  }
  cut(TableRouter::kNoServer);
  for (size_t t = 0; step.pull.has_value() && t < router_->tables().size();
       ++t) {
    open.orders.push_back(std::move(routed.pull->tables[t].order));
  }
  if (open.parts_out == 0) FinishStep(number, output);
  return number;
}

void TableClient::AddMessages(uint64_t step, size_t server,
                              RequestWriter* writer,
                              const Message* successor_of, absl::Duration delay,
                              absl::Duration now, Output* output) {
  OpenStep& open = steps_.at(step);
  for (CutRequest& cut : writer->Finish()) {
    const uint64_t number = ++last_message_;
    Message message{
        .step = step,
        .server = nullptr,
        .request = std::make_shared<const RankRequest>(std::move(cut.request)),
        .parts = {},
        .pulled = std::move(cut.pulled),
        .backoff = successor_of != nullptr ? successor_of->backoff
                                           : Backoff(options_.retry_backoff,
                                                     options_.retry_backoff_max,
                                                     options_.seed + number),
        .patience = options_.lease,
        .due = absl::InfiniteDuration()};
    message.parts.reserve(cut.pushed.size() + message.pulled.size());
    for (uint32_t placement : cut.pushed) message.parts.push_back({placement});
    for (const PulledPart& part : message.pulled) {
      message.parts.push_back({part.placement});
    }
    open.parts_out += message.parts.size();
    Message& added =
        messages_.emplace(number, std::move(message)).first->second;
    if (server == TableRouter::kNoServer) continue;
    added.server =
        std::shared_ptr<const Node>(router_, &router_->servers()[server]);
    if (delay > absl::ZeroDuration()) {
      SetDue(now + delay, &added);
    } else {
      Emit(number, &added, now, output);
    }
  }
}

void TableClient::SetDue(absl::Duration due, Message* message) {
  message->due = due;
  next_due_ = std::min(next_due_, due);
}

void TableClient::Emit(uint64_t number, Message* message, absl::Duration now,
                       Output* output) {
  ++message->copies;
  SetDue(now + message->patience, message);
  message->patience =
      std::min(message->patience * 2, options_.lease * kMostPatience);
  output->outgoing.push_back({.server = message->server,
                              .message = number,
                              .request = message->request});
}

void TableClient::CutAnew(Message* message, const std::vector<bool>* changed,
                          absl::Duration delay, absl::Duration now,
                          Output* output) {
  OpenStep& step = steps_.at(message->step);
  const auto copy_entry = [message](v1::PushRequest* push) {
    CopyEntry(*PushOf(message->request->message), push);
  };
  std::map<size_t, RequestWriter> writers;
  const auto take = [&](Part* part) -> RequestWriter* {
    if (!part->live) return nullptr;
    if (changed != nullptr && !(*changed)[part->placement]) return nullptr;
    part->live = false;
    --step.parts_out;
    const size_t server = router_->ServerOf(part->placement);
    auto found = writers.find(server);
    if (found == writers.end()) {
      found =
          writers.emplace(server, WriterFor(server, copy_entry, step)).first;
    }
    return &found->second;
  };
  const size_t pushed = message->pushed();
  if (const v1::PushRequest* push = PushOf(message->request->message)) {
    ForEachPart(
        *message->request, [&](uint32_t table) { return WidthOf(table); },
        [&](size_t i, const PartBytes<v1::PushPart>& bytes) {
          RequestWriter* writer = take(&message->parts[i]);
          if (writer == nullptr) return;
          const uint32_t place = message->parts[i].placement;
          v1::PushRequest* out =
              writer->Push(place, bytes.part->key_count() * sizeof(Key) +
                                      bytes.values.size());
          v1::PushPart* part = out->add_parts();
          *part = *bytes.part;
          part->set_epoch(router_->placements()[place].epoch);
          ToldLists::WriteAnew(place, bytes.keys, step.named, part,
                               out->mutable_keys());
          writer->AddValues(bytes.values, bytes.owner);
        });
    for (size_t i = 0; i < EmptyPartsOf(*push); ++i) {
      Part& part = message->parts[push->parts_size() + i];
      RequestWriter* writer = take(&part);
      if (writer == nullptr) continue;
      EmptyPart empty = EmptyPartAt(*push, i);
      empty.epoch = router_->placements()[part.placement].epoch;
      writer->PushEmpty(part.placement, empty);
    }
  }
  // Of a chunk that is revived the pull beside it is none of the message.
  if (!message->pulled.empty()) {
    const v1::PullRequest& pull = *PullOf(message->request->message);
    ForEachPart(pull, [&](size_t i, const PartBytes<v1::PullPart>& bytes) {
      RequestWriter* writer = take(&message->parts[pushed + i]);
      if (writer == nullptr) return;
      const PulledPart& where = message->pulled[i];
      v1::PullRequest* out = writer->Pull(
          where, where.count * std::max(WidthOf(where.table) * sizeof(float),
                                        sizeof(Key)));
      v1::PullPart* part = out->add_parts();
      *part = *bytes.part;
      part->set_epoch(router_->placements()[where.placement].epoch);
      ToldLists::WriteAnew(where.placement, bytes.keys, step.named, part,
                           out->mutable_keys());
    });
  }
  for (auto& [server, writer] : writers) {
    AddMessages(message->step, server, &writer,
                changed == nullptr ? message : nullptr, delay, now, output);
  }
}

// Placements
// -------------------------------------------------------------------

void TableClient::UpdateRouter(std::shared_ptr<const TableRouter> router,
                               absl::Duration now, Output* output) {
  if (router->version() <= router_->version()) return;
  const std::vector<PartitionPlacement>& before = router_->placements();
  std::vector<bool> changed(before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    const PartitionPlacement& after = router->placements()[i];
    changed[i] = !SamePlace(before[i], after);
    seen_epochs_[i] = std::max(seen_epochs_[i], after.epoch);
  }
  lists_.Forget(changed);
  for (size_t i = 0; i < before.size(); ++i) {
    if (changed[i]) lists_.Place(i, router->placements()[i].primary);
  }
  router_ = std::move(router);
  const uint64_t last_before = last_message_;
  ReviveChunks(changed, now, output);
  for (auto it = messages_.begin();
       it != messages_.end() && it->first <= last_before;) {
    Message& message = it->second;
    CutAnew(&message, &changed, absl::ZeroDuration(), now, output);
    const bool is_live =
        std::any_of(message.parts.begin(), message.parts.end(),
                    [](const Part& part) { return part.live; });
    it = is_live ? std::next(it) : messages_.erase(it);
  }
}

void TableClient::ReviveChunks(const std::vector<bool>& changed,
                               absl::Duration now, Output* output) {
  for (auto& [key, entry] : chunked_) {
    const auto& [step, placement] = key;
    if (!changed[placement] || entry.settled.empty()) continue;
    entry.missing += entry.settled.size();
    for (const Chunk& chunk : std::exchange(entry.settled, {})) {
      // As a message of this part alone, which CutAnew takes apart.
      const v1::PushRequest& push = *PushOf(chunk.request->message);
      Message message{
          .step = step,
          .server = nullptr,
          .request = chunk.request,
          .parts = {},
          .pulled = {},
          .backoff = Backoff(options_.retry_backoff, options_.retry_backoff_max,
                             options_.seed)};
      message.parts.assign(PartsOf(push), {placement, false});
      message.parts[chunk.part].live = true;
      ++steps_.at(step).parts_out;
      CutAnew(&message, &changed, absl::ZeroDuration(), now, output);
    }
  }
}

// The end
// -----------------------------------------------------------------------

void TableClient::KeepEntriesAlone(absl::Duration now, Output* output) {
  const uint64_t last_before = last_message_;
  for (auto it = messages_.begin();
       it != messages_.end() && it->first <= last_before;) {
    Message& message = it->second;
    if (message.pulled.empty()) {
      ++it;
      continue;
    }
    const uint64_t step = message.step;
    for (size_t i = message.pushed(); i < message.parts.size(); ++i) {
      if (!std::exchange(message.parts[i].live, false)) continue;
      --steps_.at(step).parts_out;
    }
    CutAnew(&message, nullptr, absl::ZeroDuration(), now, output);
    it = messages_.erase(it);
    if (steps_.at(step).parts_out == 0) FinishStep(step, output);
  }
}

// Time
// -------------------------------------------------------------------------

void TableClient::Tick(absl::Duration now, Output* output) {
  if (now < next_due_) return;
  for (auto& [number, message] : messages_) {
    if (message.due <= now) Emit(number, &message, now, output);
  }
  next_due_ = NextTick();
}

absl::Duration TableClient::NextTick() const {
  absl::Duration next = absl::InfiniteDuration();
  for (const auto& [number, message] : messages_) {
    next = std::min(next, message.due);
  }
  return next;
}

// Replies
// ----------------------------------------------------------------------

void TableClient::OnReply(uint64_t number,
                          absl::StatusOr<WithBulk<v1::ExchangeReply>> reply,
                          absl::Duration now, Output* output) {
  const auto found = messages_.find(number);
  if (found == messages_.end()) return;
  Message& message = found->second;
  const uint64_t step_number = message.step;
  OpenStep& step = steps_.at(step_number);

  for (Part& part : message.parts) part.replaced = false;
  message.misses_list = false;
  absl::Duration delay = absl::ZeroDuration();
  absl::Status status =
      reply.ok() ? TakeReply(&message, *reply, &step, &delay) : reply.status();
  if (!status.ok() && !MayPass(status)) {
    step.result.status = std::move(status);
    return FinishStep(step_number, output);
  }
  if (const auto after = RetryAfterOf(status); after.has_value()) {
    delay = std::max(delay, *after);
  }
  const size_t live = std::count_if(message.parts.begin(), message.parts.end(),
                                    [](const Part& part) { return part.live; });
  const size_t replaced = std::count_if(
      message.parts.begin(), message.parts.end(),
      [](const Part& part) { return part.live && part.replaced; });
  if (replaced > 0 && replaced == live) return;  // Its last copy waits.
  if (live == message.parts.size() && !message.misses_list) {
    message.patience = options_.lease;
    SetDue(now + delay + message.backoff.Next(), &message);
    return;
  }
  if (live > 0) {
    // With what it misses it is as good as new.
    if (!message.misses_list) delay += message.backoff.Next();
    CutAnew(&message, nullptr, delay, now, output);
  }
  messages_.erase(found);
  if (step.parts_out == 0) FinishStep(step_number, output);
}

absl::Status TableClient::TakeReply(Message* message,
                                    const WithBulk<v1::ExchangeReply>& whole,
                                    OpenStep* step, absl::Duration* delay) {
  const v1::ExchangeReply& reply = whole.head;
  if (reply.error_code() != 0) return ErrorOf(reply);
  const v1::PushReply& push =
      reply.has_push_pull() ? reply.push_pull().push() : reply.push();
  const v1::PullReply& pull =
      reply.has_push_pull() ? reply.push_pull().pull() : reply.pull();
  const ByteSlices values = whole.Bulk(kPulledValues, pull.values());
  const size_t pushed = message->pushed();
  size_t bytes = 0;
  for (size_t i = 0; i < message->pulled.size() && i < pull.results_size();
       ++i) {
    const PulledPart& part = message->pulled[i];
    if (pull.results(i).code() != v1::PART_OK) continue;
    bytes += part.count * RowBytesOf(part.table);
  }
  const size_t push_results = ResultsOf(push);
  if (push_results != pushed || pull.results_size() != message->pulled.size() ||
      values.size() != bytes) {
    return absl::InternalError(absl::StrCat(
        "server ", message->server->name, " answered ", push_results, " and ",
        pull.results_size(), " parts with ", values.size(),
        " bytes of values, where ", pushed, " and ", message->pulled.size(),
        " with ", bytes, " were asked for"));
  }

  // What ends the step counts more than what can be sent again.
  absl::Status again, worst;
  const auto judge = [&](size_t index, const v1::PartResult& result) {
    if (!message->parts[index].live) return false;
    const absl::Status status = JudgePart(message, index, result, delay);
    if (status.ok()) return true;
    (MayPass(status) ? again : worst).Update(status);
    return false;
  };
  v1::PartResult room;
  for (size_t i = 0; i < pushed; ++i) {
    if (judge(i, ResultAt(push, i, &room))) Settle(message, i, step);
  }
  SliceReader from(values);
  for (size_t i = 0; i < message->pulled.size(); ++i) {
    const PulledPart& part = message->pulled[i];
    const bool has_rows = pull.results(i).code() == v1::PART_OK;
    if (judge(pushed + i, pull.results(i))) {
      TakeRows(part, &from, step);
      Settle(message, pushed + i, step);
    } else if (has_rows) {
      from.Skip(part.count * RowBytesOf(part.table));
    }
  }
  return worst.ok() ? again : worst;
}

absl::Status TableClient::JudgePart(Message* message, size_t index,
                                    const v1::PartResult& result,
                                    absl::Duration* delay) {
  Part& part = message->parts[index];
  uint64_t& seen = seen_epochs_[part.placement];
  const bool is_old = result.epoch() != 0 && result.epoch() < seen &&
                      !IsPlanted(PlantedBug::kTakeOlderEpoch);
  seen = std::max<uint64_t>(seen, result.epoch());
  absl::Status status = PartError(result);
  part.replaced = result.code() == v1::PART_REPLACED;
  if (status.ok()) {
    return is_old ? absl::UnavailableError("an answer of an older epoch")
                  : absl::OkStatus();
  }
  if (result.code() == v1::PART_EXPECTED_CLOCK) {
    // With a pipeline it may have overtaken the entry before it. Once that is
    // acknowledged no reason is left for a gap: what was sent since then must
    // not find one.
    if (EarlierEntryIsOut(*message, index)) {
      part.stale_gaps = -1;
      return absl::UnavailableError(result.message());
    }
    if (part.stale_gaps == 0) return status;
    part.stale_gaps =
        (part.stale_gaps < 0 ? message->copies : part.stale_gaps) - 1;
    return absl::UnavailableError(result.message());
  }
  if (result.code() == v1::PART_UNKNOWN_LIST) {
    message->misses_list = true;
    VisitPart(*message, index, [&](const auto& named) {
      lists_.OnUnknown(part.placement, named);
    });
  }
  if (const auto after = RetryAfterOf(status); after.has_value()) {
    *delay = std::max(*delay, *after);
  }
  return status;
}

template <typename Visit>
void TableClient::VisitPart(const Message& message, size_t index, Visit visit) {
  const size_t pushed = message.pushed();
  if (index < pushed) {
    // An empty part has no list.
    const v1::PushRequest& push = *PushOf(message.request->message);
    if (index < static_cast<size_t>(push.parts_size())) {
      visit(push.parts(index));
    }
  } else {
    visit(PullOf(message.request->message)->parts(index - pushed));
  }
}

bool TableClient::EarlierEntryIsOut(const Message& message,
                                    size_t index) const {
  const Clock clock = DecodeClock(PushOf(message.request->message)->clock());
  for (const auto& [number, other] : messages_) {
    const v1::PushRequest* push = PushOf(other.request->message);
    if (push == nullptr || DecodeClock(push->clock()) >= clock) continue;
    for (size_t i = 0; i < other.pushed(); ++i) {
      if (other.parts[i].live &&
          other.parts[i].placement == message.parts[index].placement) {
        return true;
      }
    }
  }
  return false;
}

void TableClient::Settle(Message* message, size_t index, OpenStep* step) {
  message->parts[index].live = false;
  --step->parts_out;
  VisitPart(*message, index, [&](const auto& part) {
    lists_.OnTaken(message->parts[index].placement, part);
  });
  if (index >= message->pushed()) return;
  const auto chunked =
      chunked_.find({message->step, message->parts[index].placement});
  if (chunked == chunked_.end()) return;
  chunked->second.settled.push_back({message->request, index});
  if (--chunked->second.missing == 0) chunked_.erase(chunked);
}

size_t TableClient::RowBytesOf(uint32_t table) const {
  return RowBytes(router_->tables()[table].transport, WidthOf(table));
}

void TableClient::TakeRows(const PulledPart& part, SliceReader* from,
                           OpenStep* step) const {
  const size_t width = WidthOf(part.table);
  const size_t row_bytes = RowBytesOf(part.table);
  const ValueKind kind = router_->tables()[part.table].transport;
  float* rows = step->result.rows[part.table].data();
  const KeyOrder* const order = step->orders[part.table].get();
  if (order == nullptr && kind == ValueKind::kFloat32) {
    from->CopyTo(part.count * row_bytes, rows + part.first * width);
    return;
  }
  size_t i = part.first;
  const auto next = [&] {
    const size_t row = order == nullptr ? i : order->origin[i];
    ++i;
    return rows + row * width;
  };
  if (kind != ValueKind::kFloat32) {
    return ForEachRecord(part.count, row_bytes, from, [&](const char* row) {
      DecodeRow(kind, row, absl::MakeSpan(next(), width));
    });
  }
  WithRowBytes(row_bytes, [&](auto bytes) {
    ForEachRecord(part.count, bytes, from,
                  [&](const char* row) { std::memcpy(next(), row, bytes); });
  });
}

void TableClient::FinishStep(uint64_t number, Output* output) {
  auto step = steps_.extract(number);
  // A message goes with its last part, an entry in chunks with its last chunk.
  if (step.mapped().parts_out > 0) {
    std::erase_if(messages_,
                  [&](const auto& one) { return one.second.step == number; });
    std::erase_if(chunked_,
                  [&](const auto& one) { return one.first.first == number; });
  }
  output->finished.push_back(std::move(step.mapped().result));
}

}  // namespace seraph
