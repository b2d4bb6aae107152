#include "worker/client/key_orders.h"

#include <algorithm>

#include "common/table/partitioning.h"

namespace seraph {
namespace {

size_t BytesOf(const KeyOrder& order) {
  return order.given.size() * (2 * sizeof(Key) + sizeof(uint32_t));
}

}  // namespace

std::shared_ptr<const KeyOrder> KeyOrders::Of(uint32_t table,
                                              const TableSpec& spec,
                                              absl::Span<const Key> keys) {
  const auto same =
      std::find_if(latest_.begin(), latest_.end(), [&](const Known& known) {
        return known.table == table &&
               absl::MakeConstSpan(known.order->given) == keys;
      });
  if (same != latest_.end()) {
    ++found_;
    latest_.splice(latest_.begin(), latest_, same);
    return latest_.front().order;
  }
  latest_.push_front({table, Sort(spec, keys)});
  bytes_ += BytesOf(*latest_.front().order);
  while (latest_.size() > 1 &&
         (latest_.size() > kMost || bytes_ > kMostBytes)) {
    bytes_ -= BytesOf(*latest_.back().order);
    latest_.pop_back();
  }
  return latest_.front().order;
}

std::shared_ptr<const KeyOrder> KeyOrders::Sort(const TableSpec& spec,
                                                absl::Span<const Key> keys) {
  numbered_.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    numbered_[i] = {ToMixedKey(spec, keys[i]), static_cast<uint32_t>(i)};
  }
  sorter_.Sort(&numbered_);
  auto order = std::make_shared<KeyOrder>();
  order->given.assign(keys.begin(), keys.end());
  order->mixed.resize(keys.size());
  order->origin.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    order->mixed[i] = numbered_[i].key;
    order->origin[i] = numbered_[i].number;
  }
  return order;
}

}  // namespace seraph
