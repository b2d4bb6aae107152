#include "worker/train/rank_runner.h"

#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "common/concurrent/thread_name.h"
#include "common/rpc/backoff.h"
#include "common/status/errors.h"

namespace seraph {
namespace {

const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

}  // namespace

RankRunner::RankRunner(const RankRunnerOptions& options,
                       const MonotonicClock* clock, const TableRouter* router,
                       std::unique_ptr<RankPeers> peers,
                       std::unique_ptr<Model> model,
                       std::unique_ptr<BatchStream> train,
                       std::unique_ptr<BatchStream> validation)
    : options_(options),
      clock_(*clock),
      router_(*router),
      peers_(std::move(peers)),
      model_(std::move(model)),
      train_(std::move(train)),
      validation_(std::move(validation)),
      machine_(options.rank, model_.get(), train_.get(), validation_.get()),
      client_(options.client, router),
      mailbox_(std::make_shared<Mailbox<Reply>>()) {}

RankRunner::~RankRunner() {
  Stop();
  Join();
}

void RankRunner::Start() {
  thread_ = std::thread([this] {
    NameThisThread(absl::StrCat("rank-", options_.rank.rank));
    Run();
  });
}

void RankRunner::Stop() {
  mailbox_->Close();
  peers_->Cancel();
}

void RankRunner::Join() {
  if (thread_.joinable()) thread_.join();
}

template <typename Result>
Result RankRunner::Persist(absl::FunctionRef<Result()> call) {
  Backoff backoff(options_.client.retry_backoff,
                  options_.client.retry_backoff_max, options_.client.seed);
  while (true) {
    Result result = call();
    if (!IsTransient(StatusOf(result)) || mailbox_->closed()) return result;
    // Nothing is out yet, or any more: no message is lost by this wait.
    mailbox_->Take(backoff.Next());
  }
}

void RankRunner::Begin(RankActions* actions) {
  std::optional<Clock> clock;
  std::vector<v1::LedgerRecord> ledger;
  for (size_t server = 0; server < router_.servers().size(); ++server) {
    const auto reply = Persist<absl::StatusOr<v1::BeginAttemptReply>>(
        [&] { return peers_->BeginAttempt(server); });
    if (!reply.ok()) {
      actions->ended = Annotate(
          reply.status(), absl::StrCat("rank ", options_.rank.rank, ", server ",
                                       router_.servers()[server].name));
      return;
    }
    const Clock here{reply->clock().epoch(), reply->clock().step()};
    clock = std::min(clock.value_or(here), here);
    ledger.insert(ledger.end(), reply->ledger().begin(), reply->ledger().end());
  }
  machine_.Begin(clock.value_or(Clock{}), ledger, actions);
}

void RankRunner::Run() {
  RankActions actions;
  Begin(&actions);
  while (!mailbox_->closed() && Do(std::move(actions))) {
    actions = RankActions();
    absl::Duration timeout = absl::InfiniteDuration();
    if (!delayed_.empty()) timeout = delayed_.begin()->first - clock_.Now();
    std::optional<Reply> reply = mailbox_->Take(timeout);
    while (!delayed_.empty() && delayed_.begin()->first <= clock_.Now()) {
      SendNow(delayed_.extract(delayed_.begin()).mapped());
    }
    if (!reply.has_value()) continue;
    std::vector<TableClient::Outgoing> outgoing;
    std::optional<FinishedStep> finished =
        client_.OnReply(reply->message, std::move(reply->reply), &outgoing);
    Send(std::move(outgoing));
    if (!finished.has_value()) continue;
    const auto id = step_ids_.extract(finished->step);
    machine_.OnStep(id.mapped(), *std::move(finished), &actions);
  }
}

bool RankRunner::Do(RankActions actions) {
  while (true) {
    for (const RankActions::StartStep& start : actions.steps) {
      std::vector<TableClient::Outgoing> outgoing;
      const absl::StatusOr<uint64_t> step =
          client_.Start(start.step, &outgoing);
      if (!step.ok()) {
        actions.ended =
            Annotate(step.status(), absl::StrCat("rank ", options_.rank.rank));
        break;
      }
      step_ids_[*step] = start.id;
      Send(std::move(outgoing));
    }
    if (actions.ended.has_value()) {
      Persist<absl::Status>([&] {
        return peers_->ReportRank(*actions.ended);
      }).IgnoreError();  // Only Stop, or a job that is gone, ends it so.
      return false;
    }
    if (!actions.share.has_value()) return true;
    const auto stop = Persist<absl::StatusOr<bool>>(
        [&] { return peers_->FinishEpoch(*actions.share); });
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

void RankRunner::Send(std::vector<TableClient::Outgoing> outgoing) {
  for (TableClient::Outgoing& one : outgoing) {
    if (one.delay <= absl::ZeroDuration()) {
      SendNow(one);
    } else {
      delayed_.emplace(clock_.Now() + one.delay, std::move(one));
    }
  }
}

void RankRunner::SendNow(const TableClient::Outgoing& outgoing) {
  peers_->Send(outgoing.server, outgoing.request,
               [mailbox = mailbox_, message = outgoing.message](
                   absl::StatusOr<v1::ExchangeReply> reply) {
                 mailbox->Put({message, std::move(reply)});
               });
}

}  // namespace seraph
