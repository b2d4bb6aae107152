// A folder that lives as long as the object, for tests that need files.
#ifndef SERAPH_COMMON_TESTING_TEMP_FOLDER_H_
#define SERAPH_COMMON_TESTING_TEMP_FOLDER_H_

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace seraph::testing {

class TempFolder {
 public:
  TempFolder() {
    path_ = absl::StrCat(std::filesystem::temp_directory_path().string(),
                         "/seraph-test-XXXXXX");
    EXPECT_NE(::mkdtemp(path_.data()), nullptr) << path_;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }

  // The path of `name` in the folder, whether it exists or not.
  std::string Path(absl::string_view name) const {
    return absl::StrCat(path_, "/", name);
  }

  // Makes or replaces a file, with the folders above it. Returns its path.
  std::string Write(absl::string_view name, absl::string_view content) const {
    const std::string path = Path(name);
    std::filesystem::create_directories(
        std::filesystem::path(path).parent_path());
    std::ofstream file(path, std::ios::binary);
    file.write(content.data(), content.size());
    EXPECT_TRUE(file.flush().good()) << path;
    return path;
  }

  // The bytes of a file in the folder; "" if there is none.
  std::string Read(absl::string_view name) const {
    std::ifstream file(Path(name), std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  }

  // The names of what lies in the folder itself, sorted.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

}  // namespace seraph::testing

#endif  // SERAPH_COMMON_TESTING_TEMP_FOLDER_H_
