#include "common/io/memory_blob_folder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

class Reader final : public BlobReader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}

  absl::Status Read(size_t bytes, std::string* to) override {
    *to = bytes_.substr(used_, bytes);
    used_ += to->size();
    return absl::OkStatus();
  }

  uint64_t size() const override { return bytes_.size(); }

 private:
  const std::string bytes_;
  size_t used_ = 0;
};

}  // namespace

class MemoryBlobFolder::Writer final : public BlobWriter {
 public:
  Writer(MemoryBlobFolder* folder, std::string name, std::shared_ptr<File> file,
         uint64_t crashes)
      : folder_(*folder),
        name_(std::move(name)),
        file_(std::move(file)),
        crashes_(crashes) {}

  absl::Status Append(absl::string_view bytes) override {
    MutexLock lock(&folder_.mu_);
    SERAPH_RETURN_IF_ERROR(status_);
    status_ = Step("append to");
    const size_t n = status_.ok() ? bytes.size() : bytes.size() / 2;
    if (crashes_ == folder_.crashes_) file_->bytes.append(bytes.data(), n);
    return status_;
  }

  absl::Status Sync() override {
    MutexLock lock(&folder_.mu_);
    SERAPH_RETURN_IF_ERROR(status_);
    status_ = Step("sync");
    if (status_.ok()) file_->synced = file_->bytes.size();
    return status_;
  }

 private:
  absl::Status Step(absl::string_view what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(folder_.mu_) {
    if (crashes_ != folder_.crashes_) {
      return absl::InternalError(absl::StrCat(
          "cannot ", what, " '", folder_.PathOf(name_), "': the disk is gone"));
    }
    return folder_.Step(what, name_);
  }

  MemoryBlobFolder& folder_;
  const std::string name_;
  const std::shared_ptr<File> file_;
  const uint64_t crashes_;  // Of the folder, when this was opened.
  absl::Status status_;
};

MemoryBlobFolder::MemoryBlobFolder(std::string path) : path_(std::move(path)) {}

absl::Status MemoryBlobFolder::Step(absl::string_view what,
                                    const std::string& name) {
  const uint64_t step = steps_++;
  return fault_ == nullptr ? absl::OkStatus() : fault_(step, what, name);
}

absl::StatusOr<std::unique_ptr<BlobWriter>> MemoryBlobFolder::Create(
    const std::string& name) {
  MutexLock lock(&mu_);
  if (names_.contains(name)) {
    return absl::AlreadyExistsError(
        absl::StrCat("cannot create '", PathOf(name), "': it is there"));
  }
  SERAPH_RETURN_IF_ERROR(Step("create", name));
  auto file = std::make_shared<File>();
  names_[name] = file;
  changes_.push_back({"", name, file});
  return std::make_unique<Writer>(this, name, std::move(file), crashes_);
}

absl::Status MemoryBlobFolder::Rename(const std::string& from,
                                      const std::string& to) {
  MutexLock lock(&mu_);
  SERAPH_RETURN_IF_ERROR(Step("rename", from));
  auto named = names_.extract(from);
  if (named.empty()) {
    return absl::NotFoundError(absl::StrCat("cannot rename '", PathOf(from),
                                            "': there is no such file"));
  }
  changes_.push_back({from, to, named.mapped()});
  names_[to] = std::move(named.mapped());
  return absl::OkStatus();
}

absl::Status MemoryBlobFolder::Remove(const std::string& name) {
  MutexLock lock(&mu_);
  SERAPH_RETURN_IF_ERROR(Step("remove", name));
  if (names_.erase(name) == 0) {
    return absl::NotFoundError(absl::StrCat("cannot remove '", PathOf(name),
                                            "': there is no such file"));
  }
  changes_.push_back({name, "", nullptr});
  return absl::OkStatus();
}

absl::Status MemoryBlobFolder::Sync() {
  MutexLock lock(&mu_);
  SERAPH_RETURN_IF_ERROR(Step("sync", ""));
  durable_ = names_;
  changes_.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BlobReader>> MemoryBlobFolder::Open(
    const std::string& name) {
  MutexLock lock(&mu_);
  const auto found = names_.find(name);
  if (found == names_.end()) {
    return absl::NotFoundError(absl::StrCat("cannot open '", PathOf(name),
                                            "': there is no such file"));
  }
  return std::make_unique<Reader>(found->second->bytes);
}

absl::StatusOr<std::vector<BlobInfo>> MemoryBlobFolder::List() {
  MutexLock lock(&mu_);
  std::vector<BlobInfo> files;
  for (const auto& [name, file] : names_) {
    files.push_back({name, file->bytes.size()});
  }
  return files;
}

void MemoryBlobFolder::Crash(const std::function<uint64_t(uint64_t n)>& draw) {
  MutexLock lock(&mu_);
  ++crashes_;
  for (const Change& change : changes_) {
    if (draw(2) == 0) continue;
    if (!change.from.empty()) durable_.erase(change.from);
    if (!change.to.empty()) durable_[change.to] = change.file;
  }
  changes_.clear();
  names_ = durable_;
  for (const auto& [name, file] : names_) {
    const size_t unsynced = file->bytes.size() - file->synced;
    if (unsynced > 0) {
      file->bytes.resize(file->bytes.size() - draw(unsynced + 1));
      const size_t zeros = draw(file->bytes.size() - file->synced + 1);
      std::fill(file->bytes.end() - zeros, file->bytes.end(), '\0');
    }
    file->synced = file->bytes.size();
  }
}

void MemoryBlobFolder::SetFault(Fault fault) {
  MutexLock lock(&mu_);
  fault_ = std::move(fault);
}

uint64_t MemoryBlobFolder::steps() const {
  MutexLock lock(&mu_);
  return steps_;
}

std::string MemoryBlobFolder::Bytes(const std::string& name) const {
  MutexLock lock(&mu_);
  return names_.at(name)->bytes;
}

void MemoryBlobFolder::Replace(const std::string& name, std::string bytes) {
  MutexLock lock(&mu_);
  File& file = *names_.at(name);
  file.bytes = std::move(bytes);
  file.synced = file.bytes.size();
}

}  // namespace seraph
