#include "common/dataset/label_map.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace seraph {
namespace {

struct PlacedLabel {
  const SeenLabel* label;
  const std::string* path;
};

std::string Shown(const SeenLabel& label) {
  return label.text.empty() ? absl::StrCat(label.value)
                            : absl::StrCat("'", label.text, "'");
}

absl::Status Refuse(const PlacedLabel& at, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      *at.path, ":", at.label->line, ": label ", Shown(*at.label), " ", why));
}

// The first label that `fits` refuses, if any.
template <typename Fits>
const PlacedLabel* FirstMisfit(const std::vector<PlacedLabel>& labels,
                               Fits fits) {
  for (const PlacedLabel& placed : labels) {
    if (!fits(placed.label->value)) return &placed;
  }
  return nullptr;
}

absl::StatusOr<LabelMap> DecideBinary(const std::vector<PlacedLabel>& labels) {
  constexpr std::pair<double, double> kPairs[] = {{0, 1}, {-1, 1}, {1, 2}};
  const PlacedLabel* misfit = nullptr;
  size_t misfit_index = 0;
  std::vector<std::pair<double, double>> fitting;
  for (const auto& pair : kPairs) {
    const PlacedLabel* first = FirstMisfit(labels, [&pair](double label) {
      return label == pair.first || label == pair.second;
    });
    if (first == nullptr) {
      fitting.push_back(pair);
    } else if (const size_t index = first - labels.data();
               misfit == nullptr || index > misfit_index) {
      misfit = first;  // Of the pair that explains the most labels.
      misfit_index = index;
    }
  }
  if (fitting.empty()) {
    return Refuse(*misfit,
                  "is not one of two classes: 0 and 1, -1 and 1, or 1 and 2");
  }
  if (fitting.size() > 1) {
    return Refuse(labels.front(),
                  "is the only one; it is class 1 of 0 and 1 and of -1 and 1, "
                  "but class 0 of 1 and 2");
  }
  LabelMap map{.task = TaskKind::kBinary, .classes = 2};
  std::tie(map.negative, map.positive) = fitting.front();
  return map;
}

absl::StatusOr<LabelMap> DecideMulticlass(
    uint32_t classes, const std::vector<PlacedLabel>& labels) {
  constexpr double kMaxClass = 1 << 30;
  if (const PlacedLabel* misfit = FirstMisfit(labels, [](double label) {
        return label == std::floor(label) && label >= 0 && label <= kMaxClass;
      })) {
    return Refuse(*misfit, "is not a class: whole numbers from 0 or 1 are");
  }
  const auto by_value = [](const PlacedLabel& a, const PlacedLabel& b) {
    return a.label->value < b.label->value;
  };
  const auto [low, high] =
      std::minmax_element(labels.begin(), labels.end(), by_value);
  const uint32_t greatest = static_cast<uint32_t>(high->label->value);
  const bool has_zero = low->label->value == 0;
  LabelMap map{.task = TaskKind::kMulticlass};
  if (classes == 0) {
    map.first_class = has_zero ? 0 : 1;
    map.classes = std::max(2u, has_zero ? greatest + 1 : greatest);
    return map;
  }
  map.classes = classes;
  map.first_class = greatest == classes && !has_zero ? 1 : 0;
  if (greatest >= classes + map.first_class) {
    return Refuse(
        *high, absl::StrCat("is not one of model.classes = ", classes,
                            " classes: 0..", classes - 1,
                            has_zero ? "" : absl::StrCat(" or 1..", classes)));
  }
  return map;
}

