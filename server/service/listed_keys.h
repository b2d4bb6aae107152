// Parts of requests whose keys go by the name of their list.
#ifndef SERAPH_SERVER_SERVICE_LISTED_KEYS_H_
#define SERAPH_SERVER_SERVICE_LISTED_KEYS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/key.h"
#include "proto/parameters.pb.h"
#include "server/service/key_list_cache.h"
#include "server/service/served_job.h"

namespace seraph {

// The lists of whoever sent a request. Nothing is taken on trust: a list is
// kept under the name that its keys have.
class ListedKeys {
 public:
  // Both must outlive this.
  ListedKeys(const ServedJob& job, const v1::RequestHeader& header)
      : job_(job), header_(header) {}

  // The list that a part of KEY_ENCODING_LISTED names; null: it is not known.
  template <typename Part>
  std::shared_ptr<KeyList> Find(const PartitionActor& actor,
                                const Part& part) const {
    return job_.lists->Find(IdOf(actor, part.list()));
  }

  // Keeps the keys of a part that spells and names them, and moves them there.
  // Null, and the keys stay: the partition refuses such keys.
  // Errors: InvalidArgument: their name is another one.
  template <typename Part>
  absl::StatusOr<std::shared_ptr<KeyList>> Keep(const PartitionActor& actor,
                                                const Part& part,
                                                std::vector<Key>* keys) const {
    return Keep(actor, part.table(), part.list(), keys);
  }

 private:
  KeyListCache::Id IdOf(const PartitionActor& actor,
                        const v1::KeyListName& name) const;
  absl::StatusOr<std::shared_ptr<KeyList>> Keep(const PartitionActor& actor,
                                                uint32_t table,
                                                const v1::KeyListName& name,
                                                std::vector<Key>* keys) const;

  const ServedJob& job_;
  const v1::RequestHeader& header_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_LISTED_KEYS_H_
