#include "client/bench/generated_examples.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "client/bench/key_lists.h"
#include "common/base/draw.h"

namespace seraph {
namespace {

// Of whom a draw is for.
constexpr uint64_t kWeight = 1;
constexpr uint64_t kLabel = 2;
// Examples whose features are made at once.
constexpr uint64_t kAtOnce = 4096;

double WeightOf(uint64_t seed, uint64_t feature) {
  return ToNormal(Draw(seed, {kWeight, feature, 0}),
                  Draw(seed, {kWeight, feature, 1}));
}

}  // namespace

absl::Status WriteExamples(const ExampleOptions& options,
                           const std::string& path) {
  const KeySpace space(TableKind::kDense, options.features, options.seed);
  std::ofstream file(path, std::ios::binary);
  std::string text;
  for (uint64_t begin = 0; begin < options.examples; begin += kAtOnce) {
    const uint64_t count = std::min(kAtOnce, options.examples - begin);
    const KeyLists lists =
        KeyLists::Make(space, {.distribution = options.distribution,
                               .keys_per_list = options.nonzeros,
                               .lists = count,
                               .seed = options.seed + begin,
                               .begin = begin * options.nonzeros});
    text.clear();
    for (uint64_t i = 0; i < count; ++i) {
      double score = 0;
      for (const Key feature : lists[i])
        score += WeightOf(options.seed, feature);
      score /= std::sqrt(double(options.nonzeros));
      const double probability = 1 / (1 + std::exp(-2 * score));
      const double drawn = ToUnit(Draw(options.seed, {kLabel, begin + i}));
      absl::StrAppend(&text, drawn < probability ? "1" : "0");
      for (const Key feature : lists[i]) {
        absl::StrAppend(&text, " ", feature + 1, ":1");
      }
      absl::StrAppend(&text, "\n");
    }
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  file.close();
  if (!file) return absl::UnknownError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

}  // namespace seraph
