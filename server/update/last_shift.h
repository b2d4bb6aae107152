// The lazy terms of rows that often have the same record.
#ifndef SERAPH_SERVER_UPDATE_LAST_SHIFT_H_
#define SERAPH_SERVER_UPDATE_LAST_SHIFT_H_

#include <cstring>

#include "server/update/lazy_terms.h"

namespace seraph {

// LazyTerms::Between, which an exp makes dear, computed anew only where a row's
// record differs from the one before it: rows of one push often were in one
// push before. A value. `terms` must outlive it.
class LastShift {
 public:
  LastShift(const LazyTerms& terms, const LazySums& now)
      : terms_(terms),
        now_(now),
        bytes_(terms.record_cells() * sizeof(float)) {}

  const LazyShift& Of(const float* record) {
    if (bytes_ == 0) return shift_;
    if (!known_ || std::memcmp(record_, record, bytes_) != 0) {
      std::memcpy(record_, record, bytes_);
      shift_ = terms_.Between(record_, now_);
      known_ = true;
    }
    return shift_;
  }

 private:
  const LazyTerms& terms_;
  const LazySums now_;
  const size_t bytes_;
  bool known_ = false;
  float record_[4];
  LazyShift shift_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_UPDATE_LAST_SHIFT_H_
