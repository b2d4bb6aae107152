#include "client/bench/scratch_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace seraph {

absl::StatusOr<std::unique_ptr<ScratchFolder>> ScratchFolder::Create(
    const std::string& directory) {
  std::string path = absl::StrCat(directory, "/seraph-bench-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot create a folder in '", directory, "'"));
  }
  return absl::WrapUnique(new ScratchFolder(std::move(path)));
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace seraph
