#include "worker/client/told_lists.h"

namespace seraph {

void ToldLists::Forget(const std::vector<bool>& moved) {
  const auto forget = [&](Lists* lists, Room* room) {
    for (auto it = lists->begin(); it != lists->end();) {
      if (!moved[it->id.first]) {
        ++it;
        continue;
      }
      if (room != nullptr) room->used -= BytesOf(it->keys->size());
      lists_.erase(it->id);
      it = lists->erase(it);
    }
  };
  forget(&seen_, nullptr);
  for (auto& [life, room] : rooms_) forget(&room.lists, &room);
}

void ToldLists::Place(uint32_t placement, const Node& server) {
  places_[placement] = nullptr;
  if (server.name.empty()) return;
  const auto [room, added] =
      rooms_.try_emplace({server.name, server.incarnation});
  if (added) room->second.limit = options_.bytes_per_server;
  places_[placement] = &room->second;
}

std::optional<ToldLists::Sight> ToldLists::See(uint32_t placement,
                                               uint32_t table,
                                               absl::Span<const Key> keys,
                                               Way way) {
  // A range has no bytes to be spared.
  if (keys.size() < options_.least_keys ||
      keys.back() - keys.front() == keys.size() - 1) {
    return std::nullopt;
  }
  const auto place = places_.find(placement);
  if (place == places_.end() || place->second == nullptr) return std::nullopt;
  const ListName name =
      NameOfList(options_.job, options_.generation, table, keys);
  ++sights_;
  const auto [found, added] = lists_.try_emplace({placement, name});
  if (added) {
    seen_.push_front({.id = found->first, .keys = nullptr});
    seen_.front().seen[way] = sights_;
    found->second = seen_.begin();
    while (seen_.size() > options_.seen) {
      lists_.erase(seen_.back().id);
      seen_.pop_back();
    }
    return std::nullopt;
  }
  List& list = *found->second;
  const uint64_t before = std::exchange(list.seen[way], sights_);
  if (list.room == nullptr) {
    Room* const room = place->second;
    const bool has_room =
        before > 0 && MakeRoom(room, BytesOf(keys.size()), before);
    Lists& to = has_room ? room->lists : seen_;
    to.splice(to.begin(), seen_, found->second);
    if (!has_room) return std::nullopt;
    list.room = room;
    list.keys =
        std::make_shared<const std::vector<Key>>(keys.begin(), keys.end());
    room->used += BytesOf(keys.size());
    return Sight{.name = name, .told = nullptr};
  }
  Lists& lists = list.room->lists;
  lists.splice(lists.begin(), lists, found->second);
  return Sight{.name = name, .told = list.told ? list.keys : nullptr};
}

bool ToldLists::MakeRoom(Room* room, size_t bytes, uint64_t seen) {
  size_t used = room->used;
  auto first_to_go = room->lists.end();
  while (used + bytes > room->limit) {
    if (first_to_go == room->lists.begin()) return false;
    --first_to_go;
    if (first_to_go->used() > seen) return false;
    used -= BytesOf(first_to_go->keys->size());
  }
  for (auto it = first_to_go; it != room->lists.end();) {
    lists_.erase(it->id);
    it = room->lists.erase(it);
  }
  room->used = used;
  return true;
}

void ToldLists::Told(uint32_t placement, const ListName& name) {
  const auto found = lists_.find({placement, name});
  if (found != lists_.end() && found->second->room != nullptr) {
    found->second->told = true;
  }
}

void ToldLists::Forget(uint32_t placement, const ListName& name) {
  const auto found = lists_.find({placement, name});
  if (found == lists_.end() || !found->second->told) return;
  List& list = *found->second;
  Room* const room = std::exchange(list.room, nullptr);
  room->used -= BytesOf(list.keys->size());
  room->limit = room->used;
  list.keys = nullptr;
  list.told = false;
  seen_.splice(seen_.begin(), room->lists, found->second);
}

}  // namespace seraph
