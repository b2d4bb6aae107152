// Many answers, one reply.
#ifndef SERAPH_SERVER_SERVICE_ANSWER_JOIN_H_
#define SERAPH_SERVER_SERVICE_ANSWER_JOIN_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"

namespace seraph {

// Collects a number of answers, by index, and runs `done` after the last, on
// that one's thread. Threads: any, each index once.
template <typename Answered>
class AnswerJoin {
 public:
  using Done = absl::AnyInvocable<void(std::vector<Answered>)>;

  // With a count of 0 `done` runs here.
  static std::shared_ptr<AnswerJoin> Of(size_t count, Done done) {
    auto join = std::make_shared<AnswerJoin>(count, std::move(done));
    if (count == 0) join->done_({});
    return join;
  }

  AnswerJoin(size_t count, Done done)
      : answers_(count), missing_(count), done_(std::move(done)) {}

  void Set(size_t index, Answered answer) {
    answers_[index] = std::move(answer);
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      done_(std::move(answers_));
      done_ = nullptr;  // What it holds is not needed any more.
    }
  }

 private:
  std::vector<Answered> answers_;
  std::atomic<size_t> missing_;
  Done done_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_ANSWER_JOIN_H_
