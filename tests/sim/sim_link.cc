#include "tests/sim/sim_link.h"

#include <utility>

#include "tests/sim/sim_server.h"

namespace seraph::testing {
namespace {

// A stream has no deadline. What is cut off on its way is noticed by then.
constexpr absl::Duration kStreamTimeout = absl::Seconds(3);

}  // namespace

SimLink::SimLink(ClusterWorld* world, int from, int to)
    : world_(*world), from_(from), to_(to), window_(world->window_bytes) {}

SendWindow::Request SimLink::Describe(uint64_t id, const RankRequest& request) {
  SendWindow::Request described{.id = id};
  const v1::PushRequest* push = PushOf(request.message);
  if (push == nullptr) return described;
  described.kind = request.message.has_push_pull() ? SendWindow::Kind::kPushPull
                                                   : SendWindow::Kind::kPush;
  described.bytes = PushedBytes(request);
  for (const v1::PushPart& part : push->parts()) {
    if (part.chunks() <= 1) continue;
    const v1::RequestHeader& header = push->header();
    described.entry =
        entries_
            .emplace(std::tuple(header.job().generation(), header.rank().rank(),
                                header.rank().attempt(), push->clock().epoch(),
                                push->clock().step()),
                     entries_.size() + 1)
            .first->second;
  }
  return described;
}

void SimLink::Send(Request request, Done done) {
  if (const auto same = waiting_by_request_.find(request.get());
      same != waiting_by_request_.end()) {
    waiting_.at(same->second).done.push_back(std::move(done));
    return;
  }
  const uint64_t id = ++last_id_;
  waiting_by_request_[request.get()] = id;
  const SendWindow::Request described = Describe(id, *request);
  waiting_[id] = {std::move(request), {std::move(done)}};
  std::vector<uint64_t> leaving;
  window_.Add(described, &leaving);
  if (leaving.empty()) ++world_.counts["waited for the window"];
  Leave(leaving);
}

void SimLink::Leave(const std::vector<uint64_t>& ids) {
  for (uint64_t id : ids) {
    auto node = waiting_.extract(id);
    if (node.empty()) continue;
    const Request request = node.mapped().request;
    waiting_by_request_.erase(request.get());
    out_[id] = {world_.loop->life(to_), std::move(node.mapped().done)};
    world_.network->CallOnStream<v1::ExchangeReply>(
        from_, to_, "exchange", kStreamTimeout,
        [world = &world_, to = to_, request](auto answer) {
          SimServer* server = world->ServerAt(to);
          if (server == nullptr) return;
          server->Exchange(WholeMessage(*request), answer);
        },
        [this, id](absl::StatusOr<v1::ExchangeReply> reply) {
          if (reply.ok()) return End(id, reply);
          End(id, absl::UnavailableError("the stream broke"));
        });
  }
  if (!looks_ && !out_.empty()) {
    looks_ = true;
    world_.loop->After(world_.lease / 4, from_, "keepalive",
                       [this] { Look(); });
  }
}

void SimLink::End(uint64_t id, const absl::StatusOr<v1::ExchangeReply>& reply) {
  auto node = out_.extract(id);
  if (node.empty()) return;
  for (const Done& done : node.mapped().done) done(reply);
  std::vector<uint64_t> next;
  window_.Remove(id, &next);
  Leave(next);
}

void SimLink::Look() {
  looks_ = false;
  std::vector<uint64_t> broken;
  for (const auto& [id, out] : out_) {
    const bool cut =
        world_.network->IsCut(from_, to_) || world_.network->IsCut(to_, from_);
    if (!world_.loop->IsUp(to_) || world_.loop->life(to_) != out.life ||
        (cut && world_.loop->Happens(0.3))) {
      broken.push_back(id);
    }
  }
  for (uint64_t id : broken) {
    End(id, absl::UnavailableError("the stream broke"));
  }
  if (!looks_ && !out_.empty()) {
    looks_ = true;
    world_.loop->After(world_.lease / 4, from_, "keepalive",
                       [this] { Look(); });
  }
}

}  // namespace seraph::testing
