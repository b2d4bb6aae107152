#include "scheduler/store/etcd_state_store.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/log/log.h"
#include "common/status/errors.h"
#include "common/status/status_macros.h"
#include "scheduler/store/state_batch.h"
#include "xxhash.h"

namespace seraph {
namespace {

using ::etcdserverpb::Compare;
using ::etcdserverpb::KeyValue;
using ::etcdserverpb::RequestOp;

// etcd takes 1.5 MiB and 128 operations in a request, by default.
constexpr size_t kInlineBytes = size_t{128} << 10;
constexpr size_t kChunkBytes = size_t{512} << 10;
constexpr size_t kTransactionBytes = size_t{768} << 10;
constexpr size_t kTransactionOps = 100;
constexpr int64_t kRecordsPerPage = 100;
constexpr int64_t kChunksPerPage = 16;
// A history of so many transactions stays.
constexpr uint64_t kCompactEvery = 1000;
constexpr absl::Duration kShortestAttempt = absl::Milliseconds(500);
constexpr absl::Duration kLongestPoll = absl::Milliseconds(500);

std::string FolderOf(const std::string& cluster) {
  return absl::StrCat("/seraph/", cluster, "/");
}

// The end of the range of all keys that begin with `prefix`, whose last byte is
// no 0xff.
std::string RangeEnd(std::string prefix) {
  ++prefix.back();
  return prefix;
}

RequestOp Put(const std::string& key, std::string value, int64_t lease = 0) {
  RequestOp op;
  op.mutable_request_put()->set_key(key);
  op.mutable_request_put()->set_value(std::move(value));
  op.mutable_request_put()->set_lease(lease);
  return op;
}

RequestOp Remove(const std::string& key) {
  RequestOp op;
  op.mutable_request_delete_range()->set_key(key);
  return op;
}

RequestOp RemoveAll(const std::string& prefix) {
  RequestOp op = Remove(prefix);
  op.mutable_request_delete_range()->set_range_end(RangeEnd(prefix));
  return op;
}

RequestOp Get(const std::string& key) {
  RequestOp op;
  op.mutable_request_range()->set_key(key);
  return op;
}

Compare CreatedAt(const std::string& key, int64_t revision) {
  Compare compare;
  compare.set_result(Compare::EQUAL);
  compare.set_target(Compare::CREATE);
  compare.set_key(key);
  compare.set_create_revision(revision);
  return compare;
}

Compare HasValue(const std::string& key, const std::string& value) {
  Compare compare;
  compare.set_result(Compare::EQUAL);
  compare.set_target(Compare::VALUE);
  compare.set_key(key);
  compare.set_value(value);
  return compare;
}

uint64_t Hash(absl::string_view bytes) {
  return XXH64(bytes.data(), bytes.size(), 0);
}

size_t SizeOf(const std::vector<RequestOp>& ops) {
  size_t size = 0;
  for (const RequestOp& op : ops) size += op.ByteSizeLong();
  return size;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EtcdStateStore>> EtcdStateStore::Campaign(
    const EtcdOptions& options, const MonotonicClock* clock,
    const Notification* stop,
    std::function<void(const std::string& address)> on_leader) {
  auto client = std::make_unique<EtcdClient>(
      options.endpoints,
      std::max(kShortestAttempt,
               std::min(options.lease / 4, absl::Seconds(2))));
  const std::string leader_key = FolderOf(options.cluster) + "leader";
  const absl::Duration poll = std::min(options.lease / 8, kLongestPoll);
  std::unique_ptr<EtcdLease> lease;
  std::optional<std::string> told;
  const auto tell = [&](const std::string& leader) {
    if (told != leader) on_leader(*(told = leader));
  };
  std::string logged;
  const auto fail = [&](const absl::Status& status) {
    tell("");
    const std::string code = absl::StatusCodeToString(status.code());
    if (std::exchange(logged, code) != code) {
      spdlog::warn("etcd.unreachable status={} next=retry", LogValue(status));
    }
  };
  const auto won = [&](int64_t revision) {
    lease->KeepUp();
    spdlog::info("scheduler.elected term={}", revision);
    return std::unique_ptr<EtcdStateStore>(new EtcdStateStore(
        options, std::move(client), std::move(lease), revision));
  };

  for (; !stop->HasBeenNotified(); (void)stop->WaitFor(poll)) {
    etcdserverpb::RangeRequest ask;
    ask.set_key(leader_key);
    const auto leader = client->Range(ask);
    if (!leader.ok()) {
      fail(leader.status());
      continue;
    }
    logged.clear();
    if (leader->kvs_size() > 0) {
      const KeyValue& kv = leader->kvs(0);
      // Perhaps it was us, and the answer was lost.
      if (lease != nullptr && kv.lease() == lease->id()) {
        if (lease->holds()) return won(kv.create_revision());
        lease.reset();
        continue;
      }
      tell(kv.value());
      continue;
    }
    tell("");
    if (lease == nullptr || !lease->holds()) {
      lease.reset();
      auto granted = EtcdLease::Grant(client.get(), clock, options.lease);
      if (!granted.ok()) {
        fail(granted.status());
        continue;
      }
      lease = *std::move(granted);
    }
    etcdserverpb::TxnRequest campaign;
    *campaign.add_compare() = CreatedAt(leader_key, 0);
    *campaign.add_success() = Put(leader_key, options.address, lease->id());
    const auto result = client->Txn(campaign);
    if (!result.ok()) {
      fail(result.status());
      continue;
    }
    if (result->succeeded() && lease->holds()) {
      return won(result->header().revision());
    }
  }
  return absl::CancelledError("stopped while another scheduler led");
}

EtcdStateStore::EtcdStateStore(const EtcdOptions& options,
                               std::unique_ptr<EtcdClient> client,
                               std::unique_ptr<EtcdLease> lease, int64_t term)
    : folder_(FolderOf(options.cluster)),
      term_(term),
      client_(std::move(client)),
      lease_(std::move(lease)) {}

EtcdStateStore::~EtcdStateStore() = default;

std::string EtcdStateStore::KeyOf(absl::string_view name) const {
  return absl::StrCat(folder_, name);
}

absl::Status EtcdStateStore::Deposed() const {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "another scheduler leads, or may lead: the lease of term ", term_,
          " has run out")),
      "DEPOSED");
}

