#include "worker/client/request_wire.h"

#include <memory>
#include <string>
#include <utility>

#include "common/wire/every_field.h"
#include "common/wire/exchange_bulk.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace seraph {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::seraph::testing::UnsetFields;
using ::testing::IsEmpty;

void FillHeader(v1::RequestHeader* header) {
  header->mutable_job()->set_id("job");
  header->mutable_job()->set_generation(2);
  header->set_incarnation(3);
  header->mutable_rank()->set_rank(4);
  header->mutable_rank()->set_attempt(5);
  header->set_session(6);
}

template <typename Request>
void FillAll(Request* request, size_t bulk) {
  FillHeader(request->mutable_header());
  request->mutable_clock()->set_epoch(1);
  request->mutable_clock()->set_step(2);
  // The part's fields come with it, whatever they are.
  request->add_parts()->set_key_count(7);
  request->add_parts()->set_first_key(8);
  request->set_keys(std::string(bulk, 'k'));
}

void FillPush(v1::PushRequest* push, size_t bulk) {
  FillAll(push, bulk);
  push->set_number(3);
  push->set_ends_epoch(true);
  push->set_examples(4);
  push->mutable_ledger()->add_sums(0.5);
  push->add_empty_parts(5);
  push->set_reads_taken(true);
  push->add_calls()->mutable_call()->set_function("scale");
  push->set_values(std::string(bulk, 'v'));
}

// The names of unset fields of the request itself, not of its parts.
template <typename Request>
std::vector<std::string> Unset(Request request) {
  std::vector<std::string> names = UnsetFields(request);
  std::erase_if(names, [](const std::string& name) {
    return name.find("Part.") != name.npos ||
           name.find("LedgerRecord.") != name.npos ||
           name.find("FunctionCall.") != name.npos ||
           name.find("TableCall.") != name.npos;
  });
  return names;
}

void ArrivesWhole(RankRequest request) {
  const auto shared = std::make_shared<const RankRequest>(std::move(request));
  MessageWriter writer = WriteRequest(shared, 77);
  std::string bytes;
  for (const OwnedSlice& slice : writer.Finish()) {
    bytes.append(slice.bytes.data(), slice.bytes.size());
  }
  v1::ExchangeRequest expected = WholeMessage(*shared);
  expected.set_number(77);
  v1::ExchangeRequest parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_TRUE(MessageDifferencer::Equals(parsed, expected))
      << parsed.DebugString();
}

void ArrivesWhole(v1::ExchangeRequest message) {
  ArrivesWhole(RankRequest(message));
}

TEST(RequestWireTest, EveryFieldLeaves) {
  for (const size_t bulk : {10, 100'000}) {
    v1::PushRequest push;
    FillPush(&push, bulk);
    v1::PullRequest pull;
    FillAll(&pull, bulk);
    ASSERT_THAT(Unset(push), IsEmpty()) << "a new field: fill it here";
    ASSERT_THAT(Unset(pull), IsEmpty()) << "a new field: fill it here";
    v1::ExchangeRequest request;
    *request.mutable_push() = push;
    ArrivesWhole(request);
    *request.mutable_pull() = pull;
    ArrivesWhole(request);
    *request.mutable_push_pull()->mutable_push() = push;
    *request.mutable_push_pull()->mutable_pull() = pull;
    ArrivesWhole(request);
  }
  ArrivesWhole(v1::ExchangeRequest());
}

TEST(RequestWireTest, ValuesThatWereLetGoOfLeaveAsIfTheyWereInTheMessage) {
  const auto values = std::make_shared<const std::string>(
      std::string(70'000, 'v') + std::string(30'000, 'w'));
  for (const bool with_pull : {false, true}) {
    RankRequest request;
    v1::PushRequest* push =
        with_pull ? request.message.mutable_push_pull()->mutable_push()
                  : request.message.mutable_push();
    FillPush(push, 100);
    push->clear_values();
    if (with_pull) {
      FillAll(request.message.mutable_push_pull()->mutable_pull(), 100);
    }
    // In another order than that in which they lie.
    const absl::string_view all = *values;
    request.values = {{all.substr(70'000), values},
                      {all.substr(0, 70'000), values}};
    EXPECT_EQ(PushedBytes(request), 100 + all.size());
    EXPECT_EQ(BulkBytes(request), (with_pull ? 200 : 100) + all.size());
    ArrivesWhole(std::move(request));
  }
}

TEST(RequestWireTest, BulkIsKeptAndNotCopied) {
  for (const bool let_go : {false, true}) {
    auto request = std::make_shared<RankRequest>();
    auto values = std::make_shared<const std::string>(100'000, 'v');
    const std::weak_ptr<const std::string> owner = values;
    if (let_go) {
      request->message.mutable_push();
      request->values = {{*values, values}};
    } else {
      request->message.mutable_push()->set_values(*values);
    }
    values.reset();
    const char* const at = let_go ? request->values[0].bytes.data()
                                  : request->message.push().values().data();
    const std::weak_ptr<const RankRequest> alive = request;
    MessageWriter writer = WriteRequest(request, 1);
    request.reset();
    const auto slices = writer.Finish();
    EXPECT_EQ(slices.back().bytes.data(), at);
    EXPECT_EQ(alive.expired(), let_go) << "the values are enough";
    EXPECT_EQ(owner.expired(), !let_go);
  }
}

}  // namespace
}  // namespace seraph
