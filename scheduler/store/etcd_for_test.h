// A real etcd of three members on loopback.
#ifndef SERAPH_SCHEDULER_STORE_ETCD_FOR_TEST_H_
#define SERAPH_SCHEDULER_STORE_ETCD_FOR_TEST_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/testing/temp_folder.h"

namespace seraph::testing {

// Members are processes; what they keep lies in a folder that goes with the
// object.
class EtcdForTest {
 public:
  // Whether this machine has etcd (Debian's etcd-server).
  static bool IsInstalled();

  // Starts all members; they may need some seconds until they serve.
  EtcdForTest();
  ~EtcdForTest();  // Kills them.
  EtcdForTest(const EtcdForTest&) = delete;
  EtcdForTest& operator=(const EtcdForTest&) = delete;

  std::vector<std::string> endpoints() const;

  // kill -9.
  void Kill(int member);
  // With what it has kept.
  void Start(int member);
  // A stopped member answers nobody, and its connections stay.
  void Pause(int member);
  void Continue(int member);

 private:
  static constexpr int kMembers = 3;

  TempFolder folder_;
  int client_ports_[kMembers];
  int peer_ports_[kMembers];
  pid_t processes_[kMembers] = {};
};

}  // namespace seraph::testing

#endif  // SERAPH_SCHEDULER_STORE_ETCD_FOR_TEST_H_
