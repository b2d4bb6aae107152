#include "server/service/listed_keys.h"

#include <utility>

#include "absl/status/status.h"
#include "common/base/key_order.h"
#include "common/wire/list_name.h"

namespace seraph {

KeyListCache::Id ListedKeys::IdOf(const PartitionActor& actor,
                                  const v1::KeyListName& name) const {
  KeyListCache::Id id{.replica = actor.number(),
                      .name = {name.low(), name.high()}};
  if (header_.has_rank()) {
    id.rank = header_.rank().rank();
    id.attempt = header_.rank().attempt();
  } else {
    id.session = header_.session();
  }
  return id;
}

absl::StatusOr<std::shared_ptr<KeyList>> ListedKeys::Keep(
    const PartitionActor& actor, uint32_t table, const v1::KeyListName& name,
    std::vector<Key>* keys) const {
  if (keys->empty() || !actor.range().Contains(keys->front()) ||
      !actor.range().Contains(keys->back()) ||
      FirstNotAbove(*keys) < keys->size()) {
    return nullptr;
  }
  const KeyListCache::Id id = IdOf(actor, name);
  if (NameOfList(job_.name.id, job_.name.generation, table, *keys) != id.name) {
    return absl::InvalidArgumentError(
        "the name of the list is not that of these keys");
  }
  return job_.lists->Keep(id, std::make_shared<KeyList>(std::move(*keys)));
}

}  // namespace seraph
