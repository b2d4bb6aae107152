// A folder whose files are written at a pace.
#ifndef SERAPH_SERVER_CHECKPOINT_PACED_FOLDER_H_
#define SERAPH_SERVER_CHECKPOINT_PACED_FOLDER_H_

#include <memory>
#include <string>
#include <vector>

#include "common/io/blob_folder.h"
#include "server/checkpoint/write_pace.h"

namespace seraph {

// Another folder, but appending to its new files waits as WritePace says.
class PacedFolder final : public BlobFolder {
 public:
  // `pace` must outlive this, and the writers.
  PacedFolder(std::unique_ptr<BlobFolder> folder, WritePace* pace);

  const std::string& path() const override { return folder_->path(); }
  absl::StatusOr<std::unique_ptr<BlobWriter>> Create(
      const std::string& name) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& name) override;
  absl::Status Sync() override;
  absl::StatusOr<std::unique_ptr<BlobReader>> Open(
      const std::string& name) override;
  absl::StatusOr<std::vector<BlobInfo>> List() override;

 private:
  const std::unique_ptr<BlobFolder> folder_;
  WritePace* const pace_;
};

}  // namespace seraph

#endif  // SERAPH_SERVER_CHECKPOINT_PACED_FOLDER_H_
