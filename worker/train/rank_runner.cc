#include "worker/train/rank_runner.h"

#include <deque>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "common/concurrent/thread_name.h"
#include "common/rpc/backoff.h"
#include "common/status/errors.h"
#include "spdlog/spdlog.h"
#include "worker/client/refusal.h"

namespace seraph {
namespace {

const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// Whether the scheduler has answered for good. Anything else - it is not
// there, it does not know the job yet because it has just started, it does not
// want to hear of it in this state - may be otherwise the next time; a rank
// that it does not want any more is stopped by it.
bool IsDefinite(const absl::Status& status) {
  return status.ok() || IsSuperseded(status) || absl::IsInvalidArgument(status);
}

}  // namespace

RankRunner::RankRunner(const RankRunnerOptions& options,
                       const MonotonicClock* clock,
                       std::shared_ptr<const TableRouter> router,
                       std::unique_ptr<RankPeers> peers,
                       std::unique_ptr<Model> model,
                       std::unique_ptr<BatchStream> train,
                       std::unique_ptr<BatchStream> validation)
    : options_(options),
      clock_(*clock),
      peers_(std::move(peers)),
      model_(std::move(model)),
      train_(std::move(train)),
      validation_(std::move(validation)),
      router_(router),
      machine_(options.rank, model_.get(), train_.get(), validation_.get(),
               clock),
      client_(options.client, router),
      mailbox_(std::make_shared<Mailbox<Event>>()) {}

RankRunner::~RankRunner() {
  Stop();
  Join();
}

void RankRunner::Start() {
  thread_ = std::thread([this] {
    NameThisThread(absl::StrCat("rank-", options_.rank.rank));
    Run();
    running_ = false;
  });
}

void RankRunner::Stop() {
  mailbox_->Close();
  peers_->Cancel();
}

void RankRunner::WindDown() {
  winding_down_ = true;
  peers_->Cancel();
  mailbox_->Put(Event());
}

void RankRunner::Join() {
  if (thread_.joinable()) thread_.join();
}

void RankRunner::UpdateRouter(std::shared_ptr<const TableRouter> router) {
  {
    MutexLock lock(&mu_);
    if (router->version() <= router_->version()) return;
    router_ = std::move(router);
  }
  mailbox_->Put(Event());
}

std::shared_ptr<const TableRouter> RankRunner::router() const {
  MutexLock lock(&mu_);
  return router_;
}

void RankRunner::Pause(absl::Duration time) {
  const uint64_t version = router()->version();
  const absl::Duration until = clock_.Now() + time;
  while (!ending() && clock_.Now() < until && router()->version() == version) {
    mailbox_->Take(until - clock_.Now());
  }
}

template <typename Result>
Result RankRunner::Persist(absl::FunctionRef<Result()> call) {
  Backoff backoff(options_.client.retry_backoff,
                  options_.client.retry_backoff_max, options_.client.seed);
  while (true) {
    Result result = call();
    if (IsDefinite(StatusOf(result)) || ending()) return result;
    Pause(backoff.Next());
  }
}

std::optional<RankStart> RankRunner::Begin() {
  Backoff backoff(options_.client.retry_backoff,
                  options_.client.retry_backoff_max, options_.client.seed);
  AttemptBeginning beginning(*router());
  while (!ending()) {
    const std::shared_ptr<const TableRouter> now = router();
    for (size_t server : beginning.ServersToAsk(*now)) {
      const Node& node = now->servers()[server];
      const absl::StatusOr<v1::BeginAttemptReply> reply =
          peers_->BeginAttempt(node);
      if (reply.ok()) {
        beginning.OnReply(*now, *reply);
      } else if (ending()) {
        return std::nullopt;
      } else if (absl::IsAborted(reply.status()) || !MayPass(reply.status())) {
        // Aborted: a later attempt has begun there.
        absl::Status status = Annotate(
            reply.status(),
            absl::StrCat("rank ", options_.rank.rank, ", server ", node.name));
        if (absl::IsAborted(status)) {
          status = WithReason(std::move(status), "STALE_ATTEMPT");
        }
        End(status);
        return std::nullopt;
      }
    }
    if (beginning.complete()) return beginning.start();
    Pause(backoff.Next());
  }
  return std::nullopt;
}

void RankRunner::Run() {
  const std::optional<RankStart> start = Begin();
  if (!start.has_value()) return;
  RankActions actions;
  machine_.Begin(*start, &actions);
  TableClient::Output output;
  client_.UpdateRouter(router(), clock_.Now(), &output);
  if (!Do(std::move(actions), &output)) return;
  while (Handle(std::move(output)) && !ending()) Await(&output);
  if (winding_down_) FinishEntries();
  if (client_.saturated() > 0) {
    spdlog::warn("rank.values_saturated job={} rank={} attempt={} values={}",
                 options_.client.job, options_.client.rank,
                 options_.client.attempt, client_.saturated());
  }
}

void RankRunner::Await(TableClient::Output* output) {
  *output = TableClient::Output();
  std::optional<Event> event =
      mailbox_->Take(client_.NextTick() - clock_.Now());
  const absl::Duration now = clock_.Now();
  if (event.has_value() && event->message != 0) {
    client_.OnReply(event->message, std::move(event->reply), now, output);
  }
  client_.UpdateRouter(router(), now, output);
  client_.Tick(now, output);
}

void RankRunner::FinishEntries() {
  TableClient::Output output;
  client_.KeepEntriesAlone(clock_.Now(), &output);
  Send(output.outgoing);
  while (!client_.idle() && !mailbox_->closed()) {
    Await(&output);
    Send(output.outgoing);
  }
}

bool RankRunner::Handle(TableClient::Output output) {
  std::deque<FinishedStep> finished;
  while (true) {
    Send(std::exchange(output.outgoing, {}));
    for (FinishedStep& step : std::exchange(output.finished, {})) {
      finished.push_back(std::move(step));
    }
    if (finished.empty()) return true;
    FinishedStep step = std::move(finished.front());
    finished.pop_front();
    const auto id = step_ids_.extract(step.step);
    RankActions actions;
    machine_.OnStep(id.mapped(), std::move(step), &actions);
    if (!Do(std::move(actions), &output)) return false;
  }
}

bool RankRunner::Do(RankActions actions, TableClient::Output* output) {
  while (true) {
    for (const RankActions::StartStep& start : actions.steps) {
      const absl::StatusOr<uint64_t> step =
          client_.Start(start.step, clock_.Now(), output);
      if (!step.ok()) {
        actions.ended =
            Annotate(step.status(), absl::StrCat("rank ", options_.rank.rank));
        break;
      }
      step_ids_[*step] = start.id;
    }
    if (actions.ended.has_value()) {
      End(*actions.ended);
      return false;
    }
    if (!actions.share.has_value()) return true;
    const auto stop = Persist<absl::StatusOr<bool>>(
        [&] { return peers_->FinishEpoch(*actions.share); });
    if (ending()) return false;
    client_.UpdateRouter(router(), clock_.Now(), output);  // Nothing is out.
    RankActions next;
    if (stop.ok()) {
      machine_.OnDecision(*stop, &next);
    } else {
      next.ended =
          Annotate(stop.status(),
                   absl::StrCat("rank ", options_.rank.rank, ", end of epoch ",
                                actions.share->epoch + 1));
    }
    actions = std::move(next);
  }
}

void RankRunner::End(const absl::Status& status) {
  if (IsSuperseded(status)) return;
  Persist<absl::Status>([&] {
    return peers_->ReportRank(status);
  }).IgnoreError();  // Only Stop, or a job that is gone, ends it so.
}

void RankRunner::Send(const std::vector<TableClient::Outgoing>& outgoing) {
  for (const TableClient::Outgoing& one : outgoing) {
    peers_->Send(*one.server, one.request,
                 [mailbox = mailbox_, message = one.message](
                     absl::StatusOr<WithBulk<v1::ExchangeReply>> reply) {
                   mailbox->Put({message, std::move(reply)});
                 });
  }
}

}  // namespace seraph
