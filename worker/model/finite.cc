#include "worker/model/finite.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"

namespace seraph {

absl::Status ScoreNotFinite(size_t i, double score,
                            const std::vector<ModelTable>& tables,
                            const BatchKeys& keys, TableRows rows) {
  std::string where;
  for (size_t t = 0; t < tables.size() && where.empty(); ++t) {
    for (size_t v = 0; v < rows[t].size() && where.empty(); ++v) {
      if (std::isfinite(rows[t][v])) continue;
      where = absl::StrCat(": table '", tables[t].name, "', key ",
                           keys.tables[t][v / tables[t].width],
                           " has the value ", rows[t][v]);
    }
  }
  return absl::OutOfRangeError(absl::StrCat("the score of example ", i,
                                            " of the batch is ", score, where));
}

absl::Status LossNotFinite(size_t i, double loss, double label) {
  return absl::OutOfRangeError(absl::StrCat("the loss of example ", i,
                                            " of the batch is ", loss,
                                            ", its label is ", label));
}

}  // namespace seraph
