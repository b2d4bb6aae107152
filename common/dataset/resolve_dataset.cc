#include "common/dataset/resolve_dataset.h"

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/dataset/idx_header.h"
#include "common/dataset/stream_reader.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

absl::StatusOr<bool> IsLabelFile(const std::string& path) {
  SERAPH_ASSIGN_OR_RETURN(const std::unique_ptr<StreamReader> reader,
                          StreamReader::Open(path));
  char head[kMaxIdxHeaderBytes];
  size_t size = 0;
  while (size < sizeof(head)) {
    SERAPH_ASSIGN_OR_RETURN(const size_t got,
                            reader->Read(head + size, sizeof(head) - size));
    if (got == 0) break;
    size += got;
  }
  const absl::StatusOr<IdxHeader> header =
      ParseIdxHeader(absl::string_view(head, size));
  if (!header.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' ", header.status().message()));
  }
  return header->dimensions == 1;
}

// The existing file with the usual name of the labels of `images`.
absl::StatusOr<FileStamp> UsualLabelFile(const std::string& images) {
  constexpr absl::string_view kEndings[] = {"", ".gz", ".zst"};
  const size_t slash = images.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  std::string labels = images;
  for (const auto& [from, to] :
       {std::pair<absl::string_view, absl::string_view>{"images", "labels"},
        {"idx3", "idx1"}}) {
    const size_t at = labels.find(from.data(), name, from.size());
    if (at != std::string::npos)
      labels.replace(at, from.size(), to.data(), to.size());
  }
  if (labels != images) {
    if (absl::StatusOr<FileStamp> stamp = StampFile(labels);
        stamp.ok() || !absl::IsNotFound(stamp.status())) {
      return stamp;
    }
    std::string stem = labels;
    for (absl::string_view ending : kEndings) {
      if (!ending.empty() && absl::EndsWith(stem, ending)) {
        stem.resize(stem.size() - ending.size());
      }
    }
    for (absl::string_view ending : kEndings) {
      if (absl::StatusOr<FileStamp> stamp =
              StampFile(absl::StrCat(stem, ending));
          stamp.ok()) {
        return stamp;
      }
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no labels for '", images, "'",
      labels == images ? "" : absl::StrCat(": there is no '", labels, "'"),
      "; name them by data.options.labels"));
}

absl::StatusOr<std::vector<InputFile>> Pair(std::vector<FileStamp> images,
                                            std::vector<FileStamp> labels,
                                            absl::string_view where) {
  if (images.size() != labels.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(labels.size(), " label files ", where, " for ",
                     images.size(), " image files (data.options.labels)"));
  }
  std::vector<InputFile> files;
  for (size_t i = 0; i < images.size(); ++i) {
    files.push_back({std::move(images[i]), std::move(labels[i])});
  }
  return files;
}

}  // namespace

absl::StatusOr<std::vector<InputFile>> ResolveDataset(
    const std::string& base_dir, absl::Span<const std::string> patterns,
    DataFormat format, absl::Span<const std::string> label_patterns) {
  SERAPH_ASSIGN_OR_RETURN(std::vector<FileStamp> stamps,
                          ResolveInputFiles(base_dir, patterns));
  if (format != DataFormat::kIdx) {
    std::vector<InputFile> files;
    for (FileStamp& stamp : stamps) files.push_back({std::move(stamp), {}});
    return files;
  }
  std::vector<FileStamp> images, labels;
  for (FileStamp& stamp : stamps) {
    SERAPH_ASSIGN_OR_RETURN(const bool is_labels, IsLabelFile(stamp.path));
    (is_labels ? labels : images).push_back(std::move(stamp));
  }
  if (!label_patterns.empty()) {
    SERAPH_ASSIGN_OR_RETURN(labels,
                            ResolveInputFiles(base_dir, label_patterns));
    return Pair(std::move(images), std::move(labels), "are named");
  }
  if (!labels.empty()) {
    return Pair(std::move(images), std::move(labels), "are among the files");
  }
  for (const FileStamp& image : images) {
    SERAPH_ASSIGN_OR_RETURN(FileStamp usual, UsualLabelFile(image.path));
    labels.push_back(std::move(usual));
  }
  return Pair(std::move(images), std::move(labels), "are there");
}

}  // namespace seraph
