#include "tests/sim/sim_rank_driver.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/wire/spelled_parts.h"
#include "tests/sim/memory_stream.h"
#include "tests/sim/sim_scheduler.h"
#include "tests/sim/sim_server.h"
#include "worker/client/refusal.h"

namespace seraph::testing {
namespace {

using absl::Milliseconds;

// Of a name that is too high by so much nobody has ever heard.
constexpr uint64_t kFarAhead = 1000;

// What a stray request calls itself.
enum class Stray {
  kGeneration,
  kIncarnation,
  kAttempt,
  kEpoch,
  // Names that were good once, mostly; the server is watched.
  kOlderEpoch,
  kOlderAttempt,
  kOlderGeneration,
};

void AddToEpochs(uint64_t difference, v1::PullRequest* pull) {
  for (v1::PullPart& part : *pull->mutable_parts()) {
    part.set_epoch(part.epoch() + difference);
  }
}

void AddToEpochs(uint64_t difference, v1::PushRequest* push) {
  for (v1::PushPart& part : *push->mutable_parts()) {
    part.set_epoch(part.epoch() + difference);
  }
  const v1::PushRequest before = *push;
  push->clear_empty_parts();
  for (size_t i = 0; i < EmptyPartsOf(before); ++i) {
    EmptyPart part = EmptyPartAt(before, i);
    part.epoch += difference;
    AddEmptyPart(part, push);
  }
}

template <typename Body>
void Rename(Stray stray, Body* body) {
  v1::RequestHeader* header = body->mutable_header();
  switch (stray) {
    case Stray::kGeneration:
      header->mutable_job()->set_generation(header->job().generation() +
                                            kFarAhead);
      return;
    case Stray::kIncarnation:
      header->set_incarnation(header->incarnation() ^ kFarAhead);
      return;
    case Stray::kAttempt:
      header->mutable_rank()->set_attempt(header->rank().attempt() + kFarAhead);
      return;
    case Stray::kEpoch:
      AddToEpochs(kFarAhead, body);
      return;
    case Stray::kOlderEpoch:
      AddToEpochs(-1, body);
      return;
    case Stray::kOlderGeneration:
      header->mutable_job()->set_generation(header->job().generation() - 1);
      return;
    case Stray::kOlderAttempt:
      header->mutable_rank()->set_attempt(header->rank().attempt() - 1);
      return;
  }
}

bool IsTaken(const v1::ExchangeReply& reply) {
  if (reply.error_code() != 0) return false;
  const auto any = [](const auto& results) {
    return std::any_of(results.begin(), results.end(), [](const auto& result) {
      return result.code() == v1::PART_OK;
    });
  };
  return any(Spelled(reply.push()).results()) || any(reply.pull().results()) ||
         any(Spelled(reply.push_pull().push()).results()) ||
         any(reply.push_pull().pull().results());
}

}  // namespace

SimRankDriver::SimRankDriver(ClusterWorld* world, int machine, Options options,
                             std::shared_ptr<const TableRouter> router,
                             Links links)
    : world_(*world),
      loop_(*world->loop),
      machine_(machine),
      options_(std::move(options)),
      links_(std::move(links)),
      clock_(world->loop->ClockOf(machine)),
      router_(std::move(router)),
      beginning_(*router_) {
  const ClusterJob& job = *world_.job;
  const uint32_t rank = options_.rank;
  if (job.is_witness) {
    auto model =
        std::make_unique<WitnessModel>(&job.witness, world_.checker, who());
    witness_ = model.get();
    model_ = std::move(model);
    train_ = std::make_unique<WitnessStream>(job.witness.steps[rank]);
    if (job.spec.data.HasValidation()) {
      validation_ = std::make_unique<WitnessStream>(1 + rank % 2);
    }
  } else {
    model_ = MakeModel(job.spec.model);
    train_ = std::make_unique<MemoryStream>(&job.train[rank]);
    if (job.spec.data.HasValidation()) {
      validation_ = std::make_unique<MemoryStream>(&job.validation[rank]);
    }
  }
  machine_of_rank_ = std::make_unique<RankMachine>(
      RankOptions{.rank = rank,
                  .epochs = job.spec.train.epochs,
                  .batch_size = job.spec.train.batch_size,
                  .validation_batch_size = 1,
                  .pipeline = job.spec.sync.pipeline,
                  .epoch_barrier = options_.epoch_barrier},
      model_.get(), train_.get(), validation_.get());
  TableClientOptions client;
  client.job = options_.job;
  client.generation = options_.generation;
  client.rank = rank;
  client.attempt = options_.attempt;
  client.limits.message_bytes = world_.max_message_bytes;
  client.retry_backoff = Milliseconds(5);
  client.retry_backoff_max = Milliseconds(100);
  client.lease = world_.lease;
  client.seed = options_.attempt * 1000 + rank;
  // Nearly all lists of every other rank go by name.
  if (rank % 2 == 0) client.lists.least_keys = 2;
  client_ = std::make_unique<TableClient>(client, router_);
  watch_.OnRouter(*router_);
}

SimRankDriver::~SimRankDriver() { *alive_ = false; }

std::string SimRankDriver::Standing() const {
  return absl::StrCat("rank ", options_.rank, ".", options_.attempt, " gen ",
                      options_.generation, " on ", loop_.name(machine_), ": ",
                      last_);
}

void SimRankDriver::FillHeader(const Node& server,
                               v1::RequestHeader* header) const {
  header->mutable_job()->set_id(options_.job);
  header->mutable_job()->set_generation(options_.generation);
  header->set_incarnation(server.incarnation);
  header->mutable_rank()->set_rank(options_.rank);
  header->mutable_rank()->set_attempt(options_.attempt);
}

void SimRankDriver::Start() { AskToBegin(); }

void SimRankDriver::Update(std::shared_ptr<const TableRouter> router) {
  if (router->version() <= router_->version() || ended_) return;
  router_ = router;
  watch_.OnRouter(*router_);
  TableClient::Output output;
  client_->UpdateRouter(std::move(router), now(), &output);
  Take(std::move(output));
}

void SimRankDriver::AskToBegin() {
  last_ = "asks to begin";
  const std::shared_ptr<const TableRouter> router = router_;
  for (size_t index : beginning_.ServersToAsk(*router)) {
    const Node server = router->servers()[index];
    v1::BeginAttemptRequest request;
    FillHeader(server, request.mutable_header());
    const int to = world_.machine_of.at(server.name);
    ++asked_;
    world_.network->Call<v1::BeginAttemptReply>(
        machine_, to, "begin attempt", 2 * world_.lease,
        [world = &world_, to, request](auto answer) {
          SimServer* server = world->ServerAt(to);
          if (server != nullptr) server->BeginAttempt(request, answer);
        },
        [this, alive = alive_, router](auto reply) {
          if (*alive && !ended_) OnBegun(router, reply);
        });
  }
  if (asked_ > 0) return;
  loop_.After(Milliseconds(20), machine_, "ask again", [this, alive = alive_] {
    if (*alive && !ended_ && asked_ == 0) AskToBegin();
  });
}

void SimRankDriver::OnBegun(
    const std::shared_ptr<const TableRouter>& router,
    const absl::StatusOr<v1::BeginAttemptReply>& reply) {
  --asked_;
  if (reply.ok()) {
    beginning_.OnReply(*router, *reply);
  } else if (absl::IsAborted(reply.status())) {
    ended_ = true;  // A later attempt has begun there.
    last_ = "superseded";
    return;
  } else if (!MayPass(reply.status())) {
    return Report(reply.status());
  }
  if (asked_ > 0) return;
  if (!beginning_.complete()) {
    loop_.After(loop_.Between(Milliseconds(5), Milliseconds(30)), machine_,
                "ask again", [this, alive = alive_] {
                  if (*alive && !ended_ && asked_ == 0) AskToBegin();
                });
    return;
  }
  const RankStart start = beginning_.start();
  loop_.Tell(machine_, [&] {
    return absl::StrCat("rank ", options_.rank, ".", options_.attempt,
                        " begins at ", ToString(start.clock), ", furthest ",
                        ToString(start.furthest));
  });
  RankActions actions;
  machine_of_rank_->Begin(start, &actions);
  Do(std::move(actions));
}

void SimRankDriver::Do(RankActions actions) {
  for (const RankActions::StartStep& start : actions.steps) {
    OpenStep open{.id = start.id};
    if (start.step.entry.has_value()) {
      open.entry = start.step.entry->clock;
      open.ends_epoch = start.step.entry->ends_epoch;
    }
    if (start.step.pull.has_value()) {
      open.pull = start.step.pull->clock;
      if (witness_ != nullptr) {
        world_.checker->PullStarts(who(), *open.pull);
      }
    }
    last_ = absl::StrCat(
        open.entry.has_value() ? absl::StrCat("pushes ", ToString(*open.entry),
                                              open.ends_epoch ? " (end)" : "")
                               : "",
        open.pull.has_value() ? absl::StrCat(" pulls ", ToString(*open.pull))
                              : "");
    loop_.Tell(machine_, [&] {
      return absl::StrCat("rank ", options_.rank, ".", options_.attempt, " ",
                          last_);
    });
    TableClient::Output output;
    const auto step = client_->Start(start.step, now(), &output);
    if (!step.ok()) return Report(step.status());
    steps_[*step] = open;
    watch_.OnStart(*step, output);
    Take(std::move(output));
  }
  if (actions.ended.has_value()) return Report(*actions.ended);
  if (actions.share.has_value()) Share(*std::move(actions.share));
}

void SimRankDriver::Take(TableClient::Output output) {
  for (const TableClient::Outgoing& one : output.outgoing) Send(one);
  for (FinishedStep& finished : output.finished) {
    const auto node = steps_.extract(finished.step);
    if (node.empty()) continue;
    const OpenStep open = node.mapped();
    const int old = watch_.OnEnd(finished.step);
    if (finished.status.ok() && old > 0) {
      world_.checker->Report(
          absl::StrCat("rank ", options_.rank, " takes ", old,
                       " answers of an older epoch than it has seen"));
    }
    if (finished.status.ok() && open.entry.has_value() && !open.ends_epoch &&
        witness_ != nullptr) {
      world_.checker->PushEnds(who(), *open.entry);
    }
    // The batch's computation takes a while.
    loop_.After(loop_.Between(absl::ZeroDuration(), world_.think), machine_,
                "computes",
                [this, alive = alive_, id = open.id,
                 finished = std::move(finished)]() mutable {
                  if (!*alive || ended_) return;
                  RankActions actions;
                  machine_of_rank_->OnStep(id, std::move(finished), &actions);
                  Do(std::move(actions));
                });
  }
  SetTimer();
}

void SimRankDriver::SetTimer() {
  const absl::Duration next = client_->NextTick();
  if (next == absl::InfiniteDuration() || next >= timer_) return;
  timer_ = next;
  loop_.After(next - now(), machine_, "timer", [this, alive = alive_, next] {
    if (!*alive || ended_ || timer_ != next) return;
    timer_ = absl::InfiniteDuration();
    TableClient::Output output;
    client_->Tick(now(), &output);
    Take(std::move(output));
  });
}

void SimRankDriver::Send(const TableClient::Outgoing& outgoing) {
  watch_.OnSent(outgoing);
  if (loop_.Happens(world_.stray)) SendStray(outgoing);
  links_(world_.machine_of.at(outgoing.server->name))
      ->Send(outgoing.request,
             [this, alive = alive_, message = outgoing.message](
                 absl::StatusOr<v1::ExchangeReply> reply) {
               if (!*alive || ended_) return;
               if (reply.ok()) {
                 const int before = watch_.old_answers();
                 watch_.OnReply(message, *reply);
                 world_.counts["answers of older epochs"] +=
                     watch_.old_answers() - before;
               }
               TableClient::Output output;
               client_->OnReply(message, std::move(reply), now(), &output);
               Take(std::move(output));
             });
}

void SimRankDriver::SendStray(const TableClient::Outgoing& outgoing) {
  v1::ExchangeRequest request = WholeMessage(*outgoing.request);
  const auto stray = static_cast<Stray>(loop_.Below(7));
  if (request.has_pull()) Rename(stray, request.mutable_pull());
  if (request.has_push()) Rename(stray, request.mutable_push());
  if (request.has_push_pull()) {
    Rename(stray, request.mutable_push_pull()->mutable_push());
    Rename(stray, request.mutable_push_pull()->mutable_pull());
  }
  ++world_.counts["stray requests"];
  const int to = world_.machine_of.at(outgoing.server->name);
  world_.network->Call<v1::ExchangeReply>(
      machine_, to, "stray", world_.call_timeout,
      [world = &world_, to, request](auto answer) {
        SimServer* server = world->ServerAt(to);
        if (server != nullptr) server->Exchange(request, answer);
      },
      [this, alive = alive_, stray,
       who = who()](absl::StatusOr<v1::ExchangeReply> reply) {
        if (!*alive || !reply.ok() || !IsTaken(*reply)) return;
        if (stray >= Stray::kOlderEpoch) return;
        static constexpr const char* kNames[] = {"generation", "incarnation",
                                                 "attempt", "epoch"};
        world_.checker->Report(absl::StrCat(
            "a request of rank ", who.rank, " is taken although its ",
            kNames[static_cast<int>(stray)], " is another"));
      });
}

void SimRankDriver::Share(EpochShare share) {
  last_ = absl::StrCat("waits for the decision about epoch ", share.epoch);
  SimShare sent;
  sent.job = {options_.job, options_.generation};
  sent.rank = {options_.rank, options_.attempt};
  sent.epoch = share.epoch;
  if (share.validation.has_value()) {
    const auto sums = share.validation->ToArray();
    sent.sums.assign(sums.begin(), sums.end());
  }
  sent.saw_later = witness_ != nullptr && witness_->saw_later();
  world_.CallScheduler<bool>(
      machine_, "finish epoch", absl::Seconds(2),
      [sent](SimScheduler* scheduler, auto answer) {
        scheduler->FinishEpoch(sent, answer);
      },
      [this, alive = alive_, share](absl::StatusOr<bool> stop) {
        if (!*alive || ended_) return;
        if (stop.ok()) {
          RankActions actions;
          machine_of_rank_->OnDecision(*stop, &actions);
          return Do(std::move(actions));
        }
        if (IsSuperseded(stop.status())) return Report(stop.status());
        loop_.After(loop_.Between(Milliseconds(5), Milliseconds(50)), machine_,
                    "share again", [this, alive, share] {
                      if (*alive && !ended_) Share(share);
                    });
      });
}

void SimRankDriver::Report(absl::Status ended) {
  ended_ = true;
  last_ = absl::StrCat("ended: ", ended.ToString());
  loop_.Tell(machine_, [&] {
    return absl::StrCat("rank ", options_.rank, ".", options_.attempt, " ",
                        last_);
  });
  if (!ended.ok() && IsSuperseded(ended)) return;
  v1::ReportRankRequest request;
  request.mutable_job()->set_id(options_.job);
  request.mutable_job()->set_generation(options_.generation);
  request.mutable_rank()->set_rank(options_.rank);
  request.mutable_rank()->set_attempt(options_.attempt);
  request.set_incarnation(options_.worker);
  request.set_code(static_cast<int>(ended.code()));
  request.set_message(std::string(ended.message()));
  world_.CallScheduler<int>(
      machine_, "report rank", world_.call_timeout,
      [request](SimScheduler* scheduler, auto answer) {
        scheduler->ReportRank(request, answer);
      },
      [this, alive = alive_, ended](absl::StatusOr<int> reply) {
        if (!*alive || reply.ok() || IsSuperseded(reply.status())) return;
        loop_.After(Milliseconds(20), machine_, "report again",
                    [this, alive, ended] {
                      if (*alive) Report(ended);
                    });
      });
}

}  // namespace seraph::testing
