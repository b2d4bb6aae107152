#include "common/cluster/nearest_address.h"

#include "common/rpc/local_socket.h"

namespace seraph {

std::string NearestAddress(const Node& node, const Neighbourhood& here) {
  // Of two machines that say they are one, or two network namespaces of one,
  // no socket is seen.
  if (here.unix_sockets && node.host == here.host &&
      LocalSocketAnswers(node.incarnation)) {
    return LocalSocketAddress(node.incarnation);
  }
  return node.address;
}

bool MayShareMemory(const std::string& address, const Neighbourhood& here) {
  return here.shared_memory && IsLocalSocketAddress(address);
}

}  // namespace seraph
