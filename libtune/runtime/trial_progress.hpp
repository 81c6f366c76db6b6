#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <tune/error.hpp>
#include <tune/metrics.hpp>
#include <tune/track.hpp>
#include <tune/trainable.hpp>

#include "engine/events.hpp"
#include "runtime/trial_link.hpp"
#include "runtime/trial_run.hpp"
#include "saved_state.hpp"
#include "store/checkpoint_store.hpp"

namespace tune::runtime {

/// Ends a start of a trial with a fault. Thrown and caught within the runtime.
struct StartFailure {
  engine::Ended ended;
};

/// The fault that is being handled, with `phase` before its text.
[[nodiscard]] engine::Ended describe_current_exception(const std::string& phase);

/// Calls user code. Whatever it throws comes out as StartFailure naming the phase, save Ended.
template <class Call>
auto run_phase(const std::string& phase, Call call) -> std::invoke_result_t<Call> {
  try {
    return call();
  } catch (const track::Ended&) {
    throw;
  } catch (const StartFailure&) {
    throw;
  } catch (...) {
    throw StartFailure{describe_current_exception(phase)};
  }
}

/// How far a start of a trial has come: counts iterations and time, tells results, stores
/// checkpoints and follows orders, for both forms of training code.
class TrialProgress {
 public:
  /// `saves_whenever_possible`: without CheckpointOptions::every, save at each chance.
  TrialProgress(TrialRun run, std::shared_ptr<TrialLink> link, bool saves_whenever_possible);

  /// Makes the trial's directory, and the checkpoint to go on from one of its own if it is not.
  /// Verifies that checkpoint: a damaged one ends the start as EndKind::damaged.
  /// @throws StartFailure
  void begin();
  /// What the training code gets to know. @pre begin()
  [[nodiscard]] TrialContext context() const;
  /// Keeps metrics for the next report.
  void log(const Metrics& metrics);
  /// Warns of what was logged if nothing more will be reported.
  void warn_of_unreported();
  /// Tells one iteration that took `seconds`, with what was logged before. True if the metrics say
  /// that the trial is done; alone, `done` makes no result. @throws std::invalid_argument if `done`
  /// is text.
  bool report(const Metrics& metrics, double seconds);
  /// Stores the checkpoint that is due, then waits and follows orders. Empty: train on. An empty
  /// `writer`: no checkpoint can be stored here. @throws StartFailure
  [[nodiscard]] std::optional<engine::EndKind> follow_orders(const track::Writer& writer,
                                                             bool is_done);
  /// How many iterations were reported.
  [[nodiscard]] std::int64_t index() const { return iteration_; }
  /// See track::save(), load() and restore(); `writer` may be empty.
  void save_value(const std::string& name, const Json& value, const track::Writer& writer);
  [[nodiscard]] std::optional<track::Saved> load_value(const std::string& name) const {
    return saved_.load(name, store_);
  }
  void restore(std::int64_t index);
  void warn(std::string text) { link_->tell(engine::Warned{std::move(text), false}); }

  [[nodiscard]] const TrialRun& run() const { return run_; }
  [[nodiscard]] TrialLink& link() { return *link_; }

 private:
  void fetch_checkpoint(const engine::CheckpointLocation& source);
  [[nodiscard]] bool is_due() const;
  [[nodiscard]] bool is_saved() const { return saved_iteration_ == iteration_; }
  void save(const track::Writer& writer);
  void save_at_end(const track::Writer& writer);

  TrialRun run_;
  std::shared_ptr<TrialLink> link_;  // shared with the one who watches over the trial
  bool saves_whenever_possible_;
  store::CheckpointStore store_;
  std::optional<std::filesystem::path> start_checkpoint_;
  std::int64_t iteration_;
  double time_total_s_;
  std::optional<std::int64_t> saved_iteration_;
  std::int64_t went_back_ = 0;  // how often restore() did
  SavedState saved_;
  Metrics logged_;
  bool warns_of_reserved_names_;
};

}  // namespace tune::runtime
