#include "tests/sim/training_sim.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/model_file/digest.h"
#include "common/testing/fake_clock.h"
#include "common/testing/manual_executor.h"
#include "gtest/gtest.h"
#include "tests/sim/memory_stream.h"
#include "worker/train/attempt_beginning.h"

namespace seraph::testing {
namespace {

// Far more than any of the jobs takes: whoever gets here goes round in circles.
constexpr int kMaxSteps = 1'000'000;

// Each partition has one replica: they have nobody to talk to.
class NoPeers final : public PeerSender {
 public:
  void Send(const Node& to, const JobName& job, PeerMessage message) override {}
};

struct SimServer {
  explicit SimServer(uint64_t incarnation)
      : jobs(std::make_unique<JobDirectory>(
            JobDirectoryParts{.executor = &executor,
                              .files = &executor,
                              .clock = &clock,
                              .peers = &peers},
            JobDirectoryOptions{.incarnation = incarnation,
                                .memory_limit_bytes = uint64_t{1} << 30})),
        calls(jobs.get()) {}

  FakeClock clock;
  NoPeers peers;
  ManualExecutor executor;
  std::unique_ptr<JobDirectory> jobs;
  ParameterCalls calls;
};

class Sim {
 public:
  Sim(const SimJob& job, const SimWeather& weather)
      : job_(job), weather_(weather) {}

  SimResult Run() {
    Place();
    for (uint32_t rank = 0; rank < job_.data.size(); ++rank) {
      ranks_.push_back(StartRank(rank, 1));
    }
    for (int steps = 0; steps < kMaxSteps && Step(); ++steps) {
      now_ += absl::Milliseconds(1);
      Tick();
      MaybeCrash();
    }
    result_.ended = std::all_of(ranks_.begin(), ranks_.end(),
                                [](const auto& life) { return life->ended; });
    result_.digest = Digest();
    for (uint32_t rank = 0; rank < job_.data.size(); ++rank) {
      result_.sums.push_back(SumsOf(rank));
    }
    Close();
    return result_;
  }

 private:
  // One attempt of a rank. What is on its way to it keeps it.
  struct Life {
    RankName name;
    std::unique_ptr<Model> model;
    std::unique_ptr<MemoryStream> stream;
    std::unique_ptr<RankMachine> machine;
    std::unique_ptr<TableClient> client;
    std::map<uint64_t, uint64_t> step_ids;

    std::unique_ptr<AttemptBeginning> beginning;
    bool begun = false;

    bool dead = false;   // Its worker was killed: it does nothing any more.
    bool over = false;   // It has ended, well or badly ...
    bool ended = false;  // ... and is done.
  };
  using LifePtr = std::shared_ptr<Life>;

  uint64_t Choose(uint64_t below) {
    return ToBelow(Draw(weather_.seed, {draws_++}), below);
  }
  bool Happens(double share) {
    return ToUnit(Draw(weather_.seed, {draws_++})) < share;
  }

  void Place() {
    Assignment assignment;
    assignment.job = {"job", 1};
    assignment.setup.ranks = job_.data.size();
    assignment.setup.sync = job_.sync;
    assignment.setup.steps_per_epoch = 5;
    assignment.setup.epochs = job_.epochs;
    assignment.setup.tables = job_.tables;
    std::vector<PartitionPlacement> placements;
    std::vector<Assignment> by_server(weather_.servers, assignment);
    for (uint32_t t = 0; t < job_.tables.size(); ++t) {
      const Partitioning cut(job_.tables[t]);
      for (uint32_t p = 0; p < cut.partitions(); ++p) {
        const int server = (t + p) % weather_.servers;
        PartitionPlacement placement{.table = t,
                                     .partition = p,
                                     .range = cut.PartitionRange(p),
                                     .epoch = 1};
        placement.primary.name = std::to_string(server);
        placement.primary.incarnation = server + 1;
        placements.push_back(placement);
        by_server[server].replicas.push_back({.table = t,
                                              .partition = p,
                                              .epoch = 1,
                                              .duty = ReplicaDuty::kLead,
                                              .primary = placement.primary,
                                              .members = {placement.primary}});
      }
    }
    for (int server = 0; server < weather_.servers; ++server) {
      servers_.push_back(std::make_unique<SimServer>(server + 1));
      servers_[server]->jobs->Assign(
          by_server[server],
          [](absl::Status status) { EXPECT_TRUE(status.ok()) << status; });
      servers_[server]->executor.RunAll();
    }
    auto router = TableRouter::Make(job_.tables, placements);
    EXPECT_TRUE(router.ok()) << router.status();
    router_ = std::make_shared<const TableRouter>(*std::move(router));
  }

  SimServer& ServerOf(const Node& server) {
    return *servers_[server.incarnation - 1];
  }

