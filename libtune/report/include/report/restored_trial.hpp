#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tune/callback.hpp>
#include <tune/result.hpp>
#include <tune/trial.hpp>

namespace tune::report {

/// A trial as the journal has it when an experiment is resumed.
///
/// One that had ended and shall go on all the same comes with the state that it has from now on.
struct RestoredTrial {
  using TakeResult = std::function<void(std::uint32_t incarnation, const Result& result,
                                        const std::string& checkpoint)>;

  /// Of its newest start, or with incarnation 0 if it was never started. CallbackHub fills in
  /// `path`.
  TrialInfo trial;
  TrialState state = TrialState::pending;  ///< `running` is taken for `pending`.
  std::string reason = {};
  std::string error = {};
  std::optional<Result> last = {};  ///< The newest result of its line.
  /// The newest value of the experiment's metric in its line; if empty, that of `last` counts.
  std::optional<double> value = {};
  /// The name of the checkpoint of the last result's iteration, if there is one and it is known:
  /// then a trial that has ended is looked at for it, too.
  std::string last_checkpoint = {};
  /// All its starts in the order of their incarnations. Called only if files have to be made again;
  /// so is `results`.
  std::function<std::vector<TrialInfo>()> starts;
  /// Passes the results of its line on, in order. `checkpoint` names the directory of the
  /// checkpoint of that iteration; often empty.
  std::function<void(const TakeResult& take)> results;

  [[nodiscard]] bool has_ended() const {
    return state == TrialState::terminated || state == TrialState::error;
  }
  /// 0 if it has no results.
  [[nodiscard]] std::int64_t training_iteration() const {
    return last ? last->training_iteration : 0;
  }
};

}  // namespace tune::report
