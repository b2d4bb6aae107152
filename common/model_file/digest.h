// The digest of a model: what it says, whoever stored it and how.
#ifndef SERAPH_COMMON_MODEL_FILE_DIGEST_H_
#define SERAPH_COMMON_MODEL_FILE_DIGEST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/key.h"
#include "common/table/table_spec.h"

namespace seraph {

// SHA-256 over, for each table in the order of the names:
//
//   the name's length (4 bytes) and its UTF-8 bytes, the width (4 bytes), the
//   type (1 byte: 0 dense, 1 sparse), then for each existing key, ascending,
//   the key (8 bytes) and its values (float32)
//
// all little-endian. It does not depend on servers, partitions or replicas.
// Threads: one at a time.
class ModelDigest {
 public:
  ModelDigest();
  ~ModelDigest();
  ModelDigest(const ModelDigest&) = delete;
  ModelDigest& operator=(const ModelDigest&) = delete;

  // Requires: names ascending over the calls.
  void BeginTable(absl::string_view name, uint32_t width, TableKind kind);

  // Rows of the table begun last; values is [keys.size() * width], row-major.
  // Requires: keys ascending, over the calls too.
  void AddRows(absl::Span<const Key> keys, absl::Span<const float> values);

  // "sha256:" and 64 hexadecimal digits. Nothing may be called afterwards.
  std::string Finish();

 private:
  struct Context;  // OpenSSL's.

  void Update(absl::string_view bytes);

  std::unique_ptr<Context> context_;
  uint32_t width_ = 0;
  std::vector<char> scratch_;
};

}  // namespace seraph

#endif  // SERAPH_COMMON_MODEL_FILE_DIGEST_H_