absl::Status EtcdStateStore::Check() const {
  return lease_->holds() ? absl::OkStatus() : Deposed();
}

absl::Status EtcdStateStore::Change(const Ops& ops) {
  const std::string last_key = KeyOf("last");
  const std::string leader_key = KeyOf("leader");
  std::string content;
  for (const RequestOp& op : ops) content += op.SerializeAsString();
  const std::string mine = absl::StrCat(term_, "-");
  const std::string name =
      absl::StrFormat("%s%d-%016x", mine, changes_ + 1, Hash(content));
  while (true) {
    if (deposed_) return Deposed();
    SERAPH_RETURN_IF_ERROR(Check());
    etcdserverpb::TxnRequest request;
    *request.add_compare() = CreatedAt(leader_key, term_);
    *request.add_compare() =
        last_.empty() ? CreatedAt(last_key, 0) : HasValue(last_key, last_);
    for (const RequestOp& op : ops) *request.add_success() = op;
    *request.add_success() = Put(last_key, name);
    *request.add_failure() = Get(leader_key);
    *request.add_failure() = Get(last_key);
    SERAPH_ASSIGN_OR_RETURN(const etcdserverpb::TxnResponse response,
                            client_->Txn(request));
    revision_ = std::max(revision_, response.header().revision());
    if (!response.succeeded()) {
      const auto& leader = response.responses(0).response_range();
      const auto& last = response.responses(1).response_range();
      if (leader.kvs_size() == 0 || leader.kvs(0).create_revision() != term_) {
        deposed_ = true;
        return Deposed();
      }
      const std::string found = last.kvs_size() == 0 ? "" : last.kvs(0).value();
      if (found == last_ || (found != name && !found.starts_with(mine))) {
        return absl::InternalError(absl::StrCat(
            "somebody else has changed ", last_key, " in etcd to '", found,
            "': each cluster needs a name of its own, and its keys belong to "
            "its schedulers alone"));
      }
      last_ = found;
      if (found != name) continue;  // Of an earlier change, tried again.
      // A call that seemed lost was not.
    }
    last_ = name;
    if (++changes_ % kCompactEvery == 0) Compact();
    return absl::OkStatus();
  }
}

void EtcdStateStore::Compact() {
  const int64_t to = std::exchange(compact_to_, revision_);
  if (to == 0) return;
  etcdserverpb::CompactionRequest request;
  request.set_revision(to);
  const auto done = client_->Compact(request);
  // OutOfRange: somebody else does it too.
  if (!done.ok() && !absl::IsOutOfRange(done.status())) {
    spdlog::warn("etcd.not_compacted status={} next=later",
                 LogValue(done.status()));
  }
}

