#include "tests/sim/training_sim.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <utility>

#include "common/model_file/digest.h"
#include "common/testing/manual_executor.h"
#include "gtest/gtest.h"
#include "worker/train/batch_stream.h"

namespace seraph::testing {
namespace {

// A rank's records from memory.
class MemoryStream final : public BatchStream {
 public:
  explicit MemoryStream(const Batch* data) : data_(*data) {}

  absl::Status Open(uint32_t epoch, uint64_t record) override {
    next_ = std::min<uint64_t>(record, data_.size());
    return absl::OkStatus();
  }

  absl::Status Next(size_t n, Batch* batch) override {
    batch->Clear();
    for (; batch->size() < n && next_ < data_.size(); ++next_) {
      batch->AppendRow(data_, next_);
    }
    return absl::OkStatus();
  }

 private:
  const Batch& data_;
  size_t next_ = 0;
};

// Far more than any of the jobs takes: whoever gets here goes round in circles.
constexpr int kMaxSteps = 1'000'000;

struct SimServer {
  explicit SimServer(uint64_t incarnation)
      : jobs(std::make_unique<JobDirectory>(&executor, uint64_t{1} << 30)),
        calls(jobs.get(), incarnation) {}

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
    for (uint32_t rank = 0; rank < job_.data.size(); ++rank) StartRank(rank);
    for (int steps = 0; steps < kMaxSteps && Step(); ++steps) {
    }
    result_.ended = ended_ == job_.data.size();
    result_.digest = Digest();
    for (uint32_t rank = 0; rank < job_.data.size(); ++rank) {
      result_.sums.push_back(SumsOf(rank));
    }
    Close();
    return result_;
  }

 private:
  struct Rank {
    std::unique_ptr<Model> model;
    std::unique_ptr<MemoryStream> stream;
    std::unique_ptr<RankMachine> machine;
    std::unique_ptr<TableClient> client;
    std::map<uint64_t, uint64_t> step_ids;
  };

  uint64_t Choose(uint64_t below) {
    return ToBelow(Draw(weather_.seed, {draws_++}), below);
  }
  bool Happens(double share) {
    return ToUnit(Draw(weather_.seed, {draws_++})) < share;
  }

