#include "common/shm/shared_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr uint64_t kMagic = 0x5345524150480001;  // "SERAPH", version 1.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// What both ends agree on; written once, by the maker.
struct Head {
  uint64_t magic;
  uint64_t bytes;
  uint64_t maker;
  uint64_t peer;
  uint64_t token;
};
// Behind it, each in a cache line of its own: what the peer writes.
constexpr size_t kOpenedOffset = 64;
constexpr size_t kDoneOffset = 128;
static_assert(sizeof(Head) <= kOpenedOffset);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

std::atomic<uint64_t>* NumberAt(char* data, size_t offset) {
  return reinterpret_cast<std::atomic<uint64_t>*>(data + offset);
}

Head HeadOf(const SegmentName& name) {
  return {kMagic, name.bytes, name.maker, name.peer, name.token};
}

absl::Status Failed(absl::string_view what) {
  return absl::UnavailableError(
      absl::StrCat("shared memory: cannot ", what, ": ", std::strerror(errno)));
}

absl::StatusOr<char*> Map(int fd, uint64_t bytes) {
  void* const data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return Failed("map it");
  return static_cast<char*>(data);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedSegment>> SharedSegment::Make(
    uint64_t bytes, uint64_t maker, uint64_t peer) {
  UniqueFd fd(memfd_create("seraph", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.ok()) return Failed("make it");
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return Failed("size it");
  }
  SERAPH_ASSIGN_OR_RETURN(char* const data, Map(fd.get(), bytes));
  std::random_device random;
  const SegmentName name{.pid = getpid(),
                         .fd = fd.get(),
                         .bytes = bytes,
                         .maker = maker,
                         .peer = peer,
                         .token = uint64_t{random()} << 32 | random()};
  const Head head = HeadOf(name);
  std::memcpy(data, &head, sizeof(head));
  return absl::WrapUnique(new SharedSegment(name, std::move(fd), data));
}

absl::StatusOr<std::unique_ptr<SharedSegment>> SharedSegment::Open(
    const SegmentName& name) {
  const std::string path = absl::StrCat("/proc/", name.pid, "/fd/", name.fd);
  // What lies there may be anything of that process: it is looked at before it
  // is opened.
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return Failed("find the peer's");
  const auto another = [] {
    return absl::InvalidArgumentError(
        "shared memory: the peer's is another one than it says");
  };
  if (!S_ISREG(found.st_mode)) return another();
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.ok()) return Failed("open the peer's");
  if (fstat(fd.get(), &found) != 0) return Failed("look at the peer's");
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 ||
      static_cast<uint64_t>(found.st_size) != name.bytes ||
      name.bytes < kHeadBytes) {
    return another();
  }
  SERAPH_ASSIGN_OR_RETURN(char* const data, Map(fd.get(), name.bytes));
  // The mapping needs no descriptor; only the maker's is looked for.
  auto segment = absl::WrapUnique(new SharedSegment(name, UniqueFd(), data));
  const Head expected = HeadOf(name);
  if (std::memcmp(data, &expected, sizeof(expected)) != 0) return another();
  return segment;
}

bool SharedSegment::is_opened() const {
  return NumberAt(data_, kOpenedOffset)->load(std::memory_order_acquire) ==
         name_.token;
}

void SharedSegment::SetOpened() const {
  NumberAt(data_, kOpenedOffset)->store(name_.token, std::memory_order_release);
}

std::atomic<uint64_t>* SharedSegment::done() const {
  return NumberAt(data_, kDoneOffset);
}

SharedSegment::~SharedSegment() { munmap(data_, name_.bytes); }

}  // namespace seraph