absl::StatusOr<std::string> EtcdStateStore::Frame(absl::string_view value,
                                                  std::string* id) {
  id->clear();
  if (value.size() <= kInlineBytes) return absl::StrCat("i", value);
  *id = absl::StrCat(term_, "-", ++chunked_);
  for (size_t at = 0, n = 0; at < value.size(); at += kChunkBytes, ++n) {
    const absl::string_view piece = value.substr(at, kChunkBytes);
    SERAPH_RETURN_IF_ERROR(
        Change({Put(KeyOf(absl::StrFormat("chunks/%s/%08d", *id, n)),
                    std::string(piece.data(), piece.size()))}));
  }
  return absl::StrFormat("c%s %d %016x", *id, value.size(), Hash(value));
}

absl::StatusOr<std::string> EtcdStateStore::Unframe(absl::string_view record) {
  if (absl::ConsumePrefix(&record, "i")) {
    return std::string(record.data(), record.size());
  }
  const std::vector<std::string> words = absl::StrSplit(record, ' ');
  uint64_t size = 0, hash = 0;
  if (words.size() != 3 || !absl::StartsWith(words[0], "c") ||
      !absl::SimpleAtoi(words[1], &size) ||
      !absl::SimpleHexAtoi(words[2], &hash)) {
    return absl::DataLossError("a record in etcd has no form that is known");
  }
  std::string value;
  SERAPH_ASSIGN_OR_RETURN(const std::vector<KeyValue> pieces,
                          List(absl::StrCat("chunks/", words[0].substr(1), "/"),
                               /*keys_only=*/false, kChunksPerPage));
  for (const KeyValue& piece : pieces) value += piece.value();
  if (value.size() != size || Hash(value) != hash) {
    return absl::DataLossError(
        absl::StrCat("chunks of '", words[0].substr(1),
                     "' are missing in etcd, or damaged"));
  }
  return value;
}

absl::StatusOr<std::vector<KeyValue>> EtcdStateStore::List(
    const std::string& folder, bool keys_only, int64_t page) {
  std::vector<KeyValue> all;
  etcdserverpb::RangeRequest request;
  request.set_key(KeyOf(folder));
  request.set_range_end(RangeEnd(KeyOf(folder)));
  request.set_limit(page);
  request.set_keys_only(keys_only);
  while (true) {
    SERAPH_ASSIGN_OR_RETURN(etcdserverpb::RangeResponse response,
                            client_->Range(request));
    // All pages of the moment of the first.
    request.set_revision(response.header().revision());
    for (KeyValue& kv : *response.mutable_kvs()) all.push_back(std::move(kv));
    if (!response.more() || response.kvs_size() == 0) return all;
    request.set_key(all.back().key() + std::string(1, '\0'));
  }
}

absl::StatusOr<StateRecords> EtcdStateStore::Load() {
  SERAPH_RETURN_IF_ERROR(Check());
  etcdserverpb::RangeRequest ask;
  ask.set_key(KeyOf("last"));
  SERAPH_ASSIGN_OR_RETURN(const auto last, client_->Range(ask));
  last_ = last.kvs_size() == 0 ? "" : last.kvs(0).value();
  // From here on nobody but us changes anything.
  SERAPH_RETURN_IF_ERROR(Change({}));

  ask.set_key(KeyOf("pending"));
  SERAPH_ASSIGN_OR_RETURN(const auto pending, client_->Range(ask));
  if (pending.kvs_size() > 0) {
    SERAPH_RETURN_IF_ERROR(FinishPending(pending.kvs(0).value()));
  }

  SERAPH_ASSIGN_OR_RETURN(const std::vector<KeyValue> stored,
                          List("state/", /*keys_only=*/false, kRecordsPerPage));
  StateRecords records;
  std::set<std::string> used;
  chunks_.clear();
  for (const KeyValue& kv : stored) {
    const std::string key = kv.key().substr(KeyOf("state/").size());
    absl::StatusOr<std::string> value = Unframe(kv.value());
    if (!value.ok()) return Annotate(value.status(), key);
    records[key] = *std::move(value);
    if (absl::StartsWith(kv.value(), "c")) {
      const std::string id = kv.value().substr(1, kv.value().find(' ') - 1);
      chunks_[key] = id;
      used.insert(id);
    }
  }
  // What a commit that failed has left.
  SERAPH_ASSIGN_OR_RETURN(const std::vector<KeyValue> pieces,
                          List("chunks/", /*keys_only=*/true, kRecordsPerPage));
  for (const KeyValue& kv : pieces) {
    const std::string path = kv.key().substr(KeyOf("chunks/").size());
    const std::string id = path.substr(0, path.find('/'));
    if (!used.insert(id).second) continue;
    SERAPH_RETURN_IF_ERROR(
        Change({RemoveAll(KeyOf(absl::StrCat("chunks/", id, "/")))}));
  }
  return records;
}

