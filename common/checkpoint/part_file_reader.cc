#include "common/checkpoint/part_file_reader.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/base/little_endian.h"
#include "common/status/status_macros.h"

namespace seraph {

absl::StatusOr<std::unique_ptr<PartFileReader>> PartFileReader::Open(
    BlobFolder* folder, const CutFile& file) {
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<BlobReader> blob,
                          folder->Open(file.name));
  auto reader = absl::WrapUnique(
      new PartFileReader(folder->PathOf(file.name), file, std::move(blob)));
  SERAPH_RETURN_IF_ERROR(reader->ReadHead());
  return reader;
}

PartFileReader::PartFileReader(std::string path, const CutFile& file,
                               std::unique_ptr<BlobReader> reader)
    : path_(std::move(path)),
      file_(file),
      reader_(std::move(reader)),
      whole_(XXH3_createState(), &XXH3_freeState) {
  XXH3_64bits_reset(whole_.get());
}

absl::Status PartFileReader::ReadHead() {
  if (reader_->size() != file_.bytes) {
    return Damaged(
        absl::StrCat("it has ", reader_->size(), " bytes, not ", file_.bytes));
  }
  std::string start;
  SERAPH_RETURN_IF_ERROR(Read(kPartStartBytes, &start));
  absl::string_view rest = start;
  if (rest.substr(0, kPartMagic.size()) != kPartMagic) {
    return Damaged("it is no part of a checkpoint");
  }
  rest.remove_prefix(kPartMagic.size());
  uint32_t version = 0;
  TakeLittleEndian(&rest, &version);
  if (version != kPartVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, ": a part of version ", version,
        ", which this build cannot read; it reads version ", kPartVersion));
  }
  SERAPH_RETURN_IF_ERROR(ReadSection());
  if (tag_ != kPartHeadTag) return Damaged("it has no head");
  absl::StatusOr<PartHead> head = DecodePartHead(payload_);
  if (!head.ok()) return Damaged(head.status().message());
  head_ = *std::move(head);
  seed_ = PartSeed(payload_);
  return absl::OkStatus();
}

absl::StatusOr<bool> PartFileReader::Next(PartBlock* block) {
  SERAPH_RETURN_IF_ERROR(status_);
  if (complete_) return false;
  absl::StatusOr<bool> more = ReadNext(block);
  if (!more.ok()) status_ = more.status();
  return more;
}

absl::StatusOr<bool> PartFileReader::ReadNext(PartBlock* block) {
  SERAPH_RETURN_IF_ERROR(ReadSection());
  if (tag_ == kPartBlockTag) {
    absl::StatusOr<PartBlock> next = DecodePartBlock(payload_, head_.row_cells);
    if (!next.ok()) return Damaged(next.status().message());
    if (next->number >= head_.blocks) {
      return Damaged(
          absl::StrCat("it has a block ", next->number, " of ", head_.blocks));
    }
    *block = *std::move(next);
    index_.push_back({block->number, section_offset_,
                      static_cast<uint32_t>(block->keys.size())});
    return true;
  }
  if (tag_ != kPartFooterTag) return Damaged("a section has an unknown tag");
  const auto index = DecodePartFooter(payload_);
  if (!index.ok()) return Damaged(index.status().message());
  if (*index != index_) return Damaged("its footer lists other blocks");
  if (offset_ != file_.bytes) return Damaged("it goes on after its footer");
  if (XXH3_64bits_digest(whole_.get()) != file_.checksum) {
    return Damaged("its checksum is not the one that the manifest names");
  }
  complete_ = true;
  return false;
}

absl::Status PartFileReader::Read(size_t bytes, std::string* to) {
  SERAPH_RETURN_IF_ERROR(reader_->Read(bytes, to));
  offset_ += to->size();
  XXH3_64bits_update(whole_.get(), to->data(), to->size());
  return to->size() == bytes ? absl::OkStatus() : Damaged("it ends early");
}

absl::Status PartFileReader::ReadSection() {
  section_offset_ = offset_;
  std::string head;
  SERAPH_RETURN_IF_ERROR(Read(kPartSectionHeadBytes, &head));
  tag_ = head.substr(0, 4);
  absl::string_view rest = absl::string_view(head).substr(4);
  uint64_t length = 0;
  TakeLittleEndian(&rest, &length);
  if (length > kMaxPartSectionBytes || length > file_.bytes - offset_) {
    return Damaged("a section has an impossible length");
  }
  SERAPH_RETURN_IF_ERROR(Read(length, &payload_));
  std::string checksum;
  SERAPH_RETURN_IF_ERROR(Read(kPartChecksumBytes, &checksum));
  rest = checksum;
  uint64_t expected = 0;
  TakeLittleEndian(&rest, &expected);
  if (PartSectionChecksum(seed_, section_offset_, head, payload_) != expected) {
    return Damaged("a section's checksum is wrong");
  }
  return absl::OkStatus();
}

absl::Status PartFileReader::Damaged(absl::string_view what) const {
  return absl::DataLossError(absl::StrCat(
      path_, ": damaged at offset ", section_offset_, ": ", what,
      "; the checkpoint cannot be used, an older one is: put the file back "
      "from a copy, or remove the checkpoint"));
}

}  // namespace seraph
