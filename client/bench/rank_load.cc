#include "client/bench/rank_load.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/draw.h"
#include "common/metrics/metric_sums.h"
#include "common/rpc/call.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/wire/cluster_codec.h"
#include "proto/parameters.grpc.pb.h"
#include "worker/train/attempt_beginning.h"

namespace seraph {
namespace {

// Above those that a scheduler gives.
constexpr uint32_t kAttempt = 1'000'000;
constexpr absl::Duration kLease = absl::Seconds(30);
constexpr absl::Duration kRetry = absl::Milliseconds(20);
constexpr absl::Duration kLook = absl::Milliseconds(200);

TableClientOptions ClientOptions(const RankLoad::Options& options) {
  TableClientOptions client;
  client.job = options.job;
  client.rank = options.rank;
  client.attempt = kAttempt;
  client.lease = kLease;
  client.seed = options.rank + 1;
  return client;
}

}  // namespace

RankLoad::RankLoad(Options options, std::shared_ptr<const TableRouter> router)
    : options_(std::move(options)),
      router_(std::move(router)),
      links_({.here = options_.here}),
      client_(ClientOptions(options_), router_) {
  for (const Node& server : router_->servers()) {
    open_links_[server.address] = links_.Get(server);
  }
  // The scheduler reads it from the ledger partition.
  const auto sums = MetricSums().ToArray();
  ledger_.mutable_sums()->Add(sums.begin(), sums.end());
}

absl::Status RankLoad::Begin(Interrupt* interrupt) {
  using Calls = v1::Parameters::StubInterface::async_interface;
  AttemptBeginning beginning(*router_);
  const absl::Duration end = clock_.Now() + options_.patience;
  while (true) {
    for (const size_t server : beginning.ServersToAsk(*router_)) {
      const Node& node = router_->servers()[server];
      v1::BeginAttemptRequest request;
      v1::RequestHeader* header = request.mutable_header();
      header->mutable_job()->set_id(options_.job);
      header->mutable_job()->set_generation(1);
      header->mutable_rank()->set_rank(options_.rank);
      header->mutable_rank()->set_attempt(kAttempt);
      header->set_incarnation(node.incarnation);
      const auto stub =
          v1::Parameters::NewStub(open_links_.at(node.address)->channel());
      const auto reply = Call(stub->async(), &Calls::BeginAttempt, request,
                              {.timeout = options_.patience});
      if (!reply.ok()) {
        return Annotate(reply.status(), absl::StrCat("server ", node.name));
      }
      beginning.OnReply(*router_, *reply);
    }
    if (beginning.complete()) break;
    if (clock_.Now() >= end) {
      return absl::DeadlineExceededError(
          absl::StrCat("rank ", options_.rank, " cannot begin in ",
                       absl::FormatDuration(options_.patience)));
    }
    if (interrupt->WaitFor(kRetry)) return absl::CancelledError("interrupted");
  }

  // Some partitions have an entry of the attempt before that others lack. What
  // it was is of no matter here, but all are to stand at one clock.
  const Clock furthest = beginning.start().furthest;
  clock_of_rank_ = beginning.start().clock;
  while (clock_of_rank_ < furthest) {
    Step step;
    step.entry = NextEntry();
    if (step.entry->clock.epoch < furthest.epoch) {
      step.entry->ends_epoch = true;
      clock_of_rank_ = {.epoch = step.entry->clock.epoch + 1};
    }
    TableClient::Output output;
    SERAPH_ASSIGN_OR_RETURN(const uint64_t number,
                            client_.Start(step, clock_.Now(), &output));
    open_[number] = {.begun = clock_.Now()};
    LoadCounts ignored;
    Send(output.outgoing, &ignored);
    heard_ = clock_.Now();
    while (!open_.empty()) {
      SERAPH_RETURN_IF_ERROR(Await(BenchOperation::kPush, &ignored));
    }
  }
  return absl::OkStatus();
}

EntryPush RankLoad::NextEntry() {
  EntryPush entry;
  entry.clock = clock_of_rank_;
  ToProto(clock_of_rank_, ledger_.mutable_clock());
  entry.ledger = ledger_;
  clock_of_rank_ = clock_of_rank_.NextStep();
  return entry;
}

absl::Status RankLoad::StartRequest(BenchOperation operation,
                                    absl::Span<const Key> keys,
                                    TableClient::Output* output) {
  const absl::Duration now = clock_.Now();
  Step step;
  if (operation != BenchOperation::kPull) {
    const size_t count = keys.size() * options_.width;
    if (values_ == nullptr || values_->size() < count) {
      auto values = std::make_shared<std::vector<float>>();
      while (values->size() < count) {
        values->push_back(static_cast<float>(
            ToUnit(Draw(options_.rank, {values->size()})) - 0.5));
      }
      values_ = std::move(values);
    }
    step.entry = NextEntry();
    step.entry->tables.push_back(
        {.keys = keys,
         .values = absl::MakeConstSpan(*values_).subspan(0, count),
         .owner = values_});
  }
  if (operation != BenchOperation::kPush) {
    step.pull = ClockPull{.clock = clock_of_rank_, .keys = {keys}};
  }
  SERAPH_ASSIGN_OR_RETURN(const uint64_t number,
                          client_.Start(step, now, output));
  open_[number] = {.begun = now, .keys = keys.size()};
  return absl::OkStatus();
}

void RankLoad::Send(const std::vector<TableClient::Outgoing>& outgoing,
                    LoadCounts* counts) {
  for (const TableClient::Outgoing& one : outgoing) {
    if (counts_bytes_) {
      counts->request_bytes += one.request->message.ByteSizeLong();
      for (const OwnedSlice& piece : one.request->values) {
        counts->request_bytes += piece.bytes.size();
      }
    }
    open_links_.at(one.server->address)
        ->Send(
            one.request,
            [mailbox = mailbox_, message = one.message](
                absl::StatusOr<WithBulk<v1::ExchangeReply>> reply) {
              mailbox->Put({message, std::move(reply)});
            },
            ServerLink::Leaves::kWithNext);
  }
}

void RankLoad::Flush() {
  for (const auto& [address, link] : open_links_) link->Flush();
}

absl::Status RankLoad::Await(BenchOperation operation, LoadCounts* counts) {
  Flush();
  std::optional<Event> event = mailbox_->TryTake();
  if (!event.has_value()) {
    event = mailbox_->Take(std::min(kLook, client_.NextTick() - clock_.Now()));
  }
  const absl::Duration now = clock_.Now();
  TableClient::Output output;
  if (event.has_value()) {
    heard_ = now;
  } else if (now - heard_ >= options_.patience) {
    return absl::DeadlineExceededError(
        absl::StrCat("no answer of the servers for ",
                     absl::FormatDuration(options_.patience)));
  }
  // All that is there: what follows from it leaves together, when the next
  // answer is waited for.
  for (; event.has_value(); event = mailbox_->TryTake()) {
    if (counts_bytes_ && event->reply.ok()) {
      counts->reply_bytes += event->reply->bytes();
    }
    client_.OnReply(event->message, std::move(event->reply), now, &output);
  }
  client_.Tick(now, &output);
  Send(output.outgoing, counts);
  return TakeFinished(output.finished, operation, counts);
}

absl::Status RankLoad::TakeFinished(const std::vector<FinishedStep>& finished,
                                    BenchOperation operation,
                                    LoadCounts* counts) {
  const absl::Duration now = clock_.Now();
  for (const FinishedStep& step : finished) {
    SERAPH_RETURN_IF_ERROR(step.status);
    const Open request = open_.extract(step.step).mapped();
    if (operation != BenchOperation::kPush &&
        (step.rows.size() != 1 ||
         step.rows[0].size() != request.keys * options_.width)) {
      return absl::InternalError(absl::StrCat("an answer without the rows of ",
                                              request.keys, " keys"));
    }
    ++counts->requests;
    counts->keys += request.keys;
    counts->latencies_us.push_back(
        absl::ToDoubleMicroseconds(now - request.begun));
  }
  return absl::OkStatus();
}

absl::Status RankLoad::Run(BenchOperation operation, const NextKeys& keys,
                           uint32_t in_flight, absl::Duration duration,
                           Interrupt* interrupt, LoadCounts* counts) {
  const absl::Duration begin = clock_.Now();
  heard_ = begin;
  bool more = true;
  for (uint64_t started = 0; more || !open_.empty();) {
    while (more && open_.size() < in_flight) {
      more = clock_.Now() - begin < duration && !interrupt->requested();
      const absl::Span<const Key> next =
          more ? keys(started) : absl::Span<const Key>();
      more = !next.empty();
      if (!more) break;
      ++started;
      TableClient::Output output;
      SERAPH_RETURN_IF_ERROR(StartRequest(operation, next, &output));
      Send(output.outgoing, counts);
    }
    if (!open_.empty()) SERAPH_RETURN_IF_ERROR(Await(operation, counts));
  }
  counts->time += clock_.Now() - begin;
  return interrupt->Check();
}

}  // namespace seraph
