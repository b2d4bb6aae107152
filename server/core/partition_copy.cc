#include "server/core/partition_copy.h"

#include <utility>

#include "common/base/planted_bug.h"

namespace seraph {
namespace {

// What no copy may do: a row has only the lazy terms that its steps gave it.
void WriteLazyTerms(const LazySums& sums, RowStore* store, CopiedBlock* block) {
  const size_t width = store->width();
  std::vector<float> values(block->keys.size() * width);
  store->Read(block->keys, sums, absl::MakeSpan(values));
  for (size_t i = 0; i < block->keys.size(); ++i) {
    store->rule().InitRow(absl::MakeConstSpan(values).subspan(i * width, width),
                          sums,
                          block->cells.data() + i * store->rule().row_cells());
  }
  store->RestoreRows(block->keys, block->cells).IgnoreError();
}

}  // namespace

void CopyRows(const LazySums& sums, uint64_t since, RowStore* store,
              PartitionCopy* copy) {
  copy->row_cells = store->rule().row_cells();
  copy->layout = store->layout();
  copy->store_blocks = store->blocks();
  copy->rows = store->rows();
  copy->since = since;
  copy->blocks.clear();
  for (size_t number = 0; number < store->blocks(); ++number) {
    if (store->BlockVersion(number) <= since) continue;
    CopiedBlock block{.number = number, .version = store->BlockVersion(number)};
    store->CopyBlock(number, &block.keys, &block.cells);
    if (IsPlanted(PlantedBug::kStoreLazyDecayAtCheckpoint)) {
      WriteLazyTerms(sums, store, &block);
    }
    copy->blocks.push_back(std::move(block));
  }
  copy->version = store->NextVersion();
}

}  // namespace seraph
