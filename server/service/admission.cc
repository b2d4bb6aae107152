#include "server/service/admission.h"

#include "common/base/draw.h"

namespace seraph {
namespace {

constexpr uint64_t kLeastRetryMs = 20;
constexpr uint64_t kRetrySpreadMs = 80;

// Adds `bytes` unless that would bring `*held`, from something, beyond `limit`.
bool AddWithin(std::atomic<uint64_t>* held, uint64_t bytes, uint64_t limit) {
  uint64_t now = held->load(std::memory_order_relaxed);
  do {
    if (now != 0 && (bytes > limit || now > limit - bytes)) return false;
  } while (!held->compare_exchange_weak(now, now + bytes,
                                        std::memory_order_relaxed));
  return true;
}

}  // namespace

JobAdmission::Hold::~Hold() {
  if (job_ == nullptr) return;
  job_->Release(bytes_, exempt_);
  if (!once_.has_value()) return;
  MutexLock lock(&job_->mu_);
  job_->once_.erase(*once_);
}

JobAdmission::JobAdmission(std::shared_ptr<Admission> server)
    : server_(std::move(server)) {
  ++server_->jobs_;
}

JobAdmission::~JobAdmission() {
  for (const auto& [place, begun] : begun_) {
    Release(begun.bytes, /*exempt=*/false);
  }
  --server_->jobs_;
}

std::optional<JobAdmission::Hold> JobAdmission::TryTake(uint64_t bytes) {
  if (!AddWithin(&held_bytes_, bytes, server_->share_bytes())) {
    return std::nullopt;
  }
  if (!AddWithin(&server_->held_bytes_, bytes, server_->limit_bytes_)) {
    held_bytes_ -= bytes;
    return std::nullopt;
  }
  return Hold(shared_from_this(), bytes, /*exempt=*/false);
}

JobAdmission::Hold JobAdmission::Take(uint64_t bytes) {
  server_->exempt_bytes_ += bytes;
  return Hold(shared_from_this(), bytes, /*exempt=*/true);
}

std::optional<JobAdmission::Hold> JobAdmission::TakeOnce(const Place& place,
                                                         uint64_t bytes) {
  {
    MutexLock lock(&mu_);
    if (!once_.insert(place).second) return std::nullopt;
  }
  Hold hold = Take(bytes);
  hold.once_ = place;
  return hold;
}

std::optional<JobAdmission::Hold> JobAdmission::TakeBeside(uint64_t bytes) {
  if (!AddWithin(&server_->exempt_bytes_, bytes, server_->limit_bytes_ / 4)) {
    return std::nullopt;
  }
  return Hold(shared_from_this(), bytes, /*exempt=*/true);
}

void JobAdmission::Release(uint64_t bytes, bool exempt) {
  if (exempt) {
    server_->exempt_bytes_ -= bytes;
  } else {
    held_bytes_ -= bytes;
    server_->held_bytes_ -= bytes;
  }
}

uint32_t JobAdmission::RetryAfterMs() {
  const uint64_t bits = Draw(server_->seed_, {server_->refusals_.fetch_add(1)});
  return kLeastRetryMs + ToBelow(bits, kRetrySpreadMs);
}

bool JobAdmission::HasBegun(const ChunkedEntry& entry) {
  MutexLock lock(&mu_);
  const auto found = begun_.find(PlaceOf(entry));
  return found != begun_.end() && found->second.entry == entry;
}

void JobAdmission::Begin(const ChunkedEntry& entry, Hold whole) {
  MutexLock lock(&mu_);
  Begun& begun = begun_[PlaceOf(entry)];
  Release(begun.bytes, /*exempt=*/false);
  // Not the hold itself, which would keep this alive.
  begun = {.entry = entry, .bytes = std::exchange(whole.bytes_, 0)};
}

void JobAdmission::End(const ChunkedEntry& entry) {
  MutexLock lock(&mu_);
  const auto found = begun_.find(PlaceOf(entry));
  if (found == begun_.end() || found->second.entry != entry) return;
  Release(found->second.bytes, /*exempt=*/false);
  begun_.erase(found);
}

}  // namespace seraph
