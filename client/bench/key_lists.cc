#include "client/bench/key_lists.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <numeric>
#include <random>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/random/zipf_distribution.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/draw.h"

namespace seraph {
namespace {

// More draws than this, by wanted key, find little more.
constexpr uint64_t kMostDraws = 64;

// A set of indices below `size` that comes out in order: as bits, or where it
// is to have but few of them as a hash set that is sorted.
class IndexSet {
 public:
  IndexSet(uint64_t size, uint64_t wanted)
      : as_bits_(wanted >= size / 256),
        words_(as_bits_ ? (size + 63) / 64 : 0) {}

  bool Add(uint64_t index) {
    if (!as_bits_) {
      if (!few_.insert(index).second) return false;
      order_.push_back(index);
      return true;
    }
    uint64_t& word = words_[index / 64];
    const uint64_t bit = uint64_t{1} << (index % 64);
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  }

  // Calls `take` with each index, ascending; the set is empty then.
  template <typename Take>
  void Drain(Take take) {
    std::sort(order_.begin(), order_.end());
    for (const uint64_t index : order_) take(index);
    order_.clear();
    few_.clear();
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t word = words_[w]; word != 0; word &= word - 1) {
        take(w * 64 + std::countr_zero(word));
      }
      words_[w] = 0;
    }
  }

 private:
  const bool as_bits_;
  std::vector<uint64_t> words_;
  absl::flat_hash_set<uint64_t> few_;
  std::vector<uint64_t> order_;  // Of `few_`.
};

}  // namespace

KeySpace::KeySpace(TableKind kind, uint64_t size, uint64_t seed)
    : kind_(kind), size_(size), stride_(kMaxKey / size), seed_(seed) {}

Key KeySpace::KeyOf(uint64_t index) const {
  if (kind_ == TableKind::kDense) return index;
  return index * stride_ + ToBelow(Draw(seed_, {index}), stride_);
}

uint64_t PlaceOfPopularity(uint64_t rank, uint64_t size) {
  // A step of about size / golden ratio visits all of a ring, far apart.
  uint64_t step = std::max<uint64_t>(1, double(size) * 0.6180339887498949);
  while (std::gcd(step, size) != 1) ++step;
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(Wide{rank} * step % size);
}

KeyLists KeyLists::Make(const KeySpace& space, const Options& options) {
  KeyLists lists;
  const uint64_t wanted = options.keys_per_list;
  lists.keys_.reserve(wanted * options.lists);
  std::mt19937_64 random(options.seed);
  absl::zipf_distribution<uint64_t> popularity(space.size() - 1, kZipfExponent,
                                               1.0);
  uint64_t next = options.begin % space.size();
  const bool draws = options.distribution != KeyDistribution::kSequential;
  IndexSet chosen(draws ? space.size() : 0, wanted);
  for (uint64_t list = 0; list < options.lists; ++list) {
    const auto take = [&](uint64_t index) {
      lists.keys_.push_back(space.KeyOf(index));
    };
    if (options.distribution == KeyDistribution::kSequential) {
      if (next + wanted > space.size()) next = 0;
      for (uint64_t i = 0; i < wanted; ++i) take(next + i);
      next += wanted;
    } else if (options.distribution == KeyDistribution::kZipf) {
      uint64_t found = 0;
      for (uint64_t draw = 0; found < wanted && draw < kMostDraws * wanted;
           ++draw) {
        found +=
            chosen.Add(PlaceOfPopularity(popularity(random), space.size()));
      }
      for (uint64_t rank = 0; found < wanted; ++rank) {
        if (!chosen.Add(PlaceOfPopularity(rank, space.size()))) continue;
        ++found;
        ++lists.filled_up_;
      }
      chosen.Drain(take);
    } else if (wanted > space.size() / 2) {
      // The complement of a random set is as random.
      for (uint64_t left = space.size() - wanted; left > 0;) {
        left -= chosen.Add(ToBelow(random(), space.size()));
      }
      uint64_t from = 0;
      chosen.Drain([&](uint64_t index) {
        for (; from < index; ++from) take(from);
        from = index + 1;
      });
      for (; from < space.size(); ++from) take(from);
    } else {
      for (uint64_t found = 0; found < wanted;) {
        found += chosen.Add(ToBelow(random(), space.size()));
      }
      chosen.Drain(take);
    }
    lists.ends_.push_back(lists.keys_.size());
  }
  return lists;
}

absl::StatusOr<KeyLists> KeyLists::Read(const std::string& path,
                                        uint64_t keys_per_list) {
  std::ifstream file(path);
  if (!file) {
    return absl::NotFoundError(absl::StrCat("cannot open '", path, "'"));
  }
  KeyLists lists;
  std::vector<Key> batch;
  const auto finish = [&] {
    lists.keys_.insert(lists.keys_.end(), batch.begin(), batch.end());
    lists.ends_.push_back(lists.keys_.size());
    batch.clear();
  };
  const auto tidy = [&] {
    std::sort(batch.begin(), batch.end());
    batch.erase(std::unique(batch.begin(), batch.end()), batch.end());
  };
  std::string line;
  // Sorted anew when so many have come since, and not at every record.
  size_t look_at = keys_per_list;
  for (uint64_t number = 1; std::getline(file, line); ++number) {
    absl::string_view record = line;
    record = record.substr(0, record.find('#'));
    bool is_label = true;
    for (const absl::string_view word :
         absl::StrSplit(record, absl::ByAnyChar(" \t\r"), absl::SkipEmpty())) {
      if (std::exchange(is_label, false)) continue;
      const absl::string_view index = word.substr(0, word.find(':'));
      Key key = 0;
      if (index == "qid") continue;
      if (index.size() == word.size() || !absl::SimpleAtoi(index, &key)) {
        return absl::InvalidArgumentError(absl::StrCat(
            path, ":", number, ": '", word, "' is no index:value of libsvm"));
      }
      batch.push_back(key);
    }
    if (batch.size() < look_at) continue;
    tidy();
    if (batch.size() >= keys_per_list) {
      finish();
      look_at = keys_per_list;
    } else {
      look_at = batch.size() + std::max<size_t>(keys_per_list / 4, 1);
    }
  }
  tidy();
  if (!batch.empty()) finish();
  if (lists.keys_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' has no keys"));
  }
  return lists;
}

absl::Span<const Key> KeyLists::operator[](size_t list) const {
  const size_t begin = list == 0 ? 0 : ends_[list - 1];
  return absl::MakeConstSpan(keys_).subspan(begin, ends_[list] - begin);
}

std::vector<Key> KeyLists::AllKeys() const {
  std::vector<Key> all = keys_;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace seraph
