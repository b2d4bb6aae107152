#include "server/service/request_admission.h"

#include <optional>
#include <utility>

namespace seraph {
namespace {

// Pulls up to this size do not wait for larger ones.
constexpr uint64_t kSmallPull = 64 << 10;

uint64_t BytesOfPart(const DecodedPart<PushMessage>& part) {
  return part.message.keys.bytes() + part.message.values.size() * sizeof(float);
}

uint64_t BytesOfPart(const DecodedPart<PullMessage>& part) {
  const uint32_t width = part.actor->options().table.width;
  return part.message.Keys().bytes() +
         part.message.Keys().size() * width * sizeof(float);
}

bool IsAlwaysTaken(const DecodedPart<PushMessage>& part) {
  return part.message.keys.empty() ||
         (part.message.rank.has_value() &&
          part.message.clock <= part.actor->slowest());
}

// Of a part that the budget has no room for. A rank that waits for its pull at
// the oldest open clock holds all others up; but it needs one at a time.
std::optional<JobAdmission::Hold> TakeBeyond(
    JobAdmission* admission, const DecodedPart<PullMessage>& part) {
  const PullMessage& message = part.message;
  const uint64_t bytes = BytesOfPart(part);
  if (message.rank.has_value() && message.clock.has_value() &&
      *message.clock <= part.actor->slowest()) {
    auto taken = admission->TakeOnce(
        {part.actor->options().table_index, part.actor->options().partition,
         message.rank->rank},
        bytes);
    if (taken.has_value()) return taken;
  }
  return bytes <= kSmallPull ? admission->TakeBeside(bytes) : std::nullopt;
}

std::optional<JobAdmission::Hold> TakeBeyond(JobAdmission*,
                                             const DecodedPart<PushMessage>&) {
  return std::nullopt;
}

template <typename Message>
void Refuse(JobAdmission* admission, DecodedPart<Message>* part) {
  part->refusal.epoch = part->message.epoch;
  part->refusal.outcome = {.code = PartCode::kRetryAfter,
                           .retry_after_ms = admission->RetryAfterMs(),
                           .message = "the server has as much to do as it may"};
  part->actor = nullptr;
  part->message = {};
}

enum class Kind {
  kAsked,    // Within the budget, or not at all.
  kAlways,   // Whatever the budget says.
  kCovered,  // By what is held already.
};

// Takes what goes, all that is asked for at once if possible. `kind_of` gets a
// part's index.
template <typename Parts, typename KindOf>
RequestHold AdmitParts(JobAdmission* admission, Parts* parts, KindOf kind_of) {
  RequestHold hold;
  uint64_t asked = 0;
  uint64_t always = 0;
  for (size_t i = 0; i < parts->size(); ++i) {
    if ((*parts)[i].actor == nullptr) continue;
    const Kind kind = kind_of(i);
    if (kind == Kind::kAsked) asked += BytesOfPart((*parts)[i]);
    if (kind == Kind::kAlways) always += BytesOfPart((*parts)[i]);
  }
  if (always > 0) hold.push_back(admission->Take(always));
  if (asked == 0) return hold;
  if (auto taken = admission->TryTake(asked); taken.has_value()) {
    hold.push_back(*std::move(taken));
    return hold;
  }
  for (size_t i = 0; i < parts->size(); ++i) {
    auto& part = (*parts)[i];
    if (part.actor == nullptr || kind_of(i) != Kind::kAsked) continue;
    auto taken = admission->TryTake(BytesOfPart(part));
    if (!taken.has_value()) taken = TakeBeyond(admission, part);
    if (taken.has_value()) {
      hold.push_back(*std::move(taken));
    } else {
      Refuse(admission, &part);
    }
  }
  return hold;
}

}  // namespace

RequestHold AdmitPull(const ServedJob& job,
                      std::vector<DecodedPart<PullMessage>>* parts) {
  return AdmitParts(job.admission.get(), parts,
                    [](size_t) { return Kind::kAsked; });
}

RequestHold AdmitPush(const ServedJob& job, PushParts* parts,
                      std::vector<Reservation>* reservations) {
  JobAdmission* const admission = job.admission.get();
  reservations->clear();
  for (size_t i = 0; i < parts->size(); ++i) {
    DecodedPart<PushMessage>& part = (*parts)[i];
    if (part.actor == nullptr || part.message.chunks <= 1 ||
        !part.message.rank.has_value() || IsAlwaysTaken(part)) {
      continue;
    }
    const JobAdmission::ChunkedEntry entry{
        .table = part.actor->options().table_index,
        .partition = part.actor->options().partition,
        .rank = *part.message.rank,
        .clock = part.message.clock};
    if (!admission->HasBegun(entry)) {
      auto whole = admission->TryTake(BytesOfPart(part) * part.message.chunks);
      if (!whole.has_value()) {
        Refuse(admission, &part);
        continue;
      }
      admission->Begin(entry, *std::move(whole));
    }
    reservations->resize(parts->size());
    (*reservations)[i] = entry;
  }
  return AdmitParts(admission, parts, [&](size_t i) {
    if (!reservations->empty() && (*reservations)[i].has_value()) {
      return Kind::kCovered;
    }
    return IsAlwaysTaken((*parts)[i]) ? Kind::kAlways : Kind::kAsked;
  });
}

}  // namespace seraph
