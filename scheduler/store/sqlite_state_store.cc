#include "scheduler/store/sqlite_state_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr char kMakeTables[] =
    "CREATE TABLE records (key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE TABLE facts (name TEXT PRIMARY KEY NOT NULL, value NOT NULL)"
    " WITHOUT ROWID;"
    "INSERT INTO facts VALUES ('term', 0);";
// "SRPH", so that `file` and we know our databases.
constexpr char kSetApplication[] = "PRAGMA application_id = 1397903432";
constexpr char kApplication[] = "1397903432";

absl::StatusCode CodeOf(int sqlite_code) {
  switch (sqlite_code & 0xff) {
    case SQLITE_FULL:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return absl::StatusCode::kPermissionDenied;
    default:
      // A sync that failed too: what it was to keep may be lost already, so it
      // is no good to repeat it.
      return absl::StatusCode::kInternal;
  }
}

// A new file is there after a power cut only when its folder is synced.
absl::Status SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (synced) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("cannot sync ", folder, ": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStateStore>> SqliteStateStore::Open(
    const std::string& folder, const std::string& cluster) {
  const std::string path = absl::StrCat(folder, "/", kFileName);
  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(
      path.c_str(), &database,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
      nullptr);
  // Even of one that could not be opened.
  std::unique_ptr<SqliteStateStore> store(new SqliteStateStore(path, database));
  if (opened != SQLITE_OK) return store->Error(opened, "cannot be opened");
  SERAPH_RETURN_IF_ERROR(store->Prepare(cluster));
  SERAPH_RETURN_IF_ERROR(SyncFolder(folder));
  return store;
}

SqliteStateStore::~SqliteStateStore() {
  sqlite3_finalize(put_);
  sqlite3_finalize(remove_);
  sqlite3_close(database_);
}

absl::Status SqliteStateStore::Error(int code, absl::string_view what) const {
  if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED) {
    return absl::FailedPreconditionError(absl::StrCat(
        "another scheduler has ", path_,
        " open: stop it, or give this one a scheduler.state_directory of its "
        "own"));
  }
  const absl::StatusCode status = CodeOf(code);
  const absl::string_view next =
      status == absl::StatusCode::kDataLoss
          ? "; put the newest good copy of the folder in its place, or move it "
            "away to start without any job"
          : "";
  return absl::Status(
      status, absl::StrCat("the scheduler's state ", path_, " ", what, ": ",
                           database_ == nullptr ? sqlite3_errstr(code)
                                                : sqlite3_errmsg(database_),
                           next));
}

absl::Status SqliteStateStore::Run(const char* sql) {
  const int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code, "cannot be used");
}

absl::StatusOr<std::string> SqliteStateStore::Ask(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(database_, sql, -1, &statement, nullptr);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  std::string value;
  if (code == SQLITE_ROW) {
    const auto* text =
        reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    if (text != nullptr) value = text;
  }
  absl::Status status;
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    status = Error(code, "cannot be read");
  }
  sqlite3_finalize(statement);
  if (!status.ok()) return status;
  return value;
}

absl::Status SqliteStateStore::Prepare(const std::string& cluster) {
  sqlite3_extended_result_codes(database_, 1);
  // The lock stays from the first transaction to the end, so no other process
  // reads either, and no memory is shared between processes.
  SERAPH_RETURN_IF_ERROR(Run("PRAGMA locking_mode = EXCLUSIVE"));
  // Locks before it looks: a damaged or foreign file is told apart from one
  // that is in use.
  SERAPH_RETURN_IF_ERROR(Run("BEGIN EXCLUSIVE"));
  SERAPH_RETURN_IF_ERROR(Run("COMMIT"));
  SERAPH_RETURN_IF_ERROR(Run("PRAGMA journal_mode = WAL"));
  SERAPH_RETURN_IF_ERROR(Run("PRAGMA synchronous = FULL"));
  SERAPH_ASSIGN_OR_RETURN(const std::string check,
                          Ask("PRAGMA integrity_check(1)"));
  if (check != "ok") {
    return absl::DataLossError(absl::StrCat(
        "the scheduler's state ", path_, " is damaged: ", check,
        "; put the newest good copy of the folder in its place, or move it "
        "away to start without any job"));
  }

  // One transaction makes the tables and raises the term.
  SERAPH_RETURN_IF_ERROR(Run("BEGIN EXCLUSIVE"));
  SERAPH_RETURN_IF_ERROR(CheckOrMakeTables(cluster));
  SERAPH_RETURN_IF_ERROR(
      Run("UPDATE facts SET value = value + 1 WHERE name = 'term'"));
  SERAPH_ASSIGN_OR_RETURN(const std::string term,
                          Ask("SELECT value FROM facts WHERE name = 'term'"));
  if (!absl::SimpleAtoi(term, &term_) || term_ == 0) {
    return absl::DataLossError(
        absl::StrCat("the scheduler's state ", path_, " has no term"));
  }
  SERAPH_RETURN_IF_ERROR(Run("COMMIT"));

  int code = sqlite3_prepare_v3(
      database_, "INSERT OR REPLACE INTO records VALUES (?1, ?2)", -1,
      SQLITE_PREPARE_PERSISTENT, &put_, nullptr);
  if (code == SQLITE_OK) {
    code = sqlite3_prepare_v3(database_, "DELETE FROM records WHERE key = ?1",
                              -1, SQLITE_PREPARE_PERSISTENT, &remove_, nullptr);
  }
  return code == SQLITE_OK ? absl::OkStatus() : Error(code, "cannot be used");
}

