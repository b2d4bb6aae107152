#include "common/io/atomic_blob.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr absl::string_view kTemporary = ".tmp-";

// Each attempt at a name that failed may have left a file.
constexpr int kNameAttempts = 1000;

}  // namespace

absl::StatusOr<std::unique_ptr<AtomicBlob>> AtomicBlob::Create(
    BlobFolder* folder, const std::string& name) {
  for (int attempt = 0;; ++attempt) {
    std::string temporary = absl::StrCat(name, kTemporary, attempt);
    auto writer = folder->Create(temporary);
    if (writer.ok()) {
      return absl::WrapUnique(new AtomicBlob(folder, name, std::move(temporary),
                                             *std::move(writer)));
    }
    if (!absl::IsAlreadyExists(writer.status()) || attempt == kNameAttempts) {
      return writer.status();
    }
  }
}

AtomicBlob::AtomicBlob(BlobFolder* folder, std::string name,
                       std::string temporary,
                       std::unique_ptr<BlobWriter> writer)
    : folder_(folder),
      name_(std::move(name)),
      written_(std::move(temporary)),
      writer_(std::move(writer)) {}

AtomicBlob::~AtomicBlob() {
  writer_.reset();
  if (!written_.empty()) folder_->Remove(written_).IgnoreError();
}

absl::Status AtomicBlob::Append(absl::string_view bytes) {
  SERAPH_RETURN_IF_ERROR(status_);
  size_ += bytes.size();
  const absl::Status status = writer_->Append(bytes);
  return status.ok() ? status : Fail(status);
}

absl::Status AtomicBlob::Commit() {
  SERAPH_RETURN_IF_ERROR(status_);
  absl::Status status = writer_->Sync();
  if (!status.ok()) return Fail(std::move(status));
  writer_.reset();
  status = folder_->Rename(written_, name_);
  if (!status.ok()) return Fail(std::move(status));
  written_ = name_;
  status = folder_->Sync();
  if (!status.ok()) return Fail(std::move(status));
  written_.clear();
  status_ = absl::FailedPreconditionError(
      absl::StrCat("'", folder_->PathOf(name_), "' is already complete"));
  return absl::OkStatus();
}

absl::Status AtomicBlob::Fail(absl::Status status) {
  status_ = std::move(status);
  writer_.reset();
  if (!written_.empty()) folder_->Remove(written_).IgnoreError();
  written_.clear();
  return status_;
}

std::string TemporaryFor(absl::string_view name) {
  const size_t at = name.rfind(kTemporary);
  if (at == absl::string_view::npos || at == 0) return "";
  const absl::string_view number = name.substr(at + kTemporary.size());
  if (number.empty() ||
      number.find_first_not_of("0123456789") != absl::string_view::npos) {
    return "";
  }
  return std::string(name.substr(0, at));
}

}  // namespace seraph
