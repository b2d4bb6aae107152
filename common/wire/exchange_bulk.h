// What is bulk in the messages that touch rows: proto/parameters.proto.
#ifndef SERAPH_COMMON_WIRE_EXCHANGE_BULK_H_
#define SERAPH_COMMON_WIRE_EXCHANGE_BULK_H_

#include "common/wire/bulk_schema.h"
#include "proto/parameters.pb.h"

namespace seraph {

inline constexpr BulkField kPushFields[] = {
    {.number = v1::PushRequest::kKeysFieldNumber},
    {.number = v1::PushRequest::kValuesFieldNumber}};
inline constexpr const BulkField& kPushKeys = kPushFields[0];
inline constexpr const BulkField& kPushValues = kPushFields[1];
inline constexpr BulkSchema kPushBulk = {kPushFields};

inline constexpr BulkField kPullFields[] = {
    {.number = v1::PullRequest::kKeysFieldNumber}};
inline constexpr const BulkField& kPullKeys = kPullFields[0];
inline constexpr BulkSchema kPullBulk = {kPullFields};

inline constexpr BulkField kPushPullFields[] = {
    {v1::PushPullRequest::kPushFieldNumber, &kPushBulk},
    {v1::PushPullRequest::kPullFieldNumber, &kPullBulk}};
inline constexpr BulkSchema kPushPullBulk = {kPushPullFields};

inline constexpr BulkField kExchangeFields[] = {
    {v1::ExchangeRequest::kPullFieldNumber, &kPullBulk},
    {v1::ExchangeRequest::kPushFieldNumber, &kPushBulk},
    {v1::ExchangeRequest::kPushPullFieldNumber, &kPushPullBulk}};
inline constexpr BulkSchema kExchangeBulk = {kExchangeFields, /*one_of=*/true};

// A message of the stream: one request, or several.
inline constexpr BulkField kExchangeBatchFields[] = {
    {.number = v1::ExchangeRequest::kBatchFieldNumber, .repeated = true},
    {v1::ExchangeRequest::kPullFieldNumber, &kPullBulk},
    {v1::ExchangeRequest::kPushFieldNumber, &kPushBulk},
    {v1::ExchangeRequest::kPushPullFieldNumber, &kPushPullBulk}};
inline constexpr BulkSchema kExchangeBatchBulk = {kExchangeBatchFields,
                                                  /*one_of=*/true};

inline constexpr BulkField kPullReplyFields[] = {
    {.number = v1::PullReply::kValuesFieldNumber}};
inline constexpr const BulkField& kPulledValues = kPullReplyFields[0];
inline constexpr BulkSchema kPullReplyBulk = {kPullReplyFields};

inline constexpr BulkField kPushPullReplyFields[] = {
    {v1::PushPullReply::kPullFieldNumber, &kPullReplyBulk}};
inline constexpr BulkSchema kPushPullReplyBulk = {kPushPullReplyFields};

// A push's reply has no bulk: where it takes the place of another, what is
// found of that one is ignored.
inline constexpr BulkField kExchangeReplyFields[] = {
    {v1::ExchangeReply::kPullFieldNumber, &kPullReplyBulk},
    {v1::ExchangeReply::kPushPullFieldNumber, &kPushPullReplyBulk}};
inline constexpr BulkSchema kExchangeReplyBulk = {kExchangeReplyFields,
                                                  /*one_of=*/true};

inline constexpr BulkField kExchangeReplyBatchFields[] = {
    {.number = v1::ExchangeReply::kBatchFieldNumber, .repeated = true},
    {v1::ExchangeReply::kPullFieldNumber, &kPullReplyBulk},
    {v1::ExchangeReply::kPushPullFieldNumber, &kPushPullReplyBulk}};
inline constexpr BulkSchema kExchangeReplyBatchBulk = {
    kExchangeReplyBatchFields, /*one_of=*/true};

}  // namespace seraph

#endif  // SERAPH_COMMON_WIRE_EXCHANGE_BULK_H_
