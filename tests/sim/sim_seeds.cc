#include "tests/sim/sim_seeds.h"

#include <chrono>
#include <cstdio>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace seraph::testing {
namespace {

int lines = 400;  // Of a history that is printed.

void Print(absl::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

std::string LastLines(const std::string& text) {
  size_t begin = text.size();
  for (int n = 0; begin > 0 && n <= lines; ++n) {
    begin = text.rfind('\n', begin - 1);
    if (begin == std::string::npos) return text;
  }
  return text.substr(begin + 1);
}

void PrintOutcome(uint64_t seed, const SimOutcome& outcome) {
  Print(absl::StrCat("---- seed ", seed, ": ", outcome.shape, "\n",
                     LastLines(outcome.history)));
  Print(CountsToString(outcome.counts));
  for (const std::string& problem : outcome.problems) {
    Print(absl::StrCat("PROBLEM ", problem, "\n"));
  }
  Print(absl::StrCat("---- seed ", seed, ": ",
                     outcome.problems.empty() ? "all checks hold" : "FAILED",
                     ", trace ", absl::Hex(outcome.hash), "\n"));
}

void Add(const SimOutcome& outcome, std::map<std::string, int64_t>* counts) {
  for (const auto& [name, count] : outcome.counts) (*counts)[name] += count;
}

}  // namespace

std::string CountsToString(const std::map<std::string, int64_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) {
    absl::StrAppend(&text, "  ", name, ": ", count, "\n");
  }
  return text;
}

int RunSeeds(const SimRun& run, SeedRange seeds, int failures,
             std::map<std::string, int64_t>* counts) {
  int failed = 0;
  for (uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const SimOutcome outcome = run(seed, false);
    Add(outcome, counts);
    if (outcome.problems.empty()) {
      // A run that is not a function of its seed cannot be looked at again.
      if (seed % 64 != 0 || run(seed, false).hash == outcome.hash) continue;
      Print(absl::StrCat("PROBLEM seed ", seed, " does not replay\n"));
    } else {
      const SimOutcome again = run(seed, true);
      PrintOutcome(seed, again);
      if (again.hash != outcome.hash) {
        Print(absl::StrCat("PROBLEM seed ", seed, " does not replay\n"));
      }
    }
    if (++failed >= failures) break;
  }
  return failed;
}

std::optional<uint64_t> FindFailure(const SimRun& run, SeedRange seeds,
                                    const std::string& words,
                                    std::string* problem) {
  for (uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const SimOutcome outcome = run(seed, false);
    for (const std::string& found : outcome.problems) {
      if (found.find(words) == std::string::npos) continue;
      *problem = found;
      return seed;
    }
  }
  return std::nullopt;
}

std::optional<int> RunFromCommandLine(const SimRun& run, int argc,
                                      char** argv) {
  std::optional<SeedRange> seeds;
  bool one = false;
  int failures = 1;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    uint64_t number = 0;
    if (absl::ConsumePrefix(&argument, "--seed=") &&
        absl::SimpleAtoi(argument, &number)) {
      seeds = {number, number};
      one = true;
    } else if (absl::ConsumePrefix(&argument, "--seeds=")) {
      const std::pair<absl::string_view, absl::string_view> ends =
          absl::StrSplit(argument, absl::MaxSplits("..", 1));
      seeds.emplace();
      if (!absl::SimpleAtoi(ends.first, &seeds->first) ||
          !absl::SimpleAtoi(ends.second, &seeds->last)) {
        Print("--seeds=FROM..TO\n");
        return 2;
      }
    } else if (absl::ConsumePrefix(&argument, "--lines=")) {
      if (!absl::SimpleAtoi(argument, &lines)) return 2;
    } else if (absl::ConsumePrefix(&argument, "--failures=")) {
      if (!absl::SimpleAtoi(argument, &failures)) return 2;
    }
  }
  if (!seeds.has_value()) return std::nullopt;
  if (one) {
    const SimOutcome outcome = run(seeds->first, true);
    PrintOutcome(seeds->first, outcome);
    return outcome.problems.empty() ? 0 : 1;
  }
  std::map<std::string, int64_t> counts;
  const auto began = std::chrono::steady_clock::now();
  const int failed = RunSeeds(run, *seeds, failures, &counts);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - began;
  Print(CountsToString(counts));
  Print(absl::StrCat(failed, " failed; ", took.count(), " s\n"));
  return failed == 0 ? 0 : 1;
}

}  // namespace seraph::testing
