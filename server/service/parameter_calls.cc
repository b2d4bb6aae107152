#include "server/service/parameter_calls.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status/errors.h"
#include "server/service/request_codec.h"

namespace seraph {
namespace {

// Collects a number of answers, by index, and runs `done` after the last.
template <typename Answered>
class Join {
 public:
  using Done = absl::AnyInvocable<void(std::vector<Answered>)>;

  // With a count of 0 `done` runs here.
  static std::shared_ptr<Join> Of(size_t count, Done done) {
    auto join = std::make_shared<Join>(count, std::move(done));
    if (count == 0) join->done_({});
    return join;
  }

  Join(size_t count, Done done)
      : answers_(count), missing_(count), done_(std::move(done)) {}

  void Set(size_t index, Answered answer) {
    answers_[index] = std::move(answer);
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      done_(std::move(answers_));
    }
  }

 private:
  std::vector<Answered> answers_;
  std::atomic<size_t> missing_;
  Done done_;
};

// Sends each part to its partition; `send` is PartitionActor's Push or Pull.
template <typename Message, typename Send>
void SendParts(std::vector<DecodedPart<Message>> parts,
               std::shared_ptr<Join<Answer>> join, Send send) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].actor == nullptr) {
      join->Set(i, Answer{.outcome = std::move(parts[i].refusal)});
    } else {
      send(*parts[i].actor, std::move(parts[i].message),
           [join, i](Answer answer) { join->Set(i, std::move(answer)); });
    }
  }
}

v1::PullReply EncodePullReply(const std::vector<Answer>& answers) {
  v1::PullReply reply;
  size_t bytes = 0;
  for (const Answer& answer : answers) {
    EncodeResult(answer, reply.add_results());
    bytes += answer.values.size() * sizeof(float);
  }
  std::string* values = reply.mutable_values();
  values->reserve(bytes);
  for (const Answer& answer : answers) {
    values->append(reinterpret_cast<const char*>(answer.values.data()),
                   answer.values.size() * sizeof(float));
  }
  return reply;
}

v1::PushReply EncodePushReply(const std::vector<Answer>& answers) {
  v1::PushReply reply;
  for (const Answer& answer : answers)
    EncodeResult(answer, reply.add_results());
  return reply;
}

const auto kSendPull = [](PartitionActor& actor, PullMessage message,
                          PartitionActor::Done done) {
  actor.Pull(std::move(message), std::move(done));
};
const auto kSendPush = [](PartitionActor& actor, PushMessage message,
                          PartitionActor::Done done) {
  actor.Push(std::move(message), std::move(done));
};