  void Place() {
    Assignment assignment;
    assignment.job = {"job", 1};
    assignment.ranks = job_.data.size();
    assignment.sync = job_.sync;
    assignment.steps_per_epoch = 5;
    assignment.epochs = job_.epochs;
    assignment.tables = job_.tables;
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
        by_server[server].pieces.push_back({t, p, 1});
      }
    }
    for (int server = 0; server < weather_.servers; ++server) {
      servers_.push_back(std::make_unique<SimServer>(server + 1));
      const absl::Status status =
          servers_[server]->jobs->Assign(by_server[server]);
      EXPECT_TRUE(status.ok()) << status;
    }
    auto router = TableRouter::Make(job_.tables, placements);
    EXPECT_TRUE(router.ok()) << router.status();
    router_ = std::make_unique<TableRouter>(*std::move(router));
  }

  // The server's place here, of the router's server.
  SimServer& ServerOf(size_t server) {
    return *servers_[router_->servers()[server].incarnation - 1];
  }

  void StartRank(uint32_t number) {
    auto& rank = ranks_.emplace_back(std::make_unique<Rank>());
    rank->model = MakeModel(job_.model);
    rank->stream = std::make_unique<MemoryStream>(&job_.data[number]);
    rank->machine = std::make_unique<RankMachine>(
        RankOptions{.rank = number,
                    .epochs = job_.epochs,
                    .batch_size = job_.batch_size,
                    .pipeline = job_.sync.spec.pipeline},
        rank->model.get(), rank->stream.get(), nullptr);
    rank->client = std::make_unique<TableClient>(
        TableClientOptions{.job = "job",
                           .rank = number,
                           .max_message_bytes = weather_.max_message_bytes,
                           .seed = number},
        router_.get());
    v1::BeginAttemptRequest request;
    request.mutable_header()->mutable_job()->set_id("job");
    request.mutable_header()->mutable_job()->set_generation(1);
    request.mutable_header()->mutable_rank()->set_rank(number);
    request.mutable_header()->mutable_rank()->set_attempt(1);
    for (auto& server : servers_) {
      server->calls.BeginAttempt(request, [](auto reply) {
        EXPECT_TRUE(reply.ok() || absl::IsNotFound(reply.status()))
            << reply.status();
      });
      server->executor.RunAll();
    }
    RankActions actions;
    rank->machine->Begin(Clock{}, {}, &actions);
    Do(number, std::move(actions));
  }

  void Do(uint32_t number, RankActions actions) {
    Rank& rank = *ranks_[number];
    for (const auto& start : actions.steps) {
      std::vector<TableClient::Outgoing> outgoing;
      const auto step = rank.client->Start(start.step, &outgoing);
      ASSERT_TRUE(step.ok()) << step.status();
      rank.step_ids[*step] = start.id;
      Send(number, std::move(outgoing));
    }
    if (actions.ended.has_value()) {
      EXPECT_TRUE(actions.ended->ok()) << *actions.ended;
      ++ended_;
    }
  }

  void Send(uint32_t rank, std::vector<TableClient::Outgoing> outgoing) {
    for (auto& one : outgoing) {
      // A stream takes one reply to a request, however many come.
      auto answered = std::make_shared<bool>(false);
      if (Happens(weather_.duplicate)) {
        ++result_.duplicated;
        Deliver(rank, one, answered);
      }
      if (Happens(weather_.lose)) {
        ++result_.lost;
        if (!std::exchange(*answered, true)) {
          Answer(rank, one.message, absl::UnavailableError("lost request"));
        }
      } else {
        Deliver(rank, std::move(one), std::move(answered));
      }
    }
  }

  void Deliver(uint32_t rank, TableClient::Outgoing one,
               std::shared_ptr<bool> answered) {
    events_.push_back([this, rank, one = std::move(one), answered] {
      ServerOf(one.server)
          .calls.Exchange(*one.request, [this, rank, message = one.message,
                                         answered](v1::ExchangeReply reply) {
            if (std::exchange(*answered, true)) return;
            if (Happens(weather_.lose)) {
              ++result_.lost;
              Answer(rank, message, absl::UnavailableError("lost reply"));
            } else {
              Answer(rank, message, std::move(reply));
            }
          });
    });
  }

  void Answer(uint32_t number, uint64_t message,
              absl::StatusOr<v1::ExchangeReply> reply) {
    events_.push_back([this, number, message, reply = std::move(reply)] {
      Rank& rank = *ranks_[number];
      std::vector<TableClient::Outgoing> outgoing;
      auto finished = rank.client->OnReply(message, reply, &outgoing);
      Send(number, std::move(outgoing));
      if (!finished.has_value()) return;
      const uint64_t id = rank.step_ids.at(finished->step);
      RankActions actions;
      rank.machine->OnStep(id, *std::move(finished), &actions);
      Do(number, std::move(actions));
    });
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
    return false;
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
          actor->Run([&rows, width = table.width](Partition& partition) {
            const auto cursor = partition.state().store().Cursor();
            std::vector<Key> keys;
            std::vector<float> values;
            while (true) {
              cursor->Next(100, partition.state().sums(), &keys, &values);
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
      ledger->Run([&](Partition& partition) {
        const auto& ends = partition.state().rank(rank).epoch_ends;
        if (!ends.empty()) sums = *MetricSums::FromArray(ends.back().sums);
      });
      server->executor.RunAll();
    }
    return sums;
  }

  // Frees the servers: their actors wait for their executors meanwhile.
  void Close() {
    ranks_.clear();
    events_.clear();
    std::atomic<bool> closed = false;
    std::thread runner([this, &closed] {
      while (!closed) {
        for (auto& server : servers_) server->executor.RunAll();
        std::this_thread::yield();
      }
    });
    for (auto& server : servers_) server->jobs.reset();
    closed = true;
    runner.join();
    servers_.clear();
  }

  const SimJob& job_;
  const SimWeather weather_;
  uint64_t draws_ = 0;
  SimResult result_;
  std::vector<std::unique_ptr<SimServer>> servers_;
  std::unique_ptr<TableRouter> router_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::deque<absl::AnyInvocable<void()>> events_;
  size_t ended_ = 0;
};

}  // namespace

SimResult RunSim(const SimJob& job, const SimWeather& weather) {
  return Sim(job, weather).Run();
}

}  // namespace seraph::testing
