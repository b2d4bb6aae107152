#include "common/io/blob_folder.h"

#include "absl/strings/str_cat.h"

namespace seraph {

std::string BlobFolder::PathOf(absl::string_view name) const {
  return absl::StrCat(path(), "/", name);
}

}  // namespace seraph
