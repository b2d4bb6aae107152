#include "client/export/npy_sink.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/little_endian.h"
#include "common/io/atomic_file.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

namespace fs = std::filesystem;

// .npy files say the byte order, and little_endian.h asserts that it is ours.
template <typename T>
absl::string_view Bytes(absl::Span<const T> values) {
  return absl::string_view(reinterpret_cast<const char*>(values.data()),
                           values.size() * sizeof(T));
}

std::string ValuesHeader(const TableSurvey& table) {
  std::vector<uint64_t> shape = {table.rows};
  if (table.header.width != 1) shape.push_back(table.header.width);
  return NpyHeader("<f4", shape);
}

class NpyFileSink final : public ModelSink {
 public:
  explicit NpyFileSink(std::unique_ptr<AtomicFile> file)
      : file_(std::move(file)) {}

  absl::Status BeginTable(const TableSurvey& table) override {
    return file_->Append(ValuesHeader(table));
  }
  absl::Status AddRows(absl::Span<const Key> keys,
                       absl::Span<const float> values) override {
    return file_->Append(Bytes(values));
  }
  absl::Status Finish() override { return file_->Commit(); }
  std::vector<std::string> files() const override { return {file_->path()}; }

 private:
  const std::unique_ptr<AtomicFile> file_;
};

// Fills a folder with a temporary name, which gets the right one at the end.
class NpyFolderSink final : public ModelSink {
 public:
  NpyFolderSink(std::string path, std::string temporary_path)
      : path_(std::move(path)), temporary_path_(std::move(temporary_path)) {}

  ~NpyFolderSink() override {
    values_.reset();
    keys_.reset();
    std::error_code error;
    if (!temporary_path_.empty()) fs::remove_all(temporary_path_, error);
  }

  absl::Status BeginTable(const TableSurvey& table) override {
    return Renamed(Begin(table));
  }

  absl::Status AddRows(absl::Span<const Key> keys,
                       absl::Span<const float> values) override {
    return Renamed(Add(keys, values));
  }

  absl::Status Finish() override {
    SERAPH_RETURN_IF_ERROR(Renamed(EndTable()));
    // Over an empty folder a folder may be renamed.
    if (std::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
      return absl::ErrnoToStatus(
          errno, absl::StrCat("cannot create the folder '", path_, "'"));
    }
    temporary_path_.clear();
    return absl::OkStatus();
  }

  std::vector<std::string> files() const override { return files_; }

 private:
  absl::Status Begin(const TableSurvey& table) {
    SERAPH_RETURN_IF_ERROR(EndTable());
    SERAPH_ASSIGN_OR_RETURN(values_, Create(table.header.name));
    SERAPH_RETURN_IF_ERROR(values_->Append(ValuesHeader(table)));
    if (table.IsContiguous()) return absl::OkStatus();
    SERAPH_ASSIGN_OR_RETURN(keys_,
                            Create(absl::StrCat(table.header.name, ".keys")));
    return keys_->Append(NpyHeader("<u8", {table.rows}));
  }

  absl::Status Add(absl::Span<const Key> keys, absl::Span<const float> values) {
    if (keys_ != nullptr) SERAPH_RETURN_IF_ERROR(keys_->Append(Bytes(keys)));
    return values_->Append(Bytes(values));
  }

  // The error with the name that the user gave in place of the temporary one.
  absl::Status Renamed(const absl::Status& status) const {
    return absl::Status(
        status.code(),
        absl::StrReplaceAll(status.message(), {{temporary_path_, path_}}));
  }

  absl::StatusOr<std::unique_ptr<AtomicFile>> Create(const std::string& array) {
    const std::string name = absl::StrCat("/", array, ".npy");
    files_.push_back(absl::StrCat(path_, name));
    return AtomicFile::Create(absl::StrCat(temporary_path_, name));
  }

  absl::Status EndTable() {
    if (values_ != nullptr) SERAPH_RETURN_IF_ERROR(values_->Commit());
    if (keys_ != nullptr) SERAPH_RETURN_IF_ERROR(keys_->Commit());
    values_.reset();
    keys_.reset();
    return absl::OkStatus();
  }

  const std::string path_;
  std::string temporary_path_;  // "" once it is renamed.
  std::unique_ptr<AtomicFile> values_;
  std::unique_ptr<AtomicFile> keys_;  // Of tables whose keys say something.
  std::vector<std::string> files_;
};

absl::StatusOr<std::unique_ptr<ModelSink>> MakeFolderSink(
    const std::string& given_path) {
  const std::string path = fs::path(given_path).has_filename()
                               ? given_path
                               : fs::path(given_path).parent_path().string();
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_directory(path, error)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot create the folder '", path,
        "': a file has that name, and the model has several arrays"));
  }
  if (fs::is_directory(path, error) && !fs::is_empty(path, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the folder '", path,
                     "' is not empty; name a new one, or remove it first"));
  }
  std::string temporary = absl::StrCat(path, ".tmp-", getpid());
  fs::create_directories(temporary, error);
  if (error) {
    return absl::ErrnoToStatus(
        error.value(), absl::StrCat("cannot create the folder '", path, "'"));
  }
  return std::unique_ptr<ModelSink>(
      std::make_unique<NpyFolderSink>(path, std::move(temporary)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ModelSink>> MakeNpySink(
    const std::string& path, const ModelSurvey& survey) {
  if (survey.tables.size() != 1 || !survey.tables[0].IsContiguous()) {
    return MakeFolderSink(path);
  }
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file,
                          AtomicFile::Create(path));
  return std::unique_ptr<ModelSink>(
      std::make_unique<NpyFileSink>(std::move(file)));
}

std::string NpyHeader(absl::string_view type,
                      const std::vector<uint64_t>& shape) {
  constexpr size_t kAlignment = 64;
  constexpr absl::string_view kStart("\x93NUMPY\x01\x00", 8);
  std::string dictionary = absl::StrCat(
      "{'descr': '", type, "', 'fortran_order': False, 'shape': (",
      absl::StrJoin(shape, ", "), shape.size() == 1 ? ",), }" : "), }");
  const size_t unpadded = kStart.size() + 2 + dictionary.size() + 1;
  const size_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  dictionary.append(padding, ' ');
  dictionary += '\n';
  std::string header(kStart);
  AppendLittleEndian<uint16_t>(dictionary.size(), &header);
  return absl::StrCat(header, dictionary);
}

}  // namespace seraph
