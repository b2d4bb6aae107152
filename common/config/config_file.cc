#include "common/config/config_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/config/yaml_tree.h"

namespace seraph {

absl::StatusOr<std::string> ReadConfigFile(const std::string& path) {
  const auto error = [&](int number) {
    return absl::ErrnoToStatus(number, absl::StrCat("cannot read ", path));
  };
  // Opening a FIFO would wait until somebody writes to it.
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  if (kind == std::filesystem::file_type::fifo ||
      kind == std::filesystem::file_type::socket) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read ", path, ": it is no regular file"));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return error(errno);
  // One byte more than allowed, so that a larger file shows.
  std::string text(kMaxYamlBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  // A folder opens, but does not read.
  if (file.bad()) return error(errno);
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxYamlBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": larger than 1 MiB"));
  }
  return text;
}

}  // namespace seraph