  LifePtr StartRank(uint32_t number, uint32_t attempt) {
    auto life = std::make_shared<Life>();
    life->name = {number, attempt};
    life->model = MakeModel(job_.model);
    life->stream = std::make_unique<MemoryStream>(&job_.data[number]);
    life->machine = std::make_unique<RankMachine>(
        RankOptions{.rank = number,
                    .epochs = job_.epochs,
                    .batch_size = job_.batch_size,
                    .pipeline = job_.sync.spec.pipeline},
        life->model.get(), life->stream.get(), nullptr);
    life->client = std::make_unique<TableClient>(
        TableClientOptions{
            .job = "job",
            .rank = number,
            .attempt = attempt,
            .limits = {.message_bytes = weather_.max_message_bytes},
            .seed = number,
            // Nearly all lists of every other rank go by name.
            .lists = {.least_keys = number % 2 == 0 ? 2u : 256u}},
        router_);
    lives_.push_back(life);
    life->beginning = std::make_unique<AttemptBeginning>(*router_);
    for (const Node& server : router_->servers()) BeginAttempt(life, server);
    return life;
  }

  // Asks until the server has answered; others may hear of the attempt first.
  void BeginAttempt(const LifePtr& life, const Node& server) {
    events_.push_back([this, life, server] {
      if (life->dead) return;
      if (Happens(weather_.lose)) {
        ++result_.lost;
        return BeginAttempt(life, server);
      }
      v1::BeginAttemptRequest request;
      v1::RequestHeader* header = request.mutable_header();
      header->mutable_job()->set_id("job");
      header->mutable_job()->set_generation(1);
      header->mutable_rank()->set_rank(life->name.rank);
      header->mutable_rank()->set_attempt(life->name.attempt);
      ServerOf(server).calls.BeginAttempt(request, [this, life](auto reply) {
        events_.push_back([this, life, reply = std::move(reply)] {
          if (!life->dead) OnBegun(life, reply);
        });
      });
    });
  }

  void OnBegun(const LifePtr& life,
               const absl::StatusOr<v1::BeginAttemptReply>& reply) {
    // Aborted: a life that was thought dead, and was handed out anew.
    ASSERT_TRUE(reply.ok() || absl::IsAborted(reply.status()))
        << reply.status();
    if (!reply.ok()) return;
    life->beginning->OnReply(*router_, *reply);
    if (life->begun || !life->beginning->complete()) return;
    life->begun = true;
    RankActions actions;
    life->machine->Begin(life->beginning->start(), &actions);
    Do(life, std::move(actions));
  }

  // A worker dies, or is thought dead and is not; its rank is handed out anew.
  void MaybeCrash() {
    if (result_.crashes >= weather_.crashes || !Happens(weather_.crash)) return;
    const uint32_t number = Choose(ranks_.size());
    const LifePtr old = ranks_[number];
    if (old->ended) return;
    ++result_.crashes;
    old->dead = Happens(0.5);
    ranks_[number] = StartRank(number, old->name.attempt + 1);
  }

  void Do(const LifePtr& life, RankActions actions) {
    for (const auto& start : actions.steps) {
      TableClient::Output output;
      const auto step = life->client->Start(start.step, now_, &output);
      ASSERT_TRUE(step.ok()) << step.status();
      life->step_ids[*step] = start.id;
      Handle(life, std::move(output));
    }
    if (actions.ended.has_value()) {
      life->over = true;
      life->ended = actions.ended->ok();
      // Only what was handed out anew may be refused.
      EXPECT_TRUE(life->ended || ranks_[life->name.rank] != life)
          << *actions.ended;
    }
  }

  void Send(const LifePtr& life, std::vector<TableClient::Outgoing> outgoing) {
    for (auto& one : outgoing) {
      // A stream takes one reply to a request, however many come.
      auto answered = std::make_shared<bool>(false);
      if (Happens(weather_.duplicate)) {
        ++result_.duplicated;
        Deliver(life, one, answered);
      }
      if (Happens(weather_.lose)) {
        ++result_.lost;
        if (!std::exchange(*answered, true)) {
          Answer(life, one.message, absl::UnavailableError("lost request"));
        }
      } else {
        Deliver(life, std::move(one), std::move(answered));
      }
    }
  }

  // What was sent arrives, also when the sender is dead by then.
  void Deliver(const LifePtr& life, TableClient::Outgoing one,
               std::shared_ptr<bool> answered) {
    events_.push_back([this, life, one = std::move(one), answered]() mutable {
      const uint64_t last = weather_.servers;  // Its incarnation.
      if (one.server->incarnation == last && Happens(weather_.slow)) {
        return Deliver(life, std::move(one), std::move(answered));
      }
      ServerOf(*one.server)
          .calls.Exchange(
              WholeMessage(*one.request), {},
              [this, life, message = one.message, answered](auto reply,
                                                            RequestHold hold) {
                if (std::exchange(*answered, true)) return;
                if (Happens(weather_.lose)) {
                  ++result_.lost;
                  Answer(life, message, absl::UnavailableError("lost reply"));
                } else {
                  Answer(life, message, WholeReply(std::move(reply)));
                }
              });
    });
  }

