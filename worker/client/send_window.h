// How much of a process's pushes may be under way to one server.
#ifndef SERAPH_WORKER_CLIENT_SEND_WINDOW_H_
#define SERAPH_WORKER_CLIENT_SEND_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace seraph {

// Without IO: says which requests may leave now. A push takes its bytes from
// the window until it is answered; one that does not fit waits, in order. A
// pull may wait at the server for the pushes of other ranks, which is why it
// takes nothing, and neither waits here nor keeps others waiting; the same goes
// for a small push that travels with the pull that follows it. Not kept
// waiting either is a further piece of an entry of which one has left: the
// server acknowledges it when it is whole.
//
// Threads: one at a time.
class SendWindow {
 public:
  enum class Kind { kPull, kPush, kPushPull };

  struct Request {
    uint64_t id = 0;  // Of the caller's choice, unique.
    Kind kind = Kind::kPull;
    uint64_t bytes = 0;
    uint64_t entry = 0;  // The same for all pieces of an entry; 0: whole.
  };

  // `limit` > 0, in bytes. A request that is larger goes alone.
  explicit SendWindow(uint64_t limit) : limit_(limit) {}

  // A request wants to leave. Adds to `leaving` those that may, in order.
  void Add(const Request& request, std::vector<uint64_t>* leaving);

  // One that left was answered, or its answer will not come. Adds to `leaving`
  // those that may leave now. Others than those out are ignored.
  void Remove(uint64_t id, std::vector<uint64_t>* leaving);

  uint64_t bytes_out() const { return bytes_out_; }
  size_t waiting() const { return waiting_.size(); }

 private:
  static bool TakesRoom(const Request& request);
  bool MayLeave(const Request& request) const;
  void Leave(const Request& request, std::vector<uint64_t>* leaving);

  const uint64_t limit_;
  uint64_t bytes_out_ = 0;
  std::map<uint64_t, Request> out_;           // Those that take room.
  std::map<uint64_t, uint64_t> entries_out_;  // Pieces out, by entry.
  std::deque<Request> waiting_;
};

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_SEND_WINDOW_H_
