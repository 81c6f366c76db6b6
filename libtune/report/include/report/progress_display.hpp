#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tune/callback.hpp>
#include <tune/progress.hpp>

#include "report/display_output.hpp"
#include "report/progress_renderer.hpp"

namespace tune::report {

/// The text that takes away the block drawn last, prints `above`, which stays, and draws `lines`,
/// each narrower than the window, below it.
///
/// Between two draws the cursor stands where it stood before the first one, above the block. So
/// whatever else the program prints goes there, the next block is below it, and nothing of the last
/// one stays behind, even if the window was resized meanwhile: all below the cursor is ours.
[[nodiscard]] std::string draw_block(const std::vector<std::string>& above,
                                     const std::vector<std::string>& lines);

/// The display that tune has of its own: in place on a terminal, else a line every few seconds; a
/// summary at the end.
class ProgressDisplay final : public ProgressReporter {
 public:
  enum class TrialLines { no, yes };

  /// @param trial_lines a line for each trial that starts or ends.
  ProgressDisplay(std::unique_ptr<DisplayOutput> output, DisplayStyle style,
                  TrialLines trial_lines);
  ~ProgressDisplay() override;

  [[nodiscard]] std::string name() const override { return "progress display"; }
  void on_trial_start(const TrialInfo& trial) override;
  void on_trial_result(const TrialInfo& trial, const Result& result) override;
  void on_trial_completed(const TrialInfo& trial, const TrialEnd& end) override;
  void on_trial_failed(const TrialInfo& trial, const TrialEnd& end, bool will_retry) override;
  void on_experiment_start(const ExperimentInfo& experiment) override;
  void on_idle() override;
  void report(const Progress& progress, bool is_last) override;
  [[nodiscard]] std::chrono::duration<double> interval() const override;

 private:
  struct LastResult {
    std::int64_t training_iteration = 0;
    std::optional<double> value;
  };

  void say(std::string line);
  [[nodiscard]] std::vector<std::string> take_said();
  void print(const std::vector<std::string>& lines);
  void redraw(const Progress& progress);
  void add_line_if_due(const Progress& progress);
  void end(const Progress& progress);
  [[nodiscard]] Screen screen() const;
  [[nodiscard]] std::string last_result_text(TrialId trial) const;

  std::unique_ptr<DisplayOutput> output_;
  DisplayStyle style_;
  bool has_trial_lines_;
  std::string metric_;
  bool has_started_ = false;
  bool has_block_ = false;                      // something of it is on the screen
  std::vector<std::string> said_;               // lines to stay, not yet printed
  std::size_t left_out_ = 0;                    // of them, for they were too many
  std::map<TrialId, LastResult> last_results_;  // of live trials, for their lines
  // Of the last plain line.
  Progress::Seconds line_at_{0};
  std::int64_t line_results_ = 0;
  TrialCounts line_counts_;
};

/// The display on stderr of this process, as its environment asks for.
/// @param verbosity as in Experiment, at least 1.
[[nodiscard]] std::shared_ptr<ProgressReporter> make_progress_display(int verbosity);

}  // namespace tune::report
