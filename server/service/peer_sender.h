// How replicas talk to those of other servers.
#ifndef SERAPH_SERVER_SERVICE_PEER_SENDER_H_
#define SERAPH_SERVER_SERVICE_PEER_SENDER_H_

#include "common/cluster/node.h"
#include "server/core/peer_message.h"
#include "server/service/job_name.h"

namespace seraph {

// Threads: every method may be called from any thread.
class PeerSender {
 public:
  virtual ~PeerSender() = default;

  // Takes a message for a replica on `to` and returns at once; never calls
  // back inside of it. Messages to one incarnation arrive in the order in which
  // they were sent, or not: after a loss the replicas that talk to it are told
  // (JobDirectory::OnLinkBroken), and what comes after the loss may arrive.
  virtual void Send(const Node& to, const JobName& job,
                    PeerMessage message) = 0;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_PEER_SENDER_H_
