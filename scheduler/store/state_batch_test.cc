#include "scheduler/store/state_batch.h"

#include <string>

#include "common/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::seraph::testing::IsOkAndHolds;
using ::seraph::testing::StatusIs;

TEST(StateBatchTest, WritesComeBack) {
  const StateWrites writes = {{"a", "1"},
                              {"gone", std::nullopt},
                              {"empty", ""},
                              {"b", std::string("\0\xff", 2)},
                              {"large", std::string(70000, 'x')}};
  EXPECT_THAT(ParseBatch(SerializeBatch(writes)), IsOkAndHolds(writes));
  EXPECT_THAT(ParseBatch(""), IsOkAndHolds(StateWrites()));
}

TEST(StateBatchTest, EveryCutIsSeen) {
  const std::string bytes = SerializeBatch({{"key", "value"}});
  for (size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_THAT(ParseBatch(bytes.substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss))
        << size;
  }
}

}  // namespace
}  // namespace seraph
