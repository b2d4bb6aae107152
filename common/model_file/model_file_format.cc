#include "common/model_file/model_file_format.h"

#include <xxhash.h>

#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/little_endian.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr absl::string_view kDigestPrefix = "sha256:";
constexpr size_t kDigestBytes = 32;

}  // namespace

uint64_t SectionChecksum(uint64_t offset, absl::string_view head,
                         absl::string_view payload) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(
      XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset_withSeed(state.get(), offset);
  XXH3_64bits_update(state.get(), head.data(), head.size());
  XXH3_64bits_update(state.get(), payload.data(), payload.size());
  return XXH3_64bits_digest(state.get());
}

std::string EncodeTableHeader(const ModelTableHeader& header) {
  std::string payload;
  AppendLittleEndian<uint8_t>(header.kind == TableKind::kSparse ? 1 : 0,
                              &payload);
  AppendLittleEndian(header.width, &payload);
  AppendLittleEndian(header.keys, &payload);
  absl::StrAppend(&payload, header.name);
  return payload;
}

absl::StatusOr<ModelTableHeader> DecodeTableHeader(absl::string_view payload) {
  ModelTableHeader header;
  uint8_t kind = 0;
  if (!TakeLittleEndian(&payload, &kind) ||
      !TakeLittleEndian(&payload, &header.width) ||
      !TakeLittleEndian(&payload, &header.keys)) {
    return absl::InvalidArgumentError("the table's header is too short");
  }
  if (kind > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no table type ", kind));
  }
  header.kind = kind == 1 ? TableKind::kSparse : TableKind::kDense;
  header.name = std::string(payload);
  SERAPH_RETURN_IF_ERROR(CheckTableHeader(header));
  return header;
}

std::string EncodeFooter(const ModelFileFooter& footer) {
  std::string payload;
  AppendLittleEndian(footer.tables, &payload);
  AppendLittleEndian(footer.rows, &payload);
  absl::StrAppend(&payload, absl::HexStringToBytes(absl::StripPrefix(
                                footer.digest, kDigestPrefix)));
  return payload;
}

absl::StatusOr<ModelFileFooter> DecodeFooter(absl::string_view payload) {
  ModelFileFooter footer;
  if (!TakeLittleEndian(&payload, &footer.tables) ||
      !TakeLittleEndian(&payload, &footer.rows) ||
      payload.size() != kDigestBytes) {
    return absl::InvalidArgumentError("the footer has a wrong length");
  }
  footer.digest = absl::StrCat(kDigestPrefix, absl::BytesToHexString(payload));
  return footer;
}

absl::Status CheckTableHeader(const ModelTableHeader& header) {
  if (header.name.empty() || header.name.size() > kMaxTableNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a table's name has ", header.name.size(),
                     " bytes, not 1..", kMaxTableNameBytes));
  }
  if (header.width == 0 || header.width > kMaxTableWidth) {
    return absl::InvalidArgumentError(
        absl::StrCat("table '", header.name, "' has the width ", header.width,
                     ", not 1..", kMaxTableWidth));
  }
  if ((header.kind == TableKind::kDense) != (header.keys > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("table '", header.name, "' is ",
                     header.keys > 0 ? "sparse and has a number of keys"
                                     : "dense and has no keys"));
  }
  return absl::OkStatus();
}

absl::Status CheckKeys(const ModelTableHeader& table,
                       absl::Span<const Key> keys, std::optional<Key>* last) {
  for (const Key key : keys) {
    if (last->has_value() && key <= **last) {
      return absl::InvalidArgumentError(
          absl::StrCat("table '", table.name, "': key ", key, " comes after ",
                       **last, ", but keys ascend"));
    }
    if (table.kind == TableKind::kDense && key >= table.keys) {
      return absl::InvalidArgumentError(
          absl::StrCat("table '", table.name, "': key ", key,
                       " is beyond the last one, ", table.keys - 1));
    }
    *last = key;
  }
  return absl::OkStatus();
}

}  // namespace seraph
