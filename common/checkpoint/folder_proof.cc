#include "common/checkpoint/folder_proof.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/status/errors.h"

namespace seraph {
namespace {

std::string Reason() { return std::generic_category().message(errno); }

// A page: a full disk takes the name but no bytes. The system's reason, or ""
// where it is written.
std::string WritePage(const std::string& path) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << std::string(4096, 's') << std::flush;
  return file.good() ? "" : Reason();
}

}  // namespace

absl::Status LeaveToken(const std::string& folder, const std::string& token) {
  std::error_code made;
  std::filesystem::create_directories(folder, made);
  if (made) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot create ", folder, ": ", made.message()));
  }
  const std::string path = absl::StrCat(folder, "/", token);
  const std::string reason = WritePage(path);
  if (reason.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot write ", path, ": ", reason));
}

absl::Status SeeToken(const std::string& folder, const std::string& token,
                      const std::string& who) {
  const std::string path = absl::StrCat(folder, "/", token);
  if (!std::ifstream(path, std::ios::binary).good()) {
    return WithReason(absl::FailedPreconditionError(
                          absl::StrCat("cannot read ", path, ": ", Reason())),
                      "FOLDER_NOT_SHARED");
  }
  if (who.empty()) return absl::OkStatus();
  const std::string own = absl::StrCat(path, ".", who);
  const std::string reason = WritePage(own);
  std::remove(own.c_str());
  if (reason.empty()) return absl::OkStatus();
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("cannot write ", own, ": ", reason)),
                    "FOLDER_NOT_WRITABLE");
}

}  // namespace seraph
