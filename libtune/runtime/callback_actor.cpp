#include "runtime/callback_actor.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include <caf/all.hpp>

#include <tune/error.hpp>

#include "actor_faults.hpp"
#include "record_call.hpp"
#include "runtime/past_experiment.hpp"

namespace tune::runtime {
namespace {

/// Reports the progress when it is due, whether something happens or not.
class ProgressClock {
 public:
  ProgressClock(CallbackActor::pointer self, std::shared_ptr<report::CallbackHub> hub)
      : self_(self), hub_(std::move(hub)), begin_(self->clock().now()) {}

  void report() {
    const std::optional<Progress::Seconds> next = hub_->report_progress(elapsed());
    if (!next) return;
    const auto delay = std::clamp(*next - elapsed(), Progress::Seconds(0), longest_wait);
    self_->delayed_send(self_, std::chrono::duration_cast<std::chrono::nanoseconds>(delay),
                        ProgressDue{});
  }
  void report_end() { hub_->report_end(elapsed()); }

 private:
  // A reporter may ask for any interval; no clock overflows.
  static constexpr Progress::Seconds longest_wait{24.0 * 3600};

  [[nodiscard]] Progress::Seconds elapsed() const { return self_->clock().now() - begin_; }

  CallbackActor::pointer self_;
  std::shared_ptr<report::CallbackHub> hub_;  // with the actor's handlers
  caf::actor_clock::time_point begin_;
};

}  // namespace

void pass_on(Record& record, report::CallbackHub& hub) { std::visit(RecordCall{hub}, record); }

CallbackActor::behavior_type serve_callbacks(CallbackActor::pointer self,
                                             std::shared_ptr<report::CallbackHub> hub,
                                             CallbackSetup setup) {
  watch_for_faults(self);
  hub->experiment_started(std::move(setup.experiment),
                          setup.past ? report::Resumed::yes : report::Resumed::no);
  if (setup.past) restore_trials(*setup.past, setup.reopened, *hub);
  const auto progress = std::make_shared<ProgressClock>(self, hub);
  progress->report();
  const auto pause_is_due = std::make_shared<bool>(false);
  return {
      [=](RecordTurn& turn) {
        if (turn.status) hub->run_status(*turn.status);
        RecordTurnDone done{turn.records.size(), {}, {}};
        for (Record& record : turn.records) {
          pass_on(record, *hub);
          if (const auto* deletion = std::get_if<engine::DeleteCheckpoint>(&record)) {
            done.deletions.push_back(*deletion);
          }
        }
        done.storage_error = hub->storage_error().value_or("");
        if (!std::exchange(*pause_is_due, true)) self->send(self, WritingPause{});
        return done;
      },
      [=](const WritingPause&) {
        *pause_is_due = false;
        hub->idle();
      },
      [=](const ProgressDue&) { progress->report(); },
      [=](const EndRecords& last) {
        for (const std::string& warning : last.warnings) hub->warning(std::nullopt, warning);
        hub->experiment_ended(last.end);
        progress->report_end();
        self->quit();
      },
  };
}

}  // namespace tune::runtime
