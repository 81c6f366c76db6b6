#include "report/progress_display.hpp"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "progress_table.hpp"
#include "row_file.hpp"

namespace tune::report {
namespace {

constexpr Progress::Seconds redraw_interval{0.25};
constexpr Progress::Seconds line_check_interval{1};
constexpr Progress::Seconds line_interval{5};
constexpr Progress::Seconds quiet_line_interval{30};
constexpr std::chrono::milliseconds end_patience{1000};
constexpr std::size_t max_said = 500;  // between two draws

constexpr std::string_view erase_below = "\x1b[J";
constexpr std::string_view save_cursor = "\x1b\x37";
constexpr std::string_view restore_cursor = "\x1b\x38";
constexpr std::string_view down_or_scroll = "\x1b\x44";   // stays in its column
constexpr std::string_view next_line_start = "\r\x1b[B";  // never scrolls
// For a window that has become smaller and has not said so yet.
constexpr std::string_view wrap_off = "\x1b[?7l";
constexpr std::string_view wrap_on = "\x1b[?7h";

std::string first_error_line(const std::string& error) { return error.substr(0, error.find('\n')); }

}  // namespace

std::string draw_block(const std::vector<std::string>& above,
                       const std::vector<std::string>& lines) {
  // Erased first, so that nothing but blanks scrolls away if room is made.
  std::string out(erase_below);
  for (const std::string& line : above) {
    out += line;
    out += "\r\n";
  }
  if (lines.empty()) return out;
  // Room first: at the bottom of the window this scrolls, and a saved place would not move with it.
  for (std::size_t i = 0; i < lines.size(); ++i) out += down_or_scroll;
  out += "\x1b[" + std::to_string(lines.size()) + 'A';
  out += save_cursor;
  out += wrap_off;
  for (const std::string& line : lines) {
    out += next_line_start;
    out += line;
  }
  out += wrap_on;
  out += restore_cursor;
  return out;
}

ProgressDisplay::ProgressDisplay(std::unique_ptr<DisplayOutput> output, DisplayStyle style,
                                 TrialLines trial_lines)
    : output_(std::move(output)), style_(style), has_trial_lines_(trial_lines == TrialLines::yes) {}

// Also if the experiment never came to its end.
ProgressDisplay::~ProgressDisplay() {
  if (has_block_) output_->write(draw_block({}, {}));
}

std::chrono::duration<double> ProgressDisplay::interval() const {
  return style_.redraws ? redraw_interval : line_check_interval;
}

void ProgressDisplay::on_experiment_start(const ExperimentInfo& experiment) {
  if (experiment.objective) metric_ = experiment.objective->metric;
  if (!experiment.overrides.empty()) {
    say("tune: the command line sets " + printable(experiment.overrides, style_.charset));
  }
}

void ProgressDisplay::say(std::string line) {
  if (said_.size() < max_said) {
    said_.push_back(std::move(line));
  } else {
    ++left_out_;
  }
}

std::vector<std::string> ProgressDisplay::take_said() {
  std::vector<std::string> lines = std::exchange(said_, {});
  if (const std::size_t left_out = std::exchange(left_out_, 0); left_out > 0) {
    lines.push_back("tune: " + std::to_string(left_out) + " more lines left out");
  }
  return lines;
}

void ProgressDisplay::print(const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  std::string text;
  for (const std::string& line : lines) (text += line) += '\n';
  output_->write(text);
}

void ProgressDisplay::on_trial_start(const TrialInfo& trial) {
  if (!has_trial_lines_) return;
  std::string line = "tune: trial " + trial_id_text(trial.id) + " starts";
  if (trial.start_iteration > 0) {
    line += " after iteration " + std::to_string(trial.start_iteration);
  }
  std::string separator = ":";
  for (const std::string& text : parameter_texts(trial.config, style_.charset)) {
    line += std::exchange(separator, "") + ' ' + text;
  }
  say(std::move(line));
}

void ProgressDisplay::on_trial_result(const TrialInfo& trial, const Result& result) {
  if (!has_trial_lines_) return;
  LastResult& last = last_results_[trial.id];
  last.training_iteration = result.training_iteration;
  if (const auto value = result.number(metric_)) last.value = value;
}

std::string ProgressDisplay::last_result_text(TrialId trial) const {
  const auto last = last_results_.find(trial);
  if (last == last_results_.end()) return " before its first result";
  std::string text = " after iteration " + std::to_string(last->second.training_iteration);
  if (last->second.value) {
    text += " with " + printable(metric_, style_.charset) + ' ' + short_number(*last->second.value);
  }
  return text;
}

void ProgressDisplay::on_trial_completed(const TrialInfo& trial, const TrialEnd& end) {
  if (!has_trial_lines_) return;
  say("tune: trial " + trial_id_text(trial.id) + " ends" + last_result_text(trial.id) + ": " +
      printable(end.reason, style_.charset));
  last_results_.erase(trial.id);
}

void ProgressDisplay::on_trial_failed(const TrialInfo& trial, const TrialEnd& end,
                                      bool will_retry) {
  if (!has_trial_lines_) return;
  say("tune: trial " + trial_id_text(trial.id) + " fails" + last_result_text(trial.id) +
      (will_retry ? " and is tried again: " : ": ") +
      printable(first_error_line(end.error), style_.charset));
  if (!will_retry) last_results_.erase(trial.id);
}

void ProgressDisplay::on_idle() {
  if (!style_.redraws && has_started_) print(take_said());
}

Screen ProgressDisplay::screen() const {
  const WindowSize size = output_->size();
  // The last column stays free: behind it terminals differ. The first row is where the cursor
  // stands.
  return {.columns = std::max<std::size_t>(size.columns, 2) - 1,
          .rows = std::max<std::size_t>(size.rows, 1) - 1,
          .charset = style_.charset,
          .colors = style_.colors};
}

void ProgressDisplay::report(const Progress& progress, bool is_last) {
  if (!std::exchange(has_started_, true)) {
    said_.insert(said_.begin(), render_start(progress, style_.charset));
    if (!is_last) return print(take_said());
  }
  if (is_last) return end(progress);
  if (style_.redraws) return redraw(progress);
  print(take_said());
  add_line_if_due(progress);
}

void ProgressDisplay::redraw(const Progress& progress) {
  if (!output_->is_ready()) return;
  output_->write(draw_block(take_said(), render_progress(progress, screen())));
  has_block_ = true;
}

// A line where nothing has changed only says that the program lives.
void ProgressDisplay::add_line_if_due(const Progress& progress) {
  const Progress::Seconds quiet = progress.elapsed - line_at_;
  const bool has_changed = progress.results != line_results_ || !(progress.counts == line_counts_);
  if (quiet < (has_changed ? line_interval : quiet_line_interval) || !output_->is_ready()) return;
  line_at_ = progress.elapsed;
  line_results_ = progress.results;
  line_counts_ = progress.counts;
  print({render_line(progress, style_.charset)});
}

void ProgressDisplay::end(const Progress& progress) {
  if (std::exchange(has_block_, false)) output_->write(draw_block({}, {}));
  print(take_said());
  print(render_summary(progress, screen()));
  output_->finish(end_patience);
}

std::shared_ptr<ProgressReporter> make_progress_display(int verbosity) {
  auto output = std::make_unique<DescriptorOutput>(STDERR_FILENO);
  const DisplayStyle style = choose_display_style(
      output->is_terminal(), [](const char* name) { return std::getenv(name); });
  return std::make_shared<ProgressDisplay>(
      std::move(output), style,
      verbosity >= 2 ? ProgressDisplay::TrialLines::yes : ProgressDisplay::TrialLines::no);
}

}  // namespace tune::report
