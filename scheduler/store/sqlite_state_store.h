// The state in a file: survives the process and the machine's restart, not the
// loss of its disk.
#ifndef SERAPH_SCHEDULER_STORE_SQLITE_STATE_STORE_H_
#define SERAPH_SCHEDULER_STORE_SQLITE_STATE_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "scheduler/store/state_store.h"

struct sqlite3;
struct sqlite3_stmt;

namespace seraph {

// An SQLite database with a write-ahead log, synced at every commit and locked
// as long as it is open.
class SqliteStateStore final : public StateStore {
 public:
  // The file in the state folder.
  static constexpr char kFileName[] = "state.sqlite";
  // Of the tables; a file of a later one is refused.
  static constexpr int kSchema = 1;

  // Opens or makes the database in `folder`, which exists, checks all of it and
  // raises its term.
  // Errors, each naming the file and what to do:
  //   FailedPrecondition  another scheduler has it open; it is another
  //     program's, of another cluster, or of a later version
  //   DataLoss            it is damaged
  //   PermissionDenied, ResourceExhausted, Internal  the system's reason
  static absl::StatusOr<std::unique_ptr<SqliteStateStore>> Open(
      const std::string& folder, const std::string& cluster);

  ~SqliteStateStore() override;
  SqliteStateStore(const SqliteStateStore&) = delete;
  SqliteStateStore& operator=(const SqliteStateStore&) = delete;

  uint64_t term() const override { return term_; }
  bool durable() const override { return true; }
  absl::StatusOr<StateRecords> Load() override;
  absl::Status Commit(const StateWrites& writes) override;

 private:
  SqliteStateStore(std::string path, sqlite3* database)
      : path_(std::move(path)), database_(database) {}

  // `what` failed with an SQLite result code.
  absl::Status Error(int code, absl::string_view what) const;
  absl::Status Run(const char* sql);
  // The one value of a statement; "" if it is null or there is no row.
  absl::StatusOr<std::string> Ask(const char* sql);
  absl::Status Prepare(const std::string& cluster);
  absl::Status CheckOrMakeTables(const std::string& cluster);
  absl::Status Write(const StateWrites& writes);

  const std::string path_;
  sqlite3* const database_;
  sqlite3_stmt* put_ = nullptr;
  sqlite3_stmt* remove_ = nullptr;
  uint64_t term_ = 0;
};

}  // namespace seraph

#endif  // SERAPH_SCHEDULER_STORE_SQLITE_STATE_STORE_H_
