// What one run of a visitor function is for. Internal to yaml_reader.
#ifndef SERAPH_COMMON_CONFIG_CONFIG_PASS_H_
#define SERAPH_COMMON_CONFIG_CONFIG_PASS_H_

#include <map>
#include <string>
#include <vector>

#include "common/config/key_info.h"
#include "common/config/problems.h"

namespace seraph {

struct ConfigPass {
  enum class Mode { kRead, kWrite, kDescribe };

  explicit ConfigPass(Mode mode) : mode(mode) {}

  const Mode mode;
  Problems* problems = nullptr;                           // Reading.
  std::map<std::string, std::string>* origins = nullptr;  // Reading.
  std::vector<KeyInfo> keys;  // Describing: the result. Reading: all there are.
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CONFIG_CONFIG_PASS_H_
