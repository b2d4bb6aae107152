// Values that take the place of a file's: `--set path=value` and environment.
//
// They are put into the tree before it is read, so that they are checked like
// the file's own, and a bad one is reported under its own name.
#ifndef SERAPH_COMMON_CONFIG_OVERRIDES_H_
#define SERAPH_COMMON_CONFIG_OVERRIDES_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "common/config/problems.h"
#include "common/config/yaml_tree.h"

namespace seraph {

// "train.epochs=3": puts 3 at that path and makes the maps that lead there. The
// value is YAML, so that lists and maps are possible; an empty one takes the
// key back to its default. Adds a problem, from "--set train.epochs", for a
// text without '=', an empty name in the path, a path through something that is
// no map, and a value that is not YAML. A name that does not exist is found
// when the tree is read.
void ApplySet(absl::string_view set, YamlNode* root, Problems* problems);

// SERAPH_LOG__LEVEL=debug is log.level=debug: a prefix, sections and key apart
// by two underscores, all in capitals. Other names, such as SERAPH_SCHEDULER,
// mean nothing here.
void ApplyEnvironment(const std::map<std::string, std::string>& environment,
                      YamlNode* root, Problems* problems);

}  // namespace seraph

#endif  // SERAPH_COMMON_CONFIG_OVERRIDES_H_
