#include "server/service/ledger_codec.h"

#include "common/wire/cluster_codec.h"

namespace seraph {

LedgerRecord DecodeLedger(const v1::LedgerRecord& message) {
  return {.clock = FromProto(message.clock()),
          .position_epoch = message.position().epoch(),
          .position_record = message.position().record(),
          .sums = {message.sums().begin(), message.sums().end()}};
}

void EncodeLedger(const LedgerRecord& record, v1::LedgerRecord* message) {
  ToProto(record.clock, message->mutable_clock());
  message->mutable_position()->set_epoch(record.position_epoch);
  message->mutable_position()->set_record(record.position_record);
  message->mutable_sums()->Add(record.sums.begin(), record.sums.end());
}

}  // namespace seraph
