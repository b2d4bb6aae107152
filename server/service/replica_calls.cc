#include "server/service/replica_calls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/planted_bug.h"
#include "common/checkpoint/folder_proof.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/replica_codec.h"
#include "server/service/answer_join.h"
#include "server/service/order_codec.h"

namespace seraph {
namespace {

// By rank, the highest.
void Raise(const std::vector<Clock>& clocks, std::vector<Clock>* highest) {
  if (highest->size() < clocks.size()) highest->resize(clocks.size());
  for (size_t rank = 0; rank < clocks.size(); ++rank) {
    (*highest)[rank] = std::max((*highest)[rank], clocks[rank]);
  }
}

void EncodePart(const CutPart& part, v1::CutPart* message) {
  message->set_table(part.table);
  message->set_partition(part.partition);
  message->set_first_key(part.range.first);
  message->set_last_key(part.range.last);
  message->set_rows(part.rows);
  for (const CutFile& file : part.files) {
    v1::CutFile* to = message->add_files();
    to->set_name(file.name);
    to->set_bytes(file.bytes);
    to->set_checksum(file.checksum);
  }
}

absl::Status VoidCut(uint64_t cut) {
  return absl::AbortedError(absl::StrCat("cut ", cut, " is void here"));
}

}  // namespace

absl::Status ReplicaCalls::CheckIncarnation(uint64_t incarnation) const {
  if (incarnation == jobs_.incarnation() ||
      IsPlanted(PlantedBug::kOrderFillsNewIncarnation)) {
    return absl::OkStatus();
  }
  return WithReason(absl::FailedPreconditionError(
                        "the order is for another start of this server"),
                    "OTHER_INCARNATION");
}

absl::Status ReplicaCalls::CheckOrder(uint64_t incarnation, uint64_t term) {
  SERAPH_RETURN_IF_ERROR(CheckIncarnation(incarnation));
  return terms_.Admit(term);
}

template <typename Request>
absl::StatusOr<std::shared_ptr<const ServedJob>> ReplicaCalls::FindJob(
    const Request& request) {
  SERAPH_RETURN_IF_ERROR(CheckOrder(request.incarnation(), request.term()));
  return jobs_.Find(JobNameOf(request.job()));
}

absl::StatusOr<std::shared_ptr<PartitionActor>> ReplicaCalls::FindReplica(
    const ServedJob& job, uint32_t table, uint32_t partition) {
  const auto found = job.partitions.find({table, partition});
  if (found != job.partitions.end()) return found->second;
  return absl::AbortedError(absl::StrCat("table ", table, ", partition ",
                                         partition, " is not led here"));
}

void ReplicaCalls::AssignPartitions(const v1::AssignPartitionsRequest& request,
                                    Done<v1::AssignPartitionsReply> done) {
  Assignment assignment;
  const auto decode = [&]() -> absl::Status {
    SERAPH_RETURN_IF_ERROR(CheckOrder(request.incarnation(), request.term()));
    assignment.job = JobNameOf(request.job());
    SERAPH_ASSIGN_OR_RETURN(assignment.setup, SetupFromProto(request.tables()));
    SERAPH_ASSIGN_OR_RETURN(assignment.replicas,
                            OrdersFromProto(request.replicas()));
    for (const ReplicaOrder& order : assignment.replicas) {
      if (order.duty == ReplicaDuty::kLead ||
          order.duty == ReplicaDuty::kFollow) {
        continue;
      }
      return absl::InvalidArgumentError(
          "a partition is assigned to be led or followed");
    }
    return absl::OkStatus();
  };
  if (absl::Status status = decode(); !status.ok()) return done(status);
  if (request.has_restore()) {
    assignment.restore = [this, restore = request.restore()](
                             const PartitionOptions& options,
                             const KeyRange& range) {
      return files_.Restore(restore.directory(), restore.manifest(), options,
                            range);
    };
  }
  v1::AssignPartitionsReply reply;
  reply.set_incarnation(jobs_.incarnation());
  reply.set_generation(assignment.job.generation);
  auto assign = [this, assignment = std::move(assignment), reply,
                 done = std::move(done)](const absl::Status& proven) mutable {
    if (!proven.ok()) return done(proven);
    jobs_.Assign(std::move(assignment),
                 [reply, done = std::move(done)](absl::Status status) mutable {
                   if (!status.ok()) return done(std::move(status));
                   done(std::move(reply));
                 });
  };
  if (!request.has_proof()) return assign(absl::OkStatus());
  files_executor_.Schedule([proof = request.proof(),
                            who = absl::StrCat(jobs_.incarnation()),
                            assign = std::move(assign)]() mutable {
    assign(SeeToken(proof.directory(), proof.token(),
                    proof.read_only() ? "" : who));
  });
}

void ReplicaCalls::DropJob(const v1::DropJobRequest& request,
                           Done<v1::DropJobReply> done) {
  absl::Status status = request.incarnation() == 0
                            ? terms_.Admit(request.term())
                            : CheckOrder(request.incarnation(), request.term());
  if (!status.ok()) return done(std::move(status));
  const JobName name = JobNameOf(request.job());
  ForgetCuts(name);
  files_.Forget(name);
  jobs_.Drop(name, [done = std::move(done)](absl::Status) mutable {
    done(v1::DropJobReply());
  });
}

void ReplicaCalls::Configure(const v1::ConfigureRequest& request,
                             Done<v1::ConfigureReply> done) {
  std::optional<JobSetup> setup;
  std::vector<ReplicaOrder> orders;
  const auto decode = [&]() -> absl::Status {
    SERAPH_RETURN_IF_ERROR(CheckOrder(request.incarnation(), request.term()));
    if (request.has_tables()) {
      SERAPH_ASSIGN_OR_RETURN(setup, SetupFromProto(request.tables()));
    }
    SERAPH_ASSIGN_OR_RETURN(orders, OrdersFromProto(request.replicas()));
    return absl::OkStatus();
  };
  if (absl::Status status = decode(); !status.ok()) return done(status);
  v1::ConfigureReply reply;
  reply.set_incarnation(jobs_.incarnation());
  reply.set_generation(request.job().generation());
  jobs_.Configure(
      JobNameOf(request.job()), setup, std::move(orders),
      [reply, done = std::move(done)](
          absl::StatusOr<std::vector<ReplicaState>> states) mutable {
        if (!states.ok()) return done(states.status());
        for (const ReplicaState& state : *states) {
          ToProto(state, reply.add_replicas());
        }
        done(std::move(reply));
      });
}

void ReplicaCalls::Recruit(const v1::RecruitRequest& request,
                           Done<v1::RecruitReply> done) {
  const auto job = FindJob(request);
  if (!job.ok()) return done(job.status());
  const auto recruit = FromProto(request.recruit());
  if (!recruit.ok()) return done(recruit.status());
  const auto actor = FindReplica(**job, request.table(), request.partition());
  if (!actor.ok()) return done(actor.status());
  v1::RecruitReply reply;
  reply.set_epoch(request.epoch());
  reply.set_recruit(recruit->incarnation);
  (*actor)->Recruit(request.epoch(), *recruit,
                    [reply, done = std::move(done)](seraph::Done end) mutable {
                      if (!end.status.ok()) return done(std::move(end.status));
                      done(std::move(reply));
                    });
}

void ReplicaCalls::HandOver(const v1::HandOverRequest& request,
                            Done<v1::HandOverReply> done) {
  const auto job = FindJob(request);
  if (!job.ok()) return done(job.status());
  const auto actor = FindReplica(**job, request.table(), request.partition());
  if (!actor.ok()) return done(actor.status());
  (*actor)->HandOver(request.epoch(),
                     [done = std::move(done)](seraph::Done end) mutable {
                       if (!end.status.ok()) return done(std::move(end.status));
                       v1::HandOverReply reply;
                       ToProto(end.last, reply.mutable_last());
                       done(std::move(reply));
                     });
}

void ReplicaCalls::BeginCut(const v1::BeginCutRequest& request,
                            Done<v1::BeginCutReply> done) {
  const auto job = FindJob(request);
  if (!job.ok()) return done(job.status());
  std::vector<std::shared_ptr<PartitionActor>> led;
  for (const auto& [place, actor] : (*job)->partitions) {
    if (actor->leads()) led.push_back(actor);
  }
  using Clocks = absl::StatusOr<std::vector<Clock>>;
  auto join = AnswerJoin<std::optional<Clocks>>::Of(
      led.size(), [done = std::move(done)](
                      std::vector<std::optional<Clocks>> answers) mutable {
        std::vector<Clock> highest;
        for (const std::optional<Clocks>& clocks : answers) {
          if (!clocks->ok()) return done(clocks->status());
          Raise(**clocks, &highest);
        }
        v1::BeginCutReply reply;
        ClocksToProto(highest, reply.mutable_clocks());
        done(std::move(reply));
      });
  for (size_t i = 0; i < led.size(); ++i) {
    led[i]->BeginCut(
        request.cut(), request.at_rest(),
        [join, i](Clocks clocks) { join->Set(i, std::move(clocks)); });
  }
}

void ReplicaCalls::TakeCut(const v1::TakeCutRequest& request,
                           Done<v1::TakeCutReply> done) {
  const auto job = FindJob(request);
  if (!job.ok()) return done(job.status());
  const JobName& name = (*job)->name;
  std::vector<std::shared_ptr<PartitionActor>> actors;
  std::vector<ServedJob::Place> places;
  for (const v1::ReplicaOrder& wanted : request.partitions()) {
    auto actor = FindReplica(**job, wanted.table(), wanted.partition());
    if (!actor.ok() || !(*actor)->leads() ||
        (*actor)->gauges().epoch != wanted.epoch()) {
      return done(VoidCut(request.cut()));
    }
    actors.push_back(*std::move(actor));
    places.emplace_back(wanted.table(), wanted.partition());
  }
  const CutKey key{name.id, name.generation, request.cut()};
  {
    MutexLock lock(&mu_);
    // Those before it are void, whether or not that was heard of here.
    for (auto it = cuts_.lower_bound({name.id, name.generation, 0});
         it != cuts_.end() && it->first < key; ++it) {
      it->second.copies.clear();
    }
    Cut& cut = cuts_[key];
    cut.places = places;
    cut.base = request.base();
  }
  auto join = AnswerJoin<seraph::Done>::Of(
      actors.size(), [this, key, actors, done = std::move(done)](
                         std::vector<seraph::Done> all) mutable {
        std::vector<Clock> clocks;
        for (const seraph::Done& one : all) {
          if (!one.status.ok()) return done(one.status);
          // A rank may stand at a clock in one and behind its epoch in another:
          // the manifest has one clock for all.
          if (!clocks.empty() && one.clocks != clocks) {
            return done(absl::AbortedError(
                "the copies of two partitions are of different clocks"));
          }
          clocks = one.clocks;
        }
        v1::TakeCutReply reply;
        ClocksToProto(clocks, reply.mutable_clocks());
        KeepCopies(key, std::move(actors), std::move(done), std::move(reply));
      });
  const std::vector<Clock> clocks = ClocksFromProto(request.clocks());
  for (size_t i = 0; i < actors.size(); ++i) {
    const Partition::Since since =
        request.base() == 0 ? Partition::Since{}
                            : files_.SinceOf(name, places[i], request.base());
    actors[i]->TakeCut(
        request.cut(), clocks, request.at_rest(), since,
        [join, i](seraph::Done end) { join->Set(i, std::move(end)); });
  }
}

void ReplicaCalls::KeepCopies(
    const CutKey& key, std::vector<std::shared_ptr<PartitionActor>> actors,
    Done<v1::TakeCutReply> done, v1::TakeCutReply reply) {
  const uint64_t number = std::get<2>(key);
  auto join = AnswerJoin<int>::Of(
      actors.size(), [number, done = std::move(done),
                      reply = std::move(reply)](std::vector<int> kept) mutable {
        if (std::count(kept.begin(), kept.end(), 0) > 0) {
          return done(VoidCut(number));
        }
        done(std::move(reply));
      });
  for (size_t i = 0; i < actors.size(); ++i) {
    const PartitionOptions& options = actors[i]->options();
    const ServedJob::Place place{options.table_index, options.partition};
    actors[i]->Run([this, key, number, place, join, i](Partition* partition) {
      absl::StatusOr<PartitionCopy> copy = VoidCut(number);
      if (partition != nullptr) copy = partition->MoveCopy(number);
      join->Set(i, KeepCopy(key, std::move(copy), place) ? 1 : 0);
    });
  }
}

bool ReplicaCalls::KeepCopy(const CutKey& key,
                            absl::StatusOr<PartitionCopy> copy,
                            const ServedJob::Place& place) {
  MutexLock lock(&mu_);
  const auto found = cuts_.find(key);
  if (found == cuts_.end()) return false;
  // A repeat of the order may have taken it out before.
  if (!copy.ok()) return found->second.copies.contains(place);
  found->second.copies.emplace(place, *std::move(copy));
  return true;
}

void ReplicaCalls::WriteCut(const v1::WriteCutRequest& request,
                            Done<v1::WriteCutReply> done) {
  const auto job = FindJob(request);
  if (!job.ok()) return done(job.status());
  const CutKey key{request.job().id(), request.job().generation(),
                   request.cut()};
  std::map<ServedJob::Place, PartitionCopy> copies;
  absl::StatusOr<v1::WriteCutReply> written = VoidCut(request.cut());
  bool begin = false;
  {
    MutexLock lock(&mu_);
    const auto found = cuts_.find(key);
    if (found != cuts_.end()) {
      Cut& cut = found->second;
      written = cut.written;
      // Copies that lack what has not changed since `base` are of no other use.
      const bool other_base = cut.base != 0 && cut.base != request.base();
      const bool is_whole = cut.copies.size() == cut.places.size();
      if (!cut.writing && (other_base || !is_whole)) {
        written = VoidCut(request.cut());
      }
      if (absl::IsUnavailable(written.status())) {
        cut.waiting.push_back(std::move(done));
        if (cut.writing) return;
        begin = cut.writing = true;
        copies.swap(cut.copies);
      }
    }
  }
  if (!begin) return done(std::move(written));
  WriteParts((*job)->name, request, std::move(copies));
}

// Parts are written one after the other on each thread of the executor.
struct ReplicaCalls::Writing {
  CutKey key;
  Mutex mu;
  size_t missing ABSL_GUARDED_BY(mu) = 0;
  absl::Status status ABSL_GUARDED_BY(mu);
  v1::WriteCutReply reply ABSL_GUARDED_BY(mu);
};

void ReplicaCalls::WriteParts(
    const JobName& name, const v1::WriteCutRequest& request,
    std::map<ServedJob::Place, PartitionCopy> copies) {
  const CutKey key{name.id, name.generation, request.cut()};
  if (copies.empty()) return FinishWrite(key, v1::WriteCutReply());
  auto writing = std::make_shared<Writing>();
  writing->key = key;
  {
    MutexLock lock(&writing->mu);
    writing->missing = copies.size();
  }
  const auto add = [this, writing](absl::StatusOr<CutPart> part) {
    absl::StatusOr<v1::WriteCutReply> reply;
    {
      MutexLock lock(&writing->mu);
      if (part.ok()) {
        EncodePart(*part, writing->reply.add_parts());
      } else if (writing->status.ok()) {
        writing->status = part.status();
      }
      if (--writing->missing > 0) return;
      if (writing->status.ok()) {
        reply = std::move(writing->reply);
      } else {
        reply = writing->status;
      }
    }
    FinishWrite(writing->key, std::move(reply));
  };
  for (auto& [place, copy] : copies) {
    files_executor_.Schedule(
        [this, add, name, cut = request.cut(), base = request.base(),
         directory = request.directory(), copy = std::move(copy)]() mutable {
          add(files_.Write(directory, name, cut, base, std::move(copy)));
        });
  }
}

void ReplicaCalls::FinishWrite(const CutKey& key,
                               absl::StatusOr<v1::WriteCutReply> reply) {
  std::vector<Done<v1::WriteCutReply>> waiting;
  {
    MutexLock lock(&mu_);
    const auto found = cuts_.find(key);
    if (found == cuts_.end()) return;  // Dropped, and all were answered.
    found->second.written = reply;
    waiting.swap(found->second.waiting);
  }
  for (Done<v1::WriteCutReply>& done : waiting) done(reply);
}

void ReplicaCalls::DropCut(const v1::DropCutRequest& request,
                           Done<v1::DropCutReply> done) {
  const auto job = FindJob(request);
  if (!job.ok()) return done(job.status());
  for (const auto& [place, actor] : (*job)->partitions) {
    actor->DropCut(request.cut());
  }
  std::vector<Done<v1::WriteCutReply>> waiting;
  {
    MutexLock lock(&mu_);
    const auto found = cuts_.find(
        {request.job().id(), request.job().generation(), request.cut()});
    if (found != cuts_.end()) {
      waiting.swap(found->second.waiting);
      cuts_.erase(found);
    }
  }
  for (Done<v1::WriteCutReply>& one : waiting) one(VoidCut(request.cut()));
  done(v1::DropCutReply());
}

void ReplicaCalls::ForgetCuts(const JobName& name) {
  std::vector<Done<v1::WriteCutReply>> waiting;
  {
    MutexLock lock(&mu_);
    for (auto it = cuts_.lower_bound({name.id, 0, 0});
         it != cuts_.end() && std::get<0>(it->first) == name.id &&
         std::get<1>(it->first) <= name.generation;) {
      std::move(it->second.waiting.begin(), it->second.waiting.end(),
                std::back_inserter(waiting));
      it = cuts_.erase(it);
    }
  }
  for (Done<v1::WriteCutReply>& one : waiting) {
    one(absl::AbortedError("the job was dropped"));
  }
}

void ReplicaCalls::Deliver(WithBulk<v1::ReplicaMessage> message,
                           absl::AnyInvocable<void()> taken) {
  const v1::ReplicaMessage& head = message.head;
  if (head.to() != jobs_.incarnation()) return taken();
  const auto job = jobs_.Find(JobNameOf(head.job()));
  if (!job.ok()) return taken();
  PartitionActor* const actor = (*job)->Find(head.table(), head.partition());
  if (actor == nullptr) return taken();
  actor->Deliver(std::move(message), std::move(taken));
}

}  // namespace seraph
