// Lists of keys that servers were told, and have a name for.
#ifndef SERAPH_WORKER_CLIENT_TOLD_LISTS_H_
#define SERAPH_WORKER_CLIENT_TOLD_LISTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/cluster/node.h"
#include "common/wire/key_encoding.h"
#include "common/wire/list_name.h"

namespace seraph {

// Keys that a message has by name alone: kept until it is answered, because
// they may have to be spelled yet.
using ListKeys = std::shared_ptr<const std::vector<Key>>;
// By placement (TableRouter) and name.
using NamedKeys = std::map<std::pair<uint32_t, ListName>, ListKeys>;

// Which lists of keys of one rank go by name. A list belongs to a placement,
// as long as one life of one server leads it in one epoch; after that it is
// spelled again, as if it were new.
//
// A list is named when it is pulled, or pushed, for the second time: of lists
// that never come again servers keep nothing. A server is told no more than the
// room for it takes; then a list comes in only in place of one that was not
// used since the new one was seen before. So of an epoch's lists that do not
// all fit some stay and are of use in every epoch, where a cache of the last
// ones would have none when it comes round. A server that has lost a list had
// less room than that: from then on so much less is used.
//
// Threads: one at a time.
class ToldLists {
 public:
  struct Options {
    std::string job;
    uint64_t generation = 1;
    // Shorter ones are always spelled: docs/performance.md has the measurement.
    size_t least_keys = 128;
    // What a server is to keep, at kBytesPerKey.
    size_t bytes_per_server = size_t{64} << 20;
    // How many are remembered that have no name yet.
    size_t seen = size_t{1} << 17;
  };
  // Of a server: the key, and where its row lies.
  static constexpr size_t kBytesPerKey = 12;

  explicit ToldLists(Options options) : options_(std::move(options)) {}

  // The placements for which `moved` says so are led by others from now on, or
  // anew, whom Place names: these know nothing.
  void Forget(const std::vector<bool>& moved);
  // Requires: nothing is known of the placement.
  void Place(uint32_t placement, const Node& server);

  // Writes the keys of a part: their bytes, with or without a name, or the
  // name alone; then they are kept in `named` too.
  template <typename Part>
  void Write(uint32_t placement, absl::Span<const Key> keys, Part* part,
             std::string* bytes, NamedKeys* named) {
    const std::optional<Sight> sight =
        See(placement, part->table(), keys,
            std::is_same_v<Part, v1::PushPart> ? kPush : kPull);
    if (sight.has_value()) {
      part->mutable_list()->set_low(sight->name.low);
      part->mutable_list()->set_high(sight->name.high);
      if (sight->told != nullptr) {
        part->set_encoding(v1::KEY_ENCODING_LISTED);
        part->set_key_count(keys.size());
        named->emplace(std::pair(placement, sight->name), sight->told);
        return;
      }
    }
    SetKeys(keys, part, bytes);
  }

  // The part was taken: whoever leads the placement knows its list, if it was
  // spelled and named.
  template <typename Part>
  void OnTaken(uint32_t placement, const Part& part) {
    if (part.has_list() && part.encoding() != v1::KEY_ENCODING_LISTED) {
      Told(placement, NameOf(part));
    }
  }
  // The part's list is not known there.
  template <typename Part>
  void OnUnknown(uint32_t placement, const Part& part) {
    Forget(placement, NameOf(part));
  }

  // Writes the keys of a part of an earlier message once more, in which it had
  // `spelled` or a name: its bytes, without a name.
  template <typename Part>
  static void WriteAnew(uint32_t placement, absl::string_view spelled,
                        const NamedKeys& named, Part* part,
                        std::string* bytes) {
    if (part->encoding() == v1::KEY_ENCODING_LISTED) {
      SetKeys(*named.find({placement, NameOf(*part)})->second, part, bytes);
    } else {
      bytes->append(spelled.data(), spelled.size());
    }
    part->clear_list();
  }

  template <typename Part>
  static ListName NameOf(const Part& part) {
    return {part.list().low(), part.list().high()};
  }

 private:
  struct Sight {
    ListName name;
    ListKeys told;  // Null: it is to be spelled too.
  };
  using Id = std::pair<uint32_t, ListName>;
  // What one life of a server keeps for us.
  struct Room;
  enum Way { kPull, kPush };
  struct List {
    Id id;
    // The last time, by sights; 0: never. A rank pushes what it has pulled, so
    // that each way is by itself: both together say nothing of a second time.
    uint64_t seen[2] = {0, 0};
    Room* room = nullptr;  // Null: it has no name yet.
    ListKeys keys;         // With a room.
    bool told = false;     // The server has confirmed it.

    uint64_t used() const { return std::max(seen[kPull], seen[kPush]); }
  };
  using Lists = std::list<List>;  // The last ones seen first.
  struct Room {
    size_t limit = 0;
    size_t used = 0;
    Lists lists;
  };

  static size_t BytesOf(size_t keys) { return keys * kBytesPerKey; }

  // Nullopt: spelled without a name.
  std::optional<Sight> See(uint32_t placement, uint32_t table,
                           absl::Span<const Key> keys, Way way);
  void Told(uint32_t placement, const ListName& name);
  void Forget(uint32_t placement, const ListName& name);
  // Makes room for a list that was last seen at `seen`. False: there is none.
  bool MakeRoom(Room* room, size_t bytes, uint64_t seen);

  const Options options_;
  uint64_t sights_ = 0;
  std::map<std::pair<std::string, uint64_t>, Room> rooms_;  // By life.
  absl::flat_hash_map<uint32_t, Room*> places_;             // By placement.
  Lists seen_;                                      // Without a name yet.
  absl::flat_hash_map<Id, Lists::iterator> lists_;  // All of them.
};

}  // namespace seraph

#endif  // SERAPH_WORKER_CLIENT_TOLD_LISTS_H_
