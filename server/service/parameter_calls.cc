#include "server/service/parameter_calls.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status/errors.h"
#include "common/wire/cluster_codec.h"
#include "common/wire/exchange_bulk.h"
#include "common/wire/push_parts.h"
#include "common/wire/value_codec.h"
#include "server/service/answer_join.h"
#include "server/service/ledger_codec.h"
#include "server/service/order_codec.h"
#include "server/service/request_codec.h"

namespace seraph {
namespace {

// Requests of at most so many bytes of keys and values run on the thread that
// brings them, where their partitions are free: to wake others would take
// longer.
constexpr size_t kHereBytes = 16 << 10;

size_t BytesOf(const DecodedPart<PushMessage>& part) {
  return part.message.keys.size() * sizeof(Key) +
         part.message.values.size() * sizeof(float);
}
size_t BytesOf(const DecodedPart<PullMessage>& part) {
  return part.message.Keys().size() *
         (sizeof(Key) + part.form.width * sizeof(float));
}

// What may take long, whatever its size, never runs here: the walk over all
// rows at an epoch's end, functions, and a chunk that makes an entry whole.
bool IsPlain(const PushMessage& message) {
  return !message.ends_epoch && message.calls.empty() &&
         message.call == nullptr && message.chunks == 1;
}
bool IsPlain(const PullMessage& message) { return message.call == nullptr; }

template <typename Parts>
bool RunsHere(const Parts& parts) {
  size_t bytes = 0;
  for (const auto& part : parts) {
    if (part.actor == nullptr) continue;
    if (!IsPlain(part.message)) return false;
    bytes += BytesOf(part);
  }
  return bytes <= kHereBytes;
}

void SendPulls(std::vector<DecodedPart<PullMessage>> parts,
               const std::shared_ptr<AnswerJoin<Answer>>& join) {
  const bool here = RunsHere(parts);
  for (size_t i = 0; i < parts.size(); ++i) {
    DecodedPart<PullMessage>& part = parts[i];
    if (part.actor == nullptr) {
      join->Set(i, std::move(part.refusal));
      continue;
    }
    const auto later = [&] {
      return [join, i](Answer answer) { join->Set(i, std::move(answer)); };
    };
    if (!here) {
      part.actor->Pull(std::move(part.message), later());
    } else if (auto answer =
                   part.actor->PullHere(std::move(part.message), later);
               answer.has_value()) {
      join->Set(i, *std::move(answer));
    }
  }
}

// `reservations`: by part, as AdmitPush gave them.
void SendPushes(const ServedJob& job, PushParts* parts,
                const std::vector<Reservation>& reservations,
                const std::shared_ptr<AnswerJoin<Answer>>& join) {
  const bool here = RunsHere(*parts);
  for (size_t i = 0; i < parts->size(); ++i) {
    DecodedPart<PushMessage>& part = (*parts)[i];
    const auto later = [&] {
      return [join, i](Answer answer) { join->Set(i, std::move(answer)); };
    };
    if (part.actor == nullptr) {
      join->Set(i, std::move(part.refusal));
    } else if (!reservations.empty() && reservations[i].has_value()) {
      part.actor->Push(std::move(part.message),
                       [join, i, admission = job.admission,
                        entry = *reservations[i]](Answer answer) {
                         admission->End(entry);
                         join->Set(i, std::move(answer));
                       });
    } else if (!here) {
      part.actor->Push(std::move(part.message), later());
    } else if (auto answer =
                   part.actor->PushHere(std::move(part.message), later);
               answer.has_value()) {
      join->Set(i, *std::move(answer));
    }
  }
}

std::vector<RowForm> FormsOf(
    const std::vector<DecodedPart<PullMessage>>& parts) {
  std::vector<RowForm> forms;
  forms.reserve(parts.size());
  for (const auto& part : parts) forms.push_back(part.form);
  return forms;
}

// `forms`: by answer.
WithRows<v1::PullReply> EncodePullReply(std::vector<Answer> answers,
                                        const std::vector<RowForm>& forms) {
  WithRows<v1::PullReply> reply;
  reply.rows.reserve(answers.size());
  reply.head.mutable_results()->Reserve(answers.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    Answer& answer = answers[i];
    EncodeResult(answer, reply.head.add_results());
    const RowForm& form = forms[i];
    if (form.kind == ValueKind::kFloat32) {
      reply.rows.push_back(std::move(answer.values));
      continue;
    }
    // A weight beyond the range becomes the largest there is.
    std::string bytes;
    EncodeValues(form.kind, form.width, {}, answer.values, nullptr, &bytes);
    reply.rows.push_back(std::move(bytes));
  }
  return reply;
}

bool IsTaken(const Answer& answer) {
  return answer.outcome.code == PartCode::kOk;
}

WithRows<v1::PushReply> EncodePushReply(const std::vector<Answer>& answers,
                                        bool reads_taken) {
  WithRows<v1::PushReply> reply;
  if (reads_taken && std::all_of(answers.begin(), answers.end(), IsTaken)) {
    reply.head.mutable_taken()->Reserve(answers.size() * kNumbersPerTaken);
    for (const Answer& answer : answers) {
      AddTaken(answer.epoch, answer.position, &reply.head);
    }
    return reply;
  }
  reply.head.mutable_results()->Reserve(answers.size());
  for (const Answer& answer : answers) {
    EncodeResult(answer, reply.head.add_results());
  }
  return reply;
}

auto DecodePullOf(const BulkOutside& bulk, const v1::PullRequest& request,
                  const ServedJob& job) {
  return DecodePull(request, bulk.Bulk(kPullKeys, request.keys()), job);
}

absl::Status DecodePushOf(const BulkOutside& bulk,
                          const v1::PushRequest& request, const ServedJob& job,
                          PushParts* parts) {
  return DecodePush(request, bulk.Bulk(kPushKeys, request.keys()),
                    bulk.Bulk(kPushValues, request.values()), job, parts);
}

// A part of an exchange reply, or the error in its place.
template <typename Reply, typename Place>
void Fill(absl::StatusOr<WithRows<Reply>> result,
          WithRows<v1::ExchangeReply>* with_rows, Place place) {
  v1::ExchangeReply* const reply = &with_rows->head;
  if (result.ok()) {
    *place(reply) = std::move(result->head);
    with_rows->rows = std::move(result->rows);
  } else {
    reply->set_error_code(static_cast<int>(result.status().code()));
    reply->set_error_message(std::string(result.status().message()));
    reply->set_error_reason(ReasonOf(result.status()));
    if (const auto after = RetryAfterOf(result.status()); after.has_value()) {
      reply->set_retry_after_ms(absl::ToInt64Milliseconds(*after));
    }
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ServedJob>> ParameterCalls::FindJob(
    const v1::RequestHeader& header) const {
  if (header.incarnation() != 0 &&
      header.incarnation() != jobs_.incarnation()) {
    return WithReason(absl::FailedPreconditionError(
                          "the message is for an earlier start of this server"),
                      "OTHER_INCARNATION");
  }
  return jobs_.Find(JobNameOf(header.job()));
}

void ParameterCalls::Pull(const WithBulk<v1::PullRequest>& request,
                          Done<WithRows<v1::PullReply>> done) {
  HeldPull(request, request.head,
           [done = std::move(done)](auto reply, RequestHold) mutable {
             done(std::move(reply));
           });
}

void ParameterCalls::HeldPull(const BulkOutside& bulk,
                              const v1::PullRequest& request,
                              HeldDone<v1::PullReply> done) {
  const auto job = FindJob(request.header());
  if (!job.ok()) return done(job.status(), {});
  auto parts = DecodePullOf(bulk, request, **job);
  if (!parts.ok()) return done(parts.status(), {});
  RequestHold hold = AdmitPull(**job, &*parts);
  auto join = AnswerJoin<Answer>::Of(
      parts->size(),
      [forms = FormsOf(*parts), hold = std::move(hold),
       done = std::move(done)](std::vector<Answer> answers) mutable {
        done(EncodePullReply(std::move(answers), forms), std::move(hold));
      });
  SendPulls(*std::move(parts), join);
}

void ParameterCalls::Push(const WithBulk<v1::PushRequest>& request,
                          Done<WithRows<v1::PushReply>> done) {
  HeldPush(request, request.head,
           [done = std::move(done)](auto reply, RequestHold) mutable {
             done(std::move(reply));
           });
}

void ParameterCalls::HeldPush(const BulkOutside& bulk,
                              const v1::PushRequest& request,
                              HeldDone<v1::PushReply> done) {
  const auto job = FindJob(request.header());
  if (!job.ok()) return done(job.status(), {});
  PushParts parts;
  if (absl::Status decoded = DecodePushOf(bulk, request, **job, &parts);
      !decoded.ok()) {
    return done(std::move(decoded), {});
  }
  std::vector<Reservation> reservations;
  RequestHold hold = AdmitPush(**job, &parts, &reservations);
  auto join = AnswerJoin<Answer>::Of(
      parts.size(),
      [reads_taken = request.reads_taken(), hold = std::move(hold),
       done = std::move(done)](std::vector<Answer> answers) mutable {
        done(EncodePushReply(answers, reads_taken), std::move(hold));
      });
  SendPushes(**job, &parts, reservations, join);
}

void ParameterCalls::PushPull(const WithBulk<v1::PushPullRequest>& request,
                              Done<WithRows<v1::PushPullReply>> done) {
  HeldPushPull(request, request.head,
               [done = std::move(done)](auto reply, RequestHold) mutable {
                 done(std::move(reply));
               });
}

void ParameterCalls::HeldPushPull(const BulkOutside& bulk,
                                  const v1::PushPullRequest& request,
                                  HeldDone<v1::PushPullReply> done) {
  const auto push_job = FindJob(request.push().header());
  if (!push_job.ok()) return done(push_job.status(), {});
  const auto pull_job = FindJob(request.pull().header());
  if (!pull_job.ok()) return done(pull_job.status(), {});
  // Both are decoded before either is sent: a malformed request does nothing.
  PushParts pushes;
  if (absl::Status decoded =
          DecodePushOf(bulk, request.push(), **push_job, &pushes);
      !decoded.ok()) {
    return done(std::move(decoded), {});
  }
  auto pulls = DecodePullOf(bulk, request.pull(), **pull_job);
  if (!pulls.ok()) return done(pulls.status(), {});

  std::vector<Reservation> reservations;
  RequestHold hold = AdmitPush(**push_job, &pushes, &reservations);
  for (JobAdmission::Hold& one : AdmitPull(**pull_job, &*pulls)) {
    hold.push_back(std::move(one));
  }
  // The pull follows when the push is in: one that was refused would leave
  // the pull waiting for an entry that nobody sends again before this reply.
  auto join = AnswerJoin<Answer>::Of(
      pushes.size(),
      [job = *pull_job, pulls = *std::move(pulls),
       reads_taken = request.push().reads_taken(), hold = std::move(hold),
       done = std::move(done)](std::vector<Answer> pushed) mutable {
        auto reply = std::make_shared<WithRows<v1::PushPullReply>>();
        *reply->head.mutable_push() = EncodePushReply(pushed, reads_taken).head;
        const bool refused =
            !std::all_of(pushed.begin(), pushed.end(), IsTaken);
        if (refused) {
          for (auto& part : pulls) {
            part.actor = nullptr;
            part.refusal.outcome = {
                .code = PartCode::kRetryAfter,
                .message = "the push before it was refused"};
          }
        }
        auto pull_join = AnswerJoin<Answer>::Of(
            pulls.size(),
            [reply, forms = FormsOf(pulls), hold = std::move(hold),
             done = std::move(done)](std::vector<Answer> pulled) mutable {
              auto rows = EncodePullReply(std::move(pulled), forms);
              *reply->head.mutable_pull() = std::move(rows.head);
              reply->rows = std::move(rows.rows);
              done(std::move(*reply), std::move(hold));
            });
        SendPulls(std::move(pulls), pull_join);
      });
  SendPushes(**push_job, &pushes, reservations, join);
}

void ParameterCalls::Exchange(
    const v1::ExchangeRequest& request, const BulkOutside& bulk,
    absl::AnyInvocable<void(WithRows<v1::ExchangeReply>, RequestHold)> done) {
  const uint64_t number = request.number();
  auto reply_with = [number, done = std::move(done)](
                        auto result, RequestHold hold, auto place) mutable {
    WithRows<v1::ExchangeReply> reply;
    reply.head.set_number(number);
    Fill(std::move(result), &reply, place);
    done(std::move(reply), std::move(hold));
  };
  switch (request.body_case()) {
    case v1::ExchangeRequest::kPull:
      return HeldPull(bulk, request.pull(),
                      [reply_with = std::move(reply_with)](
                          auto result, RequestHold hold) mutable {
                        reply_with(
                            std::move(result), std::move(hold),
                            [](auto* reply) { return reply->mutable_pull(); });
                      });
    case v1::ExchangeRequest::kPush:
      return HeldPush(bulk, request.push(),
                      [reply_with = std::move(reply_with)](
                          auto result, RequestHold hold) mutable {
                        reply_with(
                            std::move(result), std::move(hold),
                            [](auto* reply) { return reply->mutable_push(); });
                      });
    case v1::ExchangeRequest::kPushPull:
      return HeldPushPull(
          bulk, request.push_pull(),
          [reply_with = std::move(reply_with)](auto result,
                                               RequestHold hold) mutable {
            reply_with(std::move(result), std::move(hold),
                       [](auto* reply) { return reply->mutable_push_pull(); });
          });
    case v1::ExchangeRequest::BODY_NOT_SET:
      return reply_with(absl::StatusOr<WithRows<v1::PullReply>>(
                            absl::InvalidArgumentError("an empty request")),
                        {}, [](auto* reply) { return reply->mutable_pull(); });
  }
}

// A call to BeginAttempt, until it is answered.
struct ParameterCalls::Beginning {
  // Nullopt: it has not begun there yet.
  struct Partition {
    ServedJob::Place place;
    bool is_ledger = false;
    std::optional<seraph::Done> begun;
  };

  // Sets what one partition says; answers after the last.
  void Set(size_t index, seraph::Done begun) {
    {
      MutexLock lock(&mu);
      partitions[index].begun = std::move(begun);
      if (--missing > 0) return;
    }
    AnswerOnce();
  }

  void AnswerOnce() {
    Done<v1::BeginAttemptReply> answer;
    absl::StatusOr<v1::BeginAttemptReply> reply;
    {
      MutexLock lock(&mu);
      if (done == nullptr) return;
      answer = std::exchange(done, nullptr);
      reply = Reply();
    }
    answer(std::move(reply));
  }

  absl::StatusOr<v1::BeginAttemptReply> Reply() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    v1::BeginAttemptReply reply;
    std::optional<Clock> least;
    Clock furthest;
    for (const Partition& one : partitions) {
      // Led elsewhere, or not begun: the rank asks again.
      if (!one.begun.has_value()) continue;
      if (absl::IsUnavailable(one.begun->status)) continue;
      if (!one.begun->status.ok()) return one.begun->status;
      const RankProgress& progress = one.begun->progress;
      least = std::min(least.value_or(progress.next), progress.next);
      furthest = std::max(furthest, progress.next);
      v1::BegunPartition* begun = reply.add_partitions();
      begun->set_table(one.place.first);
      begun->set_partition(one.place.second);
      if (!one.is_ledger) continue;
      for (const LedgerRecord& record : progress.ledger) {
        EncodeLedger(record, reply.add_ledger());
      }
    }
    if (least.has_value()) {
      ToProto(*least, reply.mutable_clock());
      ToProto(furthest, reply.mutable_furthest());
    }
    return reply;
  }

  std::optional<absl::Duration> since;  // Of Tick alone.

  Mutex mu;
  std::vector<Partition> partitions ABSL_GUARDED_BY(mu);
  size_t missing ABSL_GUARDED_BY(mu) = 0;
  Done<v1::BeginAttemptReply> done ABSL_GUARDED_BY(mu);
};

void ParameterCalls::BeginAttempt(const v1::BeginAttemptRequest& request,
                                  Done<v1::BeginAttemptReply> done) {
  const auto job = FindJob(request.header());
  if (!job.ok()) return done(job.status());
  const std::optional<RankName> rank = RankNameOf(request.header());
  if (!rank.has_value()) {
    return done(absl::InvalidArgumentError("a new attempt needs a rank"));
  }

  const auto beginning = std::make_shared<Beginning>();
  {
    MutexLock lock(&beginning->mu);
    for (const auto& [place, actor] : (*job)->partitions) {
      beginning->partitions.push_back(
          {.place = place, .is_ledger = actor->options().is_ledger});
    }
    beginning->missing = beginning->partitions.size();
    beginning->done = std::move(done);
  }
  {
    MutexLock lock(&mu_);
    beginnings_.push_back(beginning);
  }
  size_t index = 0;
  for (const auto& [place, actor] : (*job)->partitions) {
    actor->BeginAttempt(*rank, [beginning, i = index++](seraph::Done begun) {
      beginning->Set(i, std::move(begun));
    });
  }
  if (index == 0) beginning->AnswerOnce();
}

void ParameterCalls::Tick(absl::Duration now) {
  std::vector<std::shared_ptr<Beginning>> overdue;
  {
    MutexLock lock(&mu_);
    std::erase_if(beginnings_, [&](const std::weak_ptr<Beginning>& weak) {
      std::shared_ptr<Beginning> beginning = weak.lock();
      if (beginning == nullptr) return true;
      if (!beginning->since.has_value()) beginning->since = now;
      if (now - *beginning->since < kBeginPatience) return false;
      overdue.push_back(std::move(beginning));
      return true;
    });
  }
  for (const auto& beginning : overdue) beginning->AnswerOnce();
}

}  // namespace seraph