absl::StatusOr<LabelMap> DecideTexts(TaskKind task, uint32_t classes,
                                     const std::vector<PlacedLabel>& labels) {
  for (const PlacedLabel& placed : labels) {
    if (task == TaskKind::kRegression) {
      if (!placed.label->text.empty()) {
        return Refuse(placed, "is not a number");
      }
    } else if (placed.label->text.empty() != labels[0].label->text.empty()) {
      return Refuse(placed, absl::StrCat("does not go with label ",
                                         Shown(*labels[0].label),
                                         ": labels are numbers or texts"));
    }
  }
  LabelMap map{.task = task};
  for (const PlacedLabel& placed : labels) {
    map.texts.push_back(placed.label->text);
  }
  std::sort(map.texts.begin(), map.texts.end());
  map.texts.erase(std::unique(map.texts.begin(), map.texts.end()),
                  map.texts.end());
  const size_t wanted = task == TaskKind::kBinary ? 2 : classes;
  map.classes = wanted != 0 ? wanted : std::max<size_t>(2, map.texts.size());
  if (map.texts.size() > map.classes ||
      (task == TaskKind::kBinary && map.texts.size() != 2)) {
    const size_t shown = std::min<size_t>(map.texts.size(), 10);
    return absl::InvalidArgumentError(absl::StrCat(
        *labels[0].path, ": the labels are ", map.texts.size(), " texts where ",
        map.classes, " classes are wanted: '",
        absl::StrJoin(map.texts.begin(), map.texts.begin() + shown, "', '"),
        shown < map.texts.size() ? "', ..." : "'"));
  }
  return map;
}

}  // namespace

absl::StatusOr<double> LabelMap::Map(double label) const {
  if (texts.empty()) {
    switch (task) {
      case TaskKind::kRegression:
        return label;
      case TaskKind::kBinary:
        if (label == negative) return 0;
        if (label == positive) return 1;
        break;
      case TaskKind::kMulticlass:
        if (const double shifted = label - static_cast<double>(first_class);
            shifted >= 0 && shifted < classes &&
            shifted == std::floor(shifted)) {
          return shifted;
        }
        break;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("label ", label, " is none of the job's"));
}

absl::StatusOr<double> LabelMap::MapText(absl::string_view label) const {
  const auto found = std::lower_bound(
      texts.begin(), texts.end(), label,
      [](const std::string& a, absl::string_view b) { return a < b; });
  if (found == texts.end() || *found != label) {
    return absl::InvalidArgumentError(
        absl::StrCat("label '", label, "' is none of the job's"));
  }
  return static_cast<double>(found - texts.begin());
}

absl::StatusOr<LabelMap> DecideLabels(
    TaskKind task, uint32_t classes,
    absl::Span<const DatasetFacts* const> data_sets) {
  std::vector<PlacedLabel> labels;
  bool has_text = false;
  bool capped = false;
  for (const DatasetFacts* facts : data_sets) {
    capped = capped || facts->labels_capped;
    for (const SeenLabel& label : facts->labels) {
      labels.push_back({&label, &facts->files[label.file].data.path});
      has_text = has_text || !label.text.empty();
    }
  }
  if (labels.empty()) {
    std::string first;  // File, if there is any.
    for (const DatasetFacts* facts : data_sets) {
      if (first.empty() && !facts->files.empty()) {
        first = absl::StrCat(facts->files.front().data.path, ": ");
      }
    }
    return absl::InvalidArgumentError(
        absl::StrCat(first, "the data has no records with a label"));
  }
  if (has_text) {
    if (capped) {
      return absl::InvalidArgumentError(
          absl::StrCat(*labels[0].path, ": more than ",
                       DatasetFacts::kMaxLabels, " labels are texts"));
    }
    return DecideTexts(task, classes, labels);
  }
  switch (task) {
    case TaskKind::kRegression:
      break;
    case TaskKind::kBinary:
      return DecideBinary(labels);
    case TaskKind::kMulticlass:
      if (capped) {
        return absl::InvalidArgumentError(absl::StrCat(
            *labels[0].path, ": more than ", DatasetFacts::kMaxLabels,
            " labels; is this a regression?"));
      }
      return DecideMulticlass(classes, labels);
  }
  return LabelMap{};
}

}  // namespace seraph
