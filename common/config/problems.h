// Everything that is wrong with a configuration, collected for one report.
#ifndef SERAPH_COMMON_CONFIG_PROBLEMS_H_
#define SERAPH_COMMON_CONFIG_PROBLEMS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace seraph {

// Where a key or value was written.
struct Place {
  std::string source;  // "job.yaml", "--set train.epochs", "SERAPH_LOG__LEVEL".
  int line = 0;        // From 1; 0: the source has no lines.
  int column = 0;      // From 1, in bytes.

  friend bool operator==(const Place&, const Place&) = default;
};

// "job.yaml:7:3", or the source alone.
std::string ToString(const Place& place);

// `text` in quotes for a message: long ones cut, control characters escaped.
std::string Quoted(absl::string_view text);

// Threads: one at a time.
class Problems {
 public:
  void Add(const Place& place, absl::string_view message);

  bool empty() const { return problems_.empty(); }

  // So many that nobody reads further: callers may skip costly suggestions.
  bool full() const { return problems_.size() >= kMost; }

  // OK if there are none. Else InvalidArgument with a line for each: those of
  // the file by line and column, then those without a line in the order of
  // their coming; after kMost of them a line that counts the rest.
  absl::Status ToStatus() const;

 private:
  static constexpr size_t kMost = 100;

  struct Problem {
    Place place;
    std::string message;
  };

  std::vector<Problem> problems_;
  size_t dropped_ = 0;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_CONFIG_PROBLEMS_H_
