// A table's specification in a manifest.
#ifndef SERAPH_COMMON_CHECKPOINT_TABLE_JSON_H_
#define SERAPH_COMMON_CHECKPOINT_TABLE_JSON_H_

#include "common/checkpoint/json_fields.h"
#include "common/table/table_spec.h"

namespace seraph {

// Every field, under its name.
Json TableToJson(const TableSpec& table);
void ReadTable(JsonFields& fields, TableSpec* table);

}  // namespace seraph

#endif  // SERAPH_COMMON_CHECKPOINT_TABLE_JSON_H_
