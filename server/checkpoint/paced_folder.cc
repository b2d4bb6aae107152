#include "server/checkpoint/paced_folder.h"

#include <utility>

#include "common/status/status_macros.h"

namespace seraph {
namespace {

class PacedWriter final : public BlobWriter {
 public:
  PacedWriter(std::unique_ptr<BlobWriter> writer, WritePace* pace)
      : writer_(std::move(writer)), pace_(pace) {}

  absl::Status Append(absl::string_view bytes) override {
    pace_->Spend(bytes.size());
    return writer_->Append(bytes);
  }
  absl::Status Sync() override { return writer_->Sync(); }

 private:
  const std::unique_ptr<BlobWriter> writer_;
  WritePace* const pace_;
};

}  // namespace

PacedFolder::PacedFolder(std::unique_ptr<BlobFolder> folder, WritePace* pace)
    : folder_(std::move(folder)), pace_(pace) {}

absl::StatusOr<std::unique_ptr<BlobWriter>> PacedFolder::Create(
    const std::string& name) {
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<BlobWriter> writer,
                          folder_->Create(name));
  return std::make_unique<PacedWriter>(std::move(writer), pace_);
}

absl::Status PacedFolder::Rename(const std::string& from,
                                 const std::string& to) {
  return folder_->Rename(from, to);
}

absl::Status PacedFolder::Remove(const std::string& name) {
  return folder_->Remove(name);
}

absl::Status PacedFolder::Sync() { return folder_->Sync(); }

absl::StatusOr<std::unique_ptr<BlobReader>> PacedFolder::Open(
    const std::string& name) {
  return folder_->Open(name);
}

absl::StatusOr<std::vector<BlobInfo>> PacedFolder::List() {
  return folder_->List();
}

}  // namespace seraph
