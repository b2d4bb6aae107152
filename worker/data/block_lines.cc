#include "worker/data/block_lines.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status/status_macros.h"

namespace seraph {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

// Appends up to `size` bytes from `offset` on; fewer only at the file's end.
absl::Status Append(const DataFile& file, uint64_t offset, size_t size,
                    std::string* text) {
  const size_t before = text->size();
  text->resize(before + size);
  SERAPH_ASSIGN_OR_RETURN(const size_t got,
                          file.Read(offset, size, text->data() + before));
  text->resize(before + got);
  return absl::OkStatus();
}

absl::Status TooLong(const DataFile& file, uint64_t offset,
                     uint64_t max_line_bytes) {
  SERAPH_ASSIGN_OR_RETURN(const uint64_t line, LineNumber(file, offset));
  return absl::InvalidArgumentError(
      absl::StrCat(file.path(), ":", line, ": the line has more than ",
                   max_line_bytes, " bytes (data.options.max_record_bytes)"));
}

}  // namespace

absl::StatusOr<BlockLines> BlockLines::Read(const DataFile& file,
                                            uint64_t begin, uint64_t end,
                                            uint64_t max_line_bytes) {
  BlockLines lines;
  // The byte before the range tells whether a line begins with the range.
  lines.text_offset_ = begin == 0 ? 0 : begin - 1;
  std::string& text = lines.text_;
  SERAPH_RETURN_IF_ERROR(
      Append(file, lines.text_offset_, end - lines.text_offset_, &text));
  lines.end_ = text.size();
  if (begin > 0) {
    lines.next_ = std::min(text.find('\n'), text.size());
    lines.next_ = std::min(lines.next_ + 1, lines.end_);
  }
  if (lines.next_ == lines.end_) return lines;

  // Where the last line begins; what lies behind its end is not read.
  size_t line = text.rfind('\n', text.size() - 2) + 1;
  if (text.size() < 2 || line < lines.next_) line = lines.next_;
  if (text.back() != '\n') {
    size_t line_end = std::string::npos;
    while (line_end == std::string::npos &&
           text.size() - line <= max_line_bytes) {
      const size_t before = text.size();
      SERAPH_RETURN_IF_ERROR(
          Append(file, lines.text_offset_ + before, kReadBytes, &text));
      if (text.size() == before) break;
      line_end = text.find('\n', before);
    }
    if (line_end != std::string::npos) text.resize(line_end + 1);
  }
  if (text.size() <= max_line_bytes) return lines;
  for (size_t at = lines.next_; at < lines.end_;) {
    const size_t stop = std::min(text.find('\n', at), text.size());
    if (stop - at > max_line_bytes) {
      return TooLong(file, lines.text_offset_ + at, max_line_bytes);
    }
    at = stop + 1;
  }
  return lines;
}

bool BlockLines::Next(absl::string_view* text, uint64_t* offset) {
  if (next_ >= end_) return false;
  const char* const begin = text_.data() + next_;
  const size_t left = text_.size() - next_;
  const void* const feed = std::memchr(begin, '\n', left);
  const size_t size =
      feed == nullptr ? left : static_cast<const char*>(feed) - begin;
  *text = absl::string_view(begin, size);
  *offset = text_offset_ + next_;
  if (*offset == 0 && absl::StartsWith(*text, kByteOrderMark)) {
    text->remove_prefix(kByteOrderMark.size());
  }
  next_ += size + 1;
  return true;
}

absl::StatusOr<uint64_t> LineNumber(const DataFile& file, uint64_t offset) {
  uint64_t line = 1;
  std::vector<char> buffer(1 << 20);
  for (uint64_t at = 0; at < offset;) {
    const size_t wanted = std::min<uint64_t>(buffer.size(), offset - at);
    SERAPH_ASSIGN_OR_RETURN(const size_t got,
                            file.Read(at, wanted, buffer.data()));
    if (got == 0) break;
    line += std::count(buffer.begin(), buffer.begin() + got, '\n');
    at += got;
  }
  return line;
}

}  // namespace seraph
