// A folder of the file system.
#ifndef SERAPH_COMMON_IO_POSIX_BLOB_FOLDER_H_
#define SERAPH_COMMON_IO_POSIX_BLOB_FOLDER_H_

#include <memory>
#include <string>
#include <vector>

#include "common/io/blob_folder.h"

namespace seraph {

// Nothing is opened or made until it is needed.
class PosixBlobFolder final : public BlobFolder {
 public:
  explicit PosixBlobFolder(std::string path);

  const std::string& path() const override { return path_; }
  absl::StatusOr<std::unique_ptr<BlobWriter>> Create(
      const std::string& name) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& name) override;
  absl::Status Sync() override;
  absl::StatusOr<std::unique_ptr<BlobReader>> Open(
      const std::string& name) override;
  absl::StatusOr<std::vector<BlobInfo>> List() override;

 private:
  const std::string path_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_IO_POSIX_BLOB_FOLDER_H_