  void Answer(const LifePtr& life, uint64_t message,
              absl::StatusOr<v1::ExchangeReply> reply) {
    events_.push_back([this, life, message, reply = std::move(reply)] {
      if (life->dead) return;
      TableClient::Output output;
      life->client->OnReply(message, reply, now_, &output);
      Handle(life, std::move(output));
    });
  }

  void Handle(const LifePtr& life, TableClient::Output output) {
    Send(life, std::move(output.outgoing));
    for (FinishedStep& finished : output.finished) {
      const uint64_t id = life->step_ids.at(finished.step);
      RankActions actions;
      life->machine->OnStep(id, std::move(finished), &actions);
      Do(life, std::move(actions));
    }
  }

  // What is due again is sent again.
  void Tick() {
    for (const LifePtr& life : lives_) {
      if (life->dead || life->over || life->client->NextTick() > now_) continue;
      TableClient::Output output;
      life->client->Tick(now_, &output);
      Handle(life, std::move(output));
    }
  }

  // Lets the time pass until something is due. False: never again.
  bool PassTime() {
    absl::Duration next = absl::InfiniteDuration();
    for (const LifePtr& life : lives_) {
      if (life->dead || life->over) continue;
      next = std::min(next, life->client->NextTick());
    }
    if (next == absl::InfiniteDuration()) return false;
    now_ = std::max(now_, next);
    return true;
  }

  // One event, or one turn of a server's executor. False when nothing is left.
  bool Step() {
    const uint64_t place = Choose(events_.size() + servers_.size());
    if (place < events_.size()) {
      auto event = std::move(events_[place]);
      events_.erase(events_.begin() + place);
      event();
      return true;
    }
    if (servers_[place - events_.size()]->executor.RunOne()) return true;
    if (!events_.empty()) return true;
    for (auto& server : servers_) {
      if (server->executor.RunOne()) return true;
    }
    return PassTime();
  }

  std::string Digest() {
    ModelDigest digest;
    for (uint32_t t = 0; t < job_.tables.size(); ++t) {
      const TableSpec& table = job_.tables[t];
      std::map<Key, std::vector<float>> rows;
      for (auto& server : servers_) {
        const auto job = server->jobs->Find({"job", 1});
        if (!job.ok()) continue;
        for (const auto& [place, actor] : (*job)->partitions) {
          if (place.first != t) continue;
          actor->Run([this, &rows, width = table.width](Partition* partition) {
            result_.differing_repeats += partition->differing_repeats();
            const auto cursor = partition->state().store().Cursor();
            std::vector<Key> keys;
            std::vector<float> values;
            while (true) {
              cursor->Next(100, partition->state().sums(), &keys, &values);
              if (keys.empty()) break;
              for (size_t i = 0; i < keys.size(); ++i) {
                rows[keys[i]].assign(values.begin() + i * width,
                                     values.begin() + (i + 1) * width);
              }
            }
          });
        }
        server->executor.RunAll();
      }
      digest.BeginTable(table.name, table.width, table.kind);
      for (const auto& [key, values] : rows) {
        digest.AddRows(absl::MakeConstSpan(&key, 1), values);
      }
    }
    return digest.Finish();
  }

  MetricSums SumsOf(uint32_t rank) {
    MetricSums sums;
    for (auto& server : servers_) {
      const auto job = server->jobs->Find({"job", 1});
      if (!job.ok()) continue;
      PartitionActor* ledger = (*job)->Find(0, 0);
      if (ledger == nullptr) continue;
      ledger->Run([&](Partition* partition) {
        const auto& ends = partition->state().rank(rank).epoch_ends;
        if (!ends.empty()) sums = *MetricSums::FromArray(ends.back().sums);
      });
      server->executor.RunAll();
    }
    return sums;
  }

  void Close() {
    ranks_.clear();
    lives_.clear();
    events_.clear();
    for (auto& server : servers_) {
      server->jobs.reset();
      server->executor.RunAll();  // It frees the partitions.
    }
    servers_.clear();
  }

  const SimJob& job_;
  const SimWeather weather_;
  uint64_t draws_ = 0;
  SimResult result_;
  std::vector<std::unique_ptr<SimServer>> servers_;
  absl::Duration now_;
  std::shared_ptr<const TableRouter> router_;
  std::vector<LifePtr> ranks_;  // The current attempt of each.
  std::vector<LifePtr> lives_;  // All attempts.
  std::deque<absl::AnyInvocable<void()>> events_;
};

}  // namespace

SimResult RunSim(const SimJob& job, const SimWeather& weather) {
  return Sim(job, weather).Run();
}

}  // namespace seraph::testing
