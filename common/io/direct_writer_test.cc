#include "common/io/direct_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "common/base/draw.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOk;
using ::seraph::testing::TempFolder;
using ::testing::HasSubstr;

constexpr size_t kMiB = size_t{1} << 20;

int NewFile(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
  EXPECT_GE(fd, 0);
  return fd;
}

std::string SomeBytes(size_t n) {
  std::string bytes;
  while (bytes.size() < n) {
    const uint64_t bits = Draw(7, {bytes.size()});
    bytes.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
  }
  bytes.resize(n);
  return bytes;
}

// Whether the folder's file system writes past its cache at all.
bool HasDirect(const TempFolder& folder) {
  const int fd = open(folder.Write("probe", "").c_str(), O_WRONLY | O_DIRECT);
  if (fd < 0) return false;
  alignas(4096) static char block[4096] = {};
  const bool written = write(fd, block, sizeof(block)) == sizeof(block);
  close(fd);
  return written;
}

TEST(DirectWriterTest, AFileOfAnySizeIsWhatWasAppended) {
  const TempFolder folder;
  const bool has_direct = HasDirect(folder);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, kMiB - 1, kMiB,
                            kMiB + 1, 3 * kMiB + 12345}) {
    const std::string bytes = SomeBytes(size);
    const std::string name = "file-" + std::to_string(size);
    DirectWriter writer(folder.Path(name), NewFile(folder.Path(name)));
    for (size_t at = 0, piece = 0; at < size; ++piece) {
      const size_t n =
          std::min<size_t>(size - at, ToBelow(Draw(8, {size, piece}), 700000));
      ASSERT_THAT(writer.Append(absl::string_view(bytes).substr(at, n)),
                  IsOk());
      at += n;
    }
    ASSERT_THAT(writer.Sync(), IsOk());
    EXPECT_TRUE(folder.Read(name) == bytes) << size;
    EXPECT_EQ(writer.was_direct(), has_direct && size >= kMiB) << size;
  }
}

TEST(DirectWriterTest, AFailureIsNamedAndStays) {
  const TempFolder folder;
  folder.Write("file", "");
  // Opened for reading only.
  DirectWriter writer(folder.Path("file"),
                      open(folder.Path("file").c_str(), O_RDONLY));
  absl::Status status;
  const std::string piece(kMiB, 'x');
  status = writer.Append(piece);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder.Path("file")));
  EXPECT_EQ(writer.Append("more"), status);
  EXPECT_EQ(writer.Sync(), status);
}

}  // namespace
}  // namespace seraph