// A part of an exchange reply, or the error in its place.
template <typename Reply, typename Place>
void Fill(absl::StatusOr<Reply> result, v1::ExchangeReply* reply, Place place) {
  if (result.ok()) {
    *place(reply) = *std::move(result);
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
  if (header.incarnation() != 0 && header.incarnation() != incarnation_) {
    return WithReason(absl::FailedPreconditionError(
                          "the message is for an earlier start of this server"),
                      "OTHER_INCARNATION");
  }
  return jobs_.Find(JobNameOf(header.job()));
}

void ParameterCalls::Pull(const v1::PullRequest& request,
                          Done<v1::PullReply> done) {
  const auto job = FindJob(request.header());
  if (!job.ok()) return done(job.status());
  auto parts = DecodePull(request, **job);
  if (!parts.ok()) return done(parts.status());
  auto join = Join<Answer>::Of(
      parts->size(),
      [done = std::move(done)](std::vector<Answer> answers) mutable {
        done(EncodePullReply(answers));
      });
  SendParts(*std::move(parts), std::move(join), kSendPull);
}

void ParameterCalls::Push(const v1::PushRequest& request,
                          Done<v1::PushReply> done) {
  const auto job = FindJob(request.header());
  if (!job.ok()) return done(job.status());
  auto parts = DecodePush(request, **job);
  if (!parts.ok()) return done(parts.status());
  auto join = Join<Answer>::Of(
      parts->size(),
      [done = std::move(done)](std::vector<Answer> answers) mutable {
        done(EncodePushReply(answers));
      });
  SendParts(*std::move(parts), std::move(join), kSendPush);
}

void ParameterCalls::PushPull(const v1::PushPullRequest& request,
                              Done<v1::PushPullReply> done) {
  const auto push_job = FindJob(request.push().header());
  if (!push_job.ok()) return done(push_job.status());
  const auto pull_job = FindJob(request.pull().header());
  if (!pull_job.ok()) return done(pull_job.status());
  // Both are decoded before either is sent: a malformed request does nothing.
  auto pushes = DecodePush(request.push(), **push_job);
  if (!pushes.ok()) return done(pushes.status());
  auto pulls = DecodePull(request.pull(), **pull_job);
  if (!pulls.ok()) return done(pulls.status());

  // The pull follows when the push is in: one that was refused would leave
  // the pull waiting for an entry that nobody sends again before this reply.
  auto join = Join<Answer>::Of(
      pushes->size(),
      [job = *pull_job, pulls = *std::move(pulls),
       done = std::move(done)](std::vector<Answer> pushed) mutable {
        auto reply = std::make_shared<v1::PushPullReply>();
        *reply->mutable_push() = EncodePushReply(pushed);
        const bool refused =
            std::any_of(pushed.begin(), pushed.end(), [](const Answer& answer) {
              return answer.outcome.code != PartCode::kOk;
            });
        if (refused) {
          for (auto& part : pulls) {
            part.actor = nullptr;
            part.refusal = {.code = PartCode::kRetryAfter,
                            .message = "the push before it was refused"};
          }
        }
        auto pull_join = Join<Answer>::Of(
            pulls.size(), [reply, done = std::move(done)](
                              std::vector<Answer> pulled) mutable {
              *reply->mutable_pull() = EncodePullReply(pulled);
              done(std::move(*reply));
            });
        SendParts(std::move(pulls), std::move(pull_join), kSendPull);
      });
  SendParts(*std::move(pushes), std::move(join), kSendPush);
}

void ParameterCalls::Exchange(
    const v1::ExchangeRequest& request,
    absl::AnyInvocable<void(v1::ExchangeReply)> done) {
  const uint64_t number = request.number();
  auto reply_with = [number, done = std::move(done)](auto result,
                                                     auto place) mutable {
    v1::ExchangeReply reply;
    reply.set_number(number);
    Fill(std::move(result), &reply, place);
    done(std::move(reply));
  };
  switch (request.body_case()) {
    case v1::ExchangeRequest::kPull:
      return Pull(request.pull(),
                  [reply_with = std::move(reply_with)](auto result) mutable {
                    reply_with(std::move(result), [](auto* reply) {
                      return reply->mutable_pull();
                    });
                  });
    case v1::ExchangeRequest::kPush:
      return Push(request.push(),
                  [reply_with = std::move(reply_with)](auto result) mutable {
                    reply_with(std::move(result), [](auto* reply) {
                      return reply->mutable_push();
                    });
                  });
    case v1::ExchangeRequest::kPushPull:
      return PushPull(request.push_pull(), [reply_with = std::move(reply_with)](
                                               auto result) mutable {
        reply_with(std::move(result),
                   [](auto* reply) { return reply->mutable_push_pull(); });
      });
    case v1::ExchangeRequest::BODY_NOT_SET:
      return reply_with(absl::StatusOr<v1::PullReply>(
                            absl::InvalidArgumentError("an empty request")),
                        [](auto* reply) { return reply->mutable_pull(); });
  }
}

void ParameterCalls::BeginAttempt(const v1::BeginAttemptRequest& request,
                                  Done<v1::BeginAttemptReply> done) {
  const auto job = FindJob(request.header());
  if (!job.ok()) return done(job.status());
  const std::optional<RankName> rank = RankNameOf(request.header());
  if (!rank.has_value()) {
    return done(absl::InvalidArgumentError("a new attempt needs a rank"));
  }

  struct Begun {
    absl::Status status;
    RankProgress progress;
    bool is_ledger = false;
    uint32_t table = 0;
    uint32_t partition = 0;
  };
  const auto& partitions = (*job)->partitions;
  auto join = Join<Begun>::Of(
      partitions.size(),
      [done = std::move(done)](std::vector<Begun> all) mutable {
        v1::BeginAttemptReply reply;
        std::optional<Clock> least;
        Clock furthest;
        for (const Begun& one : all) {
          if (!one.status.ok()) return done(one.status);
          least =
              std::min(least.value_or(one.progress.next), one.progress.next);
          furthest = std::max(furthest, one.progress.next);
          v1::BegunPartition* begun = reply.add_partitions();
          begun->set_table(one.table);
          begun->set_partition(one.partition);
          if (!one.is_ledger) continue;
          for (const LedgerRecord& record : one.progress.ledger) {
            EncodeLedger(record, reply.add_ledger());
          }
        }
        if (least.has_value()) {
          reply.mutable_clock()->set_epoch(least->epoch);
          reply.mutable_clock()->set_step(least->step);
          reply.mutable_furthest()->set_epoch(furthest.epoch);
          reply.mutable_furthest()->set_step(furthest.step);
        }
        done(std::move(reply));
      });
  size_t index = 0;
  for (const auto& [place, actor] : partitions) {
    actor->BeginAttempt(
        *rank,
        [join, i = index++, is_ledger = actor->options().is_ledger,
         place = place](absl::Status status, const RankProgress& progress) {
          join->Set(i, {std::move(status), progress, is_ledger, place.first,
                        place.second});
        });
  }
}

}  // namespace seraph
