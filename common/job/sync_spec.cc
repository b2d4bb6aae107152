#include "common/job/sync_spec.h"

namespace seraph {

absl::string_view SyncModeName(SyncMode mode) {
  switch (mode) {
    case SyncMode::kBsp:
      return "bsp";
    case SyncMode::kSsp:
      return "ssp";
    case SyncMode::kAsp:
      return "asp";
  }
  return "";
}

absl::string_view CombineName(Combine combine) {
  return combine == Combine::kMean ? "mean" : "sum";
}

}  // namespace seraph