// `record` is "" for a key that goes.
EtcdStateStore::Ops EtcdStateStore::PlaceOps(const std::string& key,
                                             const std::string& record) {
  Ops ops;
  const std::string path = KeyOf(absl::StrCat("state/", key));
  ops.push_back(record.empty() ? Remove(path) : Put(path, record));
  if (const auto old = chunks_.find(key); old != chunks_.end()) {
    const std::string folder = absl::StrCat("c", old->second, " ");
    if (!absl::StartsWith(record, folder)) {
      ops.push_back(
          RemoveAll(KeyOf(absl::StrCat("chunks/", old->second, "/"))));
    }
  }
  return ops;
}

absl::Status EtcdStateStore::Place(
    const std::map<std::string, std::string>& framed) {
  Ops ops;
  for (const auto& [key, record] : framed) {
    Ops more = PlaceOps(key, record);
    if (!ops.empty() && (ops.size() + more.size() > kTransactionOps ||
                         SizeOf(ops) + SizeOf(more) > kTransactionBytes)) {
      SERAPH_RETURN_IF_ERROR(Change(ops));
      ops.clear();
    }
    std::move(more.begin(), more.end(), std::back_inserter(ops));
  }
  SERAPH_RETURN_IF_ERROR(Change(ops));
  for (const auto& [key, record] : framed) {
    if (absl::StartsWith(record, "c")) {
      chunks_[key] = record.substr(1, record.find(' ') - 1);
    } else {
      chunks_.erase(key);
    }
  }
  return absl::OkStatus();
}

absl::Status EtcdStateStore::FinishPending(const std::string& record) {
  SERAPH_ASSIGN_OR_RETURN(const std::string bytes, Unframe(record));
  SERAPH_ASSIGN_OR_RETURN(const StateWrites writes, ParseBatch(bytes));
  std::map<std::string, std::string> framed;
  for (const StateWrite& write : writes) {
    framed[write.key] = write.value.value_or("");
  }
  SERAPH_RETURN_IF_ERROR(Place(framed));
  Ops ops = {Remove(KeyOf("pending"))};
  if (absl::StartsWith(record, "c")) {
    ops.push_back(RemoveAll(KeyOf(
        absl::StrCat("chunks/", record.substr(1, record.find(' ') - 1), "/"))));
  }
  return Change(ops);
}

absl::Status EtcdStateStore::Commit(const StateWrites& writes) {
  if (unfinished_) {
    // A repeat of what is pending changes nothing; anything else comes after.
    etcdserverpb::RangeRequest ask;
    ask.set_key(KeyOf("pending"));
    SERAPH_ASSIGN_OR_RETURN(const auto pending, client_->Range(ask));
    if (pending.kvs_size() > 0) {
      SERAPH_RETURN_IF_ERROR(FinishPending(pending.kvs(0).value()));
    }
    unfinished_ = false;
  }

  std::map<std::string, const std::optional<std::string>*> newest;
  for (const StateWrite& write : writes) newest[write.key] = &write.value;
  std::map<std::string, std::string> framed;
  for (const auto& [key, value] : newest) {
    std::string id;
    std::string& record = framed[key];
    if (value->has_value()) {
      SERAPH_ASSIGN_OR_RETURN(record, Frame(**value, &id));
    }
  }

  Ops ops;
  for (const auto& [key, record] : framed) {
    Ops more = PlaceOps(key, record);
    std::move(more.begin(), more.end(), std::back_inserter(ops));
  }
  if (ops.size() <= kTransactionOps && SizeOf(ops) <= kTransactionBytes) {
    return Place(framed);
  }
  StateWrites batch;
  for (const auto& [key, record] : framed) {
    batch.push_back({key, record.empty() ? std::nullopt
                                         : std::optional<std::string>(record)});
  }
  std::string id;
  SERAPH_ASSIGN_OR_RETURN(const std::string record,
                          Frame(SerializeBatch(batch), &id));
  unfinished_ = true;
  SERAPH_RETURN_IF_ERROR(Change({Put(KeyOf("pending"), record)}));
  SERAPH_RETURN_IF_ERROR(FinishPending(record));
  unfinished_ = false;
  return absl::OkStatus();
}

}  // namespace seraph
