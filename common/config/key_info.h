// What is known of one key of a configuration file.
#ifndef SERAPH_COMMON_CONFIG_KEY_INFO_H_
#define SERAPH_COMMON_CONFIG_KEY_INFO_H_

#include <string>

namespace seraph {

// All texts are for people, as docs/job-reference.md prints them.
struct KeyInfo {
  std::string path;           // "train.epochs".
  std::string type;           // "whole number", "text" ...; "section": a map.
  std::string default_value;  // As it would be written in a file; "" if none.
  std::string range;          // "1..1000000", "> 0"; "" if any.
  std::string doc;            // One sentence.
  bool required = false;

  friend bool operator==(const KeyInfo&, const KeyInfo&) = default;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CONFIG_KEY_INFO_H_
