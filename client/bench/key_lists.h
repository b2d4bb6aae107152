// The keys of a measured client's requests, made before the clock runs.
#ifndef SERAPH_CLIENT_BENCH_KEY_LISTS_H_
#define SERAPH_CLIENT_BENCH_KEY_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/bench/bench_options.h"
#include "common/base/key.h"

namespace seraph {

// The keys that a measured table has: `size` of them, ascending with their
// index. A dense table has 0, 1, 2, ...; a sparse one has a random key in each
// of `size` equal pieces of uint64, so that any range of keys has its share.
class KeySpace {
 public:
  // Requires: size > 0.
  KeySpace(TableKind kind, uint64_t size, uint64_t seed);

  uint64_t size() const { return size_; }
  // Requires: index < size().
  Key KeyOf(uint64_t index) const;

 private:
  const TableKind kind_;
  const uint64_t size_;
  const uint64_t stride_;
  const uint64_t seed_;
};

// Lists of strictly increasing keys, handed out in turn.
class KeyLists {
 public:
  struct Options {
    KeyDistribution distribution = KeyDistribution::kUniform;  // Not kFile.
    uint64_t keys_per_list = 0;  // <= the key space's size.
    // Lists to make; more are the same again.
    uint64_t lists = 1;
    uint64_t seed = 1;   // Of the draws; another one for each client.
    uint64_t begin = 0;  // kSequential: the index of the first key.
  };

  static KeyLists Make(const KeySpace& space, const Options& options);

  // The keys of the records of a libsvm file: of as many successive records as
  // have `keys_per_list` distinct ones together, the last list with what is
  // left. Keys are as written.
  // Errors: what keeps the file from being read; InvalidArgument for a file
  // without keys or, naming the line, for one that is none of the format.
  static absl::StatusOr<KeyLists> Read(const std::string& path,
                                       uint64_t keys_per_list);

  size_t size() const { return ends_.size(); }
  absl::Span<const Key> operator[](size_t list) const;

  // All distinct keys, ascending.
  std::vector<Key> AllKeys() const;

  // Draws that the popular keys did not suffice for: kZipf with lists of nearly
  // all keys, which are then filled up with the most popular ones left.
  uint64_t filled_up() const { return filled_up_; }

 private:
  std::vector<Key> keys_;  // List after list.
  std::vector<size_t> ends_;
  uint64_t filled_up_ = 0;
};

// Skew of KeyDistribution::kZipf.
inline constexpr double kZipfExponent = 1.05;

// Where the key of popularity `rank` (0: the most popular) lies in a key space
// of `size`: a permutation of [0, size), so that popular keys are neighbours no
// more often than others.
uint64_t PlaceOfPopularity(uint64_t rank, uint64_t size);

}  // namespace seraph

#endif  // SERAPH_CLIENT_BENCH_KEY_LISTS_H_
