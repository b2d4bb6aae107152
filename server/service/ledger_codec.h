// proto/types.proto's LedgerRecord <-> server/core's.
#ifndef SERAPH_SERVER_SERVICE_LEDGER_CODEC_H_
#define SERAPH_SERVER_SERVICE_LEDGER_CODEC_H_

#include "proto/types.pb.h"
#include "server/core/log_record.h"

namespace seraph {

LedgerRecord DecodeLedger(const v1::LedgerRecord& message);
void EncodeLedger(const LedgerRecord& record, v1::LedgerRecord* message);

}  // namespace seraph

#endif  // SERAPH_SERVER_SERVICE_LEDGER_CODEC_H_
