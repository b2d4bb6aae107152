#include "common/model_file/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/little_endian.h"

namespace seraph {
namespace {

constexpr size_t kScratchBytes = size_t{64} << 10;

// OpenSSL fails here only without memory or without SHA-256: nothing that a
// caller could do anything about.
void Check(bool ok) {
  if (ok) return;
  std::fputs("OpenSSL cannot compute SHA-256\n", stderr);
  std::abort();
}

}  // namespace

struct ModelDigest::Context {
  EVP_MD_CTX* md = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(md); }
};

ModelDigest::ModelDigest() : context_(std::make_unique<Context>()) {
  Check(context_->md != nullptr &&
        EVP_DigestInit_ex(context_->md, EVP_sha256(), nullptr) == 1);
}

ModelDigest::~ModelDigest() = default;

void ModelDigest::BeginTable(absl::string_view name, uint32_t width,
                             TableKind kind) {
  width_ = width;
  std::string head;
  AppendLittleEndian<uint32_t>(name.size(), &head);
  absl::StrAppend(&head, name);
  AppendLittleEndian<uint32_t>(width, &head);
  AppendLittleEndian<uint8_t>(kind == TableKind::kSparse ? 1 : 0, &head);
  Update(head);
}

void ModelDigest::AddRows(absl::Span<const Key> keys,
                          absl::Span<const float> values) {
  const size_t value_bytes = width_ * sizeof(float);
  const size_t row_bytes = sizeof(Key) + value_bytes;
  const size_t rows_at_once = std::max<size_t>(1, kScratchBytes / row_bytes);
  scratch_.resize(rows_at_once * row_bytes);
  for (size_t begin = 0; begin < keys.size(); begin += rows_at_once) {
    const size_t end = std::min(begin + rows_at_once, keys.size());
    char* to = scratch_.data();
    for (size_t row = begin; row < end; ++row) {
      std::memcpy(to, &keys[row], sizeof(Key));
      std::memcpy(to + sizeof(Key), values.data() + row * width_, value_bytes);
      to += row_bytes;
    }
    Update(absl::string_view(scratch_.data(), to - scratch_.data()));
  }
}

std::string ModelDigest::Finish() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  Check(EVP_DigestFinal_ex(context_->md, bytes, &size) == 1);
  return absl::StrCat("sha256:",
                      absl::BytesToHexString(absl::string_view(
                          reinterpret_cast<const char*>(bytes), size)));
}

void ModelDigest::Update(absl::string_view bytes) {
  Check(EVP_DigestUpdate(context_->md, bytes.data(), bytes.size()) == 1);
}

}  // namespace seraph
