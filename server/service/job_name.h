// A job's current life, as messages name it.
#ifndef SERAPH_SERVER_SERVICE_JOB_NAME_H_
#define SERAPH_SERVER_SERVICE_JOB_NAME_H_

#include <cstdint>
#include <string>

namespace seraph {

struct JobName {
  std::string id;
  uint64_t generation = 0;

  friend bool operator==(const JobName&, const JobName&) = default;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_JOB_NAME_H_
