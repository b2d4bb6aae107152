#include "client/render/progress_line.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace seraph {
namespace {

constexpr int kBarWidth = 24;
constexpr absl::string_view kEraseLine = "\r\x1b[K";
constexpr absl::string_view kCyan = "\x1b[36m";
constexpr absl::string_view kPlain = "\x1b[0m";

double Clamped(double fraction) {
  return std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
}

std::string Join(absl::string_view label, absl::string_view middle,
                 absl::string_view details) {
  std::string text(label);
  for (const absl::string_view part : {middle, details}) {
    if (!part.empty()) absl::StrAppend(&text, "  ", part);
  }
  return text;
}

}  // namespace

ProgressLine::ProgressLine(std::ostream* stream, const Terminal& terminal,
                           const MonotonicClock* clock)
    : stream_(*stream), terminal_(terminal), clock_(*clock) {}

ProgressLine::~ProgressLine() { Clear(); }

void ProgressLine::Show(absl::string_view label, std::optional<double> fraction,
                        absl::string_view details) {
  const absl::Duration now = clock_.Now();
  const absl::Duration interval =
      terminal_.interactive ? kRedrawInterval : kPlainInterval;
  if (!terminal_.interactive && !last_shown_.has_value()) {
    last_shown_ = now;  // Short work needs no lines.
    return;
  }
  const bool due = !last_shown_.has_value() || now - *last_shown_ >= interval;
  if (!due) return;
  last_shown_ = now;

  const std::string percent =
      fraction.has_value()
          ? absl::StrFormat("%3d%%", static_cast<int>(100 * Clamped(*fraction)))
          : "";
  if (!terminal_.interactive) {
    stream_ << Join(label, percent, details) << std::endl;
    return;
  }
  const std::string bar =
      fraction.has_value() ? Bar(Clamped(*fraction), kBarWidth) : "";
  Draw(Join(label, bar.empty() ? "" : absl::StrCat(bar, " ", percent), details),
       bar);
}

void ProgressLine::Print(absl::string_view line) {
  Clear();
  stream_ << line << std::endl;
  if (!terminal_.interactive) last_shown_ = clock_.Now();
}

void ProgressLine::Clear() {
  if (drawn_) stream_ << kEraseLine << std::flush;
  drawn_ = false;
  if (terminal_.interactive) last_shown_.reset();
}

void ProgressLine::Draw(const std::string& text, const std::string& bar) {
  // The last column stays free: writing into it moves some terminals on.
  std::string line = text.substr(0, std::max(terminal_.width - 1, 0));
  const size_t at = bar.empty() ? std::string::npos : line.find(bar);
  if (terminal_.colour && at != std::string::npos) {
    line = absl::StrCat(line.substr(0, at), kCyan, bar, kPlain,
                        line.substr(at + bar.size()));
  }
  stream_ << kEraseLine << line << std::flush;
  drawn_ = true;
}

std::string Bar(double fraction, int width) {
  const int inner = width - 2;
  const int full = static_cast<int>(Clamped(fraction) * inner);
  std::string bar(full, '=');
  if (full < inner) bar += '>';
  bar.resize(inner, ' ');
  return absl::StrCat("[", bar, "]");
}

}  // namespace seraph
