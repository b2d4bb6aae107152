#include "tests/sim/epoch_watch.h"

#include <algorithm>
#include <vector>

#include "common/wire/push_parts.h"

namespace seraph::testing {
namespace {

Clock ClockOf(const v1::Clock& clock) { return {clock.epoch(), clock.step()}; }

}  // namespace

// In the order in which results come.
template <typename Visit>
void EpochWatch::ForEachPart(const v1::ExchangeRequest& request, Visit visit) {
  const bool both = request.has_push_pull();
  const v1::PushRequest& push =
      both ? request.push_pull().push() : request.push();
  const v1::PullRequest& pull =
      both ? request.push_pull().pull() : request.pull();
  for (const v1::PushPart& part : push.parts()) {
    visit(Part{true,
               ClockOf(push.clock()),
               {part.table(), part.partition()},
               part.chunk()});
  }
  for (size_t i = 0; i < EmptyPartsOf(push); ++i) {
    const EmptyPart part = EmptyPartAt(push, i);
    visit(Part{true, ClockOf(push.clock()), {part.table, part.partition}, 0});
  }
  for (const v1::PullPart& part : pull.parts()) {
    visit(Part{false,
               ClockOf(pull.clock()),
               {part.table(), part.partition()},
               part.number()});
  }
}

void EpochWatch::OnRouter(const TableRouter& router) {
  for (const PartitionPlacement& after : router.placements()) {
    const Place place(after.table, after.partition);
    PartitionPlacement& before = places_[place];
    const bool is_same =
        before.epoch == after.epoch &&
        before.primary.name == after.primary.name &&
        before.primary.incarnation == after.primary.incarnation;
    before = after;
    seen_[place] = std::max(seen_[place], after.epoch);
    if (is_same) continue;
    // What is out for it is of another message from now on.
    for (auto& [part, standing] : parts_) {
      if (std::get<Place>(part) == place) standing.message = 0;
    }
  }
}

void EpochWatch::OnStart(uint64_t step, const TableClient::Output& output) {
  for (const TableClient::Outgoing& one : output.outgoing) {
    ForEachPart(one.request->message,
                [&](const Part& part) { parts_[part] = {.step = step}; });
  }
}

void EpochWatch::OnSent(const TableClient::Outgoing& outgoing) {
  if (!requests_.try_emplace(outgoing.message, outgoing.request).second) return;
  ForEachPart(outgoing.request->message, [&](const Part& part) {
    const auto found = parts_.find(part);
    // One that was to wait may leave after another has taken its part over.
    if (found == parts_.end() || found->second.newest > outgoing.message)
      return;
    found->second.newest = outgoing.message;
    found->second.message = outgoing.message;
    found->second.answer = Answer::kNone;
  });
}

void EpochWatch::OnReply(uint64_t message, const v1::ExchangeReply& reply) {
  const auto request = requests_.find(message);
  if (request == requests_.end() || reply.error_code() != 0) return;
  std::vector<v1::PartResult> results;
  const bool both = reply.has_push_pull();
  const v1::PushReply& push = both ? reply.push_pull().push() : reply.push();
  for (size_t i = 0; i < ResultsOf(push); ++i) {
    v1::PartResult room;
    results.push_back(ResultAt(push, i, &room));
  }
  for (const v1::PartResult& result :
       (both ? reply.push_pull().pull() : reply.pull()).results()) {
    results.push_back(result);
  }
  std::vector<Standing*> open;
  size_t index = 0;
  size_t replaced = 0;
  bool misses_list = false;
  ForEachPart(request->second->message, [&](const Part& part) {
    if (index >= results.size()) return;
    const v1::PartResult& result = results[index++];
    const auto found = parts_.find(part);
    if (found == parts_.end() || found->second.message != message ||
        found->second.answer == Answer::kCounts) {
      return;
    }
    uint64_t& seen = seen_[std::get<Place>(part)];
    const bool is_old = result.epoch() != 0 && result.epoch() < seen;
    seen = std::max<uint64_t>(seen, result.epoch());
    misses_list = misses_list || result.code() == v1::PART_UNKNOWN_LIST;
    if (result.code() == v1::PART_OK) {
      old_answers_ += is_old;
      found->second.answer = is_old ? Answer::kOld : Answer::kCounts;
      if (!is_old) return;
    }
    open.push_back(&found->second);
    replaced += result.code() == v1::PART_REPLACED;
  });
  // The message stays out, for all of its parts or for pulls of which a later
  // copy waits; or what is left of it becomes another one.
  const bool waits = replaced > 0 && replaced == open.size();
  if (waits || (open.size() == results.size() && !misses_list)) return;
  for (Standing* one : open) one->message = 0;
}

int EpochWatch::OnEnd(uint64_t step) {
  const auto is_of_it = [step](const auto& one) {
    return one.second.step == step;
  };
  const int left =
      std::count_if(parts_.begin(), parts_.end(), [&](const auto& one) {
        return is_of_it(one) && one.second.answer == Answer::kOld;
      });
  std::erase_if(parts_, is_of_it);
  std::erase_if(requests_, [&](const auto& one) {
    bool is_out = false;
    ForEachPart(one.second->message, [&](const Part& part) {
      is_out = is_out || parts_.count(part) > 0;
    });
    return !is_out;
  });
  return left;
}

}  // namespace seraph::testing
