#include "common/checkpoint/part_writer.h"

#include <utility>

#include "absl/memory/memory.h"
#include "common/base/little_endian.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

// Blocks of a table are alike: where one could not be packed, as many after it
// are not tried. Trying costs as much as all the rest.
constexpr int kUntriedBlocks = 15;

}  // namespace

absl::StatusOr<std::unique_ptr<PartWriter>> PartWriter::Create(
    BlobFolder* folder, const PartHead& head) {
  std::string name =
      PartFileName(head.generation, head.cut, head.table, head.partition);
  SERAPH_ASSIGN_OR_RETURN(std::unique_ptr<AtomicBlob> file,
                          AtomicBlob::Create(folder, name));
  auto writer =
      absl::WrapUnique(new PartWriter(std::move(file), std::move(name)));
  std::string start(kPartMagic);
  AppendLittleEndian(kPartVersion, &start);
  SERAPH_RETURN_IF_ERROR(writer->Append(start));
  const std::string payload = EncodePartHead(head);
  SERAPH_RETURN_IF_ERROR(writer->WriteSection(kPartHeadTag, payload));
  writer->seed_ = PartSeed(payload);
  return writer;
}

PartWriter::PartWriter(std::unique_ptr<AtomicBlob> file, std::string name)
    : file_(std::move(file)),
      name_(std::move(name)),
      whole_(XXH3_createState(), &XXH3_freeState) {
  XXH3_64bits_reset(whole_.get());
}

absl::Status PartWriter::AddBlock(uint64_t number, absl::Span<const Key> keys,
                                  absl::Span<const float> cells) {
  index_.push_back({number, file_->size(), static_cast<uint32_t>(keys.size())});
  const bool try_pack = untried_ == 0;
  const std::string payload = EncodePartBlock(number, keys, cells, try_pack);
  if (!try_pack) {
    --untried_;
  } else if (!IsPacked(payload)) {
    untried_ = kUntriedBlocks;
  }
  return WriteSection(kPartBlockTag, payload);
}

absl::StatusOr<CutFile> PartWriter::Finish() {
  SERAPH_RETURN_IF_ERROR(
      WriteSection(kPartFooterTag, EncodePartFooter(index_)));
  CutFile file{name_, file_->size(), XXH3_64bits_digest(whole_.get())};
  SERAPH_RETURN_IF_ERROR(file_->Commit());
  return file;
}

absl::Status PartWriter::Append(absl::string_view bytes) {
  XXH3_64bits_update(whole_.get(), bytes.data(), bytes.size());
  return file_->Append(bytes);
}

absl::Status PartWriter::WriteSection(absl::string_view tag,
                                      absl::string_view payload) {
  std::string head(tag);
  AppendLittleEndian<uint64_t>(payload.size(), &head);
  std::string checksum;
  AppendLittleEndian(PartSectionChecksum(seed_, file_->size(), head, payload),
                     &checksum);
  SERAPH_RETURN_IF_ERROR(Append(head));
  SERAPH_RETURN_IF_ERROR(Append(payload));
  return Append(checksum);
}

}  // namespace seraph
