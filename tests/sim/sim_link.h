// A simulated worker's end of the Exchange stream to one server.
#ifndef SERAPH_TESTS_SIM_SIM_LINK_H_
#define SERAPH_TESTS_SIM_SIM_LINK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/parameters.pb.h"
#include "tests/sim/cluster_world.h"
#include "worker/client/rank_request.h"
#include "worker/client/send_window.h"

namespace seraph::testing {

// What worker/client's ServerLink does with gRPC: all ranks of the worker share
// it, and a SendWindow (real) rules what leaves. What is lost ends with
// Unavailable, as when a stream breaks, also when the server dies.
class SimLink {
 public:
  using Request = std::shared_ptr<const RankRequest>;
  using Done = std::function<void(absl::StatusOr<v1::ExchangeReply>)>;

  // From one machine to another; this must live as long as the first one does.
  SimLink(ClusterWorld* world, int from, int to);

  // A request that still waits to leave when it is given again leaves once.
  void Send(Request request, Done done);

 private:
  struct Waiting {
    Request request;
    std::vector<Done> done;
  };
  struct Out {
    uint64_t life = 0;  // Of the server, when it was sent.
    std::vector<Done> done;
  };

  SendWindow::Request Describe(uint64_t id, const RankRequest& request);
  void Leave(const std::vector<uint64_t>& ids);
  void End(uint64_t id, const absl::StatusOr<v1::ExchangeReply>& reply);
  // Keepalive: notices that the server has died.
  void Look();

  ClusterWorld& world_;
  const int from_;
  const int to_;
  SendWindow window_;
  uint64_t last_id_ = 0;
  std::map<uint64_t, Waiting> waiting_;
  std::map<const RankRequest*, uint64_t> waiting_by_request_;
  std::map<uint64_t, Out> out_;
  // Numbers of entries that go in pieces: by generation, rank, attempt, clock.
  std::map<std::tuple<uint64_t, uint32_t, uint32_t, uint32_t, uint32_t>,
           uint64_t>
      entries_;
  bool looks_ = false;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_LINK_H_