absl::Status SqliteStateStore::CheckOrMakeTables(const std::string& cluster) {
  SERAPH_ASSIGN_OR_RETURN(const std::string application,
                          Ask("PRAGMA application_id"));
  SERAPH_ASSIGN_OR_RETURN(const std::string tables,
                          Ask("SELECT count(*) FROM sqlite_schema"));
  if (tables == "0" && application == "0") {
    SERAPH_RETURN_IF_ERROR(Run(kSetApplication));
    SERAPH_RETURN_IF_ERROR(
        Run(absl::StrCat("PRAGMA user_version = ", kSchema).c_str()));
    SERAPH_RETURN_IF_ERROR(Run(kMakeTables));
    char* name = sqlite3_mprintf("INSERT INTO facts VALUES ('cluster', %Q)",
                                 cluster.c_str());
    const absl::Status named = Run(name);
    sqlite3_free(name);
    return named;
  }
  if (application != kApplication) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_,
                     " is a database of another program: choose another "
                     "scheduler.state_directory"));
  }
  SERAPH_ASSIGN_OR_RETURN(const std::string schema, Ask("PRAGMA user_version"));
  if (schema != absl::StrCat(kSchema)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path_, " has the form ", schema, ", and this version knows the form ",
        kSchema, ": use the version that has written it"));
  }
  SERAPH_ASSIGN_OR_RETURN(
      const std::string owner,
      Ask("SELECT value FROM facts WHERE name = 'cluster'"));
  if (owner != cluster) {
    return absl::FailedPreconditionError(absl::StrCat(
        path_, " is the state of cluster '", owner, "', not of '", cluster,
        "': check cluster.name and scheduler.state_directory"));
  }
  return absl::OkStatus();
}

absl::StatusOr<StateRecords> SqliteStateStore::Load() {
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(database_, "SELECT key, value FROM records", -1,
                                &statement, nullptr);
  StateRecords records;
  const auto column = [statement](int index) {
    const auto* bytes =
        static_cast<const char*>(sqlite3_column_blob(statement, index));
    const int size = sqlite3_column_bytes(statement, index);
    return size == 0 ? std::string() : std::string(bytes, size);
  };
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) records[column(0)] = column(1);
  }
  absl::Status status;
  if (code != SQLITE_DONE) status = Error(code, "cannot be read");
  sqlite3_finalize(statement);
  if (!status.ok()) return status;
  return records;
}

absl::Status SqliteStateStore::Commit(const StateWrites& writes) {
  if (writes.empty()) return absl::OkStatus();
  absl::Status status = Run("BEGIN IMMEDIATE");
  if (status.ok()) status = Write(writes);
  if (status.ok()) status = Run("COMMIT");
  // Some errors have ended the transaction already.
  if (!status.ok() && sqlite3_get_autocommit(database_) == 0) {
    sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  return status;
}

absl::Status SqliteStateStore::Write(const StateWrites& writes) {
  for (const StateWrite& write : writes) {
    sqlite3_stmt* statement = write.value.has_value() ? put_ : remove_;
    int code =
        sqlite3_bind_text64(statement, 1, write.key.data(), write.key.size(),
                            SQLITE_STATIC, SQLITE_UTF8);
    if (code == SQLITE_OK && write.value.has_value()) {
      // Bytes at null would be bound as NULL.
      code = sqlite3_bind_blob64(
          statement, 2, write.value->empty() ? "" : write.value->data(),
          write.value->size(), SQLITE_STATIC);
    }
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    absl::Status status;
    if (code != SQLITE_DONE) status = Error(code, "cannot be written");
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    SERAPH_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

}  // namespace seraph
