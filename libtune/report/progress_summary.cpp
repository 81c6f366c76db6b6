#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <variant>

#include "core/json_text.hpp"
#include "report/config_parameters.hpp"
#include "report/progress_renderer.hpp"
#include "row_file.hpp"
#include "styled_line.hpp"

namespace tune::report {
namespace {

constexpr std::size_t max_shown_failures = 5;
constexpr const char* usual_end = "all trials ended";

/// Builds the lines of a summary: each a name and what belongs to it.
class Summary {
 public:
  Summary(const Progress& progress, const Screen& screen) : progress_(progress), screen_(screen) {}

  std::vector<std::string> lines() {
    add_counts();
    add_end();
    add_best();
    add_failures();
    add("results", StyledLine(text_of(progress_.path.native())));
    return std::move(lines_);
  }

 private:
  void add_counts();
  void add_end();
  void add_best();
  void add_failures();
  void add(const std::string& name, const StyledLine& what) {
    constexpr std::size_t width = 9;
    StyledLine line(name + std::string(width - name.size(), ' '), Style::faint);
    lines_.push_back(line.add(what).text(screen_.colors));
  }
  [[nodiscard]] std::string text_of(const std::string& text) const {
    return printable(text, screen_.charset);
  }

  const Progress& progress_;
  const Screen& screen_;
  std::vector<std::string> lines_;
};

std::string exact_enough(const MetricValue& value) {
  const auto* const number = std::get_if<double>(&value.variant());
  if (number == nullptr) return metric_text(value);
  if (!std::isfinite(*number)) return std::string(core::non_finite_text(*number));
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *number,
                                 std::chars_format::general, 6)
                       .ptr;
  return {buffer.data(), end};
}

void Summary::add_counts() {
  const TrialCounts& counts = progress_.counts;
  StyledLine line(std::to_string(counts.total()) + (counts.total() == 1 ? " trial" : " trials") +
                  " in " + duration_text(progress_.elapsed));
  std::string separator = ": ";
  const auto count = [&](std::int64_t trials, const char* state, Style style) {
    if (trials == 0) return;
    line.add(std::exchange(separator, ", "));
    line.add(std::to_string(trials) + ' ' + state, style);
  };
  count(counts.terminated, "terminated", Style::good);
  count(counts.error, "error", Style::bad);
  count(counts.pending + counts.running + counts.paused, "unfinished", Style::plain);
  add("ended", line);
  std::string reasons;
  for (const auto& [reason, trials] : progress_.reasons) {
    reasons += (reasons.empty() ? "" : ", ") + std::to_string(trials) + ' ' + text_of(reason);
  }
  if (!reasons.empty()) add("", StyledLine(reasons));
}

void Summary::add_end() {
  if (!progress_.end) return;
  if (progress_.end->reason != usual_end) {
    add("reason", StyledLine((progress_.end->interrupted ? "interrupted: " : "") +
                             text_of(progress_.end->reason)));
  }
  if (!progress_.end->error.empty()) {
    add("fault", StyledLine(text_of(progress_.end->error), Style::bad));
  }
}

void Summary::add_best() {
  if (!progress_.objective) return;
  if (!progress_.best) {
    add("best", StyledLine("none: no trial has a finite " + text_of(progress_.objective->metric)));
    return;
  }
  const TrialProgress& best = *progress_.best;
  StyledLine line("trial " + trial_id_text(best.id) + ", ");
  line.add(text_of(progress_.objective->metric) + ' ' + exact_enough(*best.value), Style::strong);
  add("best", line.add(" at iteration " + std::to_string(best.training_iteration)));
  const auto json_text = [&](const Json& value) {
    return value.dump(-1, ' ', screen_.charset == Charset::ascii, Json::error_handler_t::replace);
  };
  const std::string config = json_text(without_large_parameters(best.config.json()));
  add("config", StyledLine(text_of(config)));
  if (config != json_text(best.config.json())) add("", StyledLine("and what is large in it"));
  std::string metrics;
  for (const auto& [name, value] : best.metrics) {
    if (name == progress_.objective->metric) continue;
    metrics += (metrics.empty() ? "" : ", ") + text_of(name) + ' ' + text_of(exact_enough(value));
  }
  if (!metrics.empty()) add("metrics", StyledLine(metrics));
}

void Summary::add_failures() {
  const std::size_t shown = std::min(progress_.failures.size(), max_shown_failures);
  const auto failed = static_cast<std::size_t>(progress_.counts.error);
  for (std::size_t i = progress_.failures.size() - shown; i < progress_.failures.size(); ++i) {
    const TrialFailure& failure = progress_.failures[i];
    StyledLine line("trial " + trial_id_text(failure.id) + ": ");
    add("error", line.add(text_of(failure.error), Style::bad));
    add("", StyledLine(text_of(failure.path.native())));
  }
  if (failed > shown) add("", StyledLine("and " + std::to_string(failed - shown) + " more"));
}

}  // namespace

std::vector<std::string> render_summary(const Progress& progress, const Screen& screen) {
  return Summary(progress, screen).lines();
}

}  // namespace tune::report
