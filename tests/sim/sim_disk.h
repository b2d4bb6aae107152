// The shared folders of a simulated cluster.
#ifndef SERAPH_TESTS_SIM_SIM_DISK_H_
#define SERAPH_TESTS_SIM_SIM_DISK_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/io/blob_folder.h"
#include "common/io/memory_blob_folder.h"

namespace seraph::testing {

// By path; every machine sees the same. What a machine's life wrote and did not
// sync may be lost with it.
class SimDisk {
 public:
  MemoryBlobFolder* Folder(const std::string& path) {
    std::unique_ptr<MemoryBlobFolder>& folder = folders_[path];
    if (folder == nullptr) folder = std::make_unique<MemoryBlobFolder>(path);
    return folder.get();
  }

  void Crash(const std::function<uint64_t(uint64_t n)>& draw) {
    for (auto& [path, folder] : folders_) folder->Crash(draw);
  }

  void ForEach(const std::function<void(MemoryBlobFolder* folder)>& look) {
    for (auto& [path, folder] : folders_) look(folder.get());
  }

  // A folder as one life of a machine opens it: once `*alive` is false, nothing
  // is done any more.
  std::unique_ptr<BlobFolder> Open(const std::string& path,
                                   std::shared_ptr<const bool> alive) {
    return std::make_unique<View>(Folder(path), std::move(alive));
  }

 private:
  class View final : public BlobFolder {
   public:
    View(MemoryBlobFolder* folder, std::shared_ptr<const bool> alive)
        : folder_(*folder), alive_(std::move(alive)) {}

    const std::string& path() const override { return folder_.path(); }
    absl::StatusOr<std::unique_ptr<BlobWriter>> Create(
        const std::string& name) override {
      if (!*alive_) return Dead();
      return folder_.Create(name);
    }
    absl::Status Rename(const std::string& from,
                        const std::string& to) override {
      return *alive_ ? folder_.Rename(from, to) : Dead();
    }
    absl::Status Remove(const std::string& name) override {
      return *alive_ ? folder_.Remove(name) : Dead();
    }
    absl::Status Sync() override { return *alive_ ? folder_.Sync() : Dead(); }
    absl::StatusOr<std::unique_ptr<BlobReader>> Open(
        const std::string& name) override {
      if (!*alive_) return Dead();
      return folder_.Open(name);
    }
    absl::StatusOr<std::vector<BlobInfo>> List() override {
      if (!*alive_) return Dead();
      return folder_.List();
    }

   private:
    static absl::Status Dead() {
      return absl::UnavailableError("the machine is down");
    }

    MemoryBlobFolder& folder_;
    const std::shared_ptr<const bool> alive_;
  };

  std::map<std::string, std::unique_ptr<MemoryBlobFolder>> folders_;
};

}  // namespace seraph::testing

#endif  // SERAPH_TESTS_SIM_SIM_DISK_H_
