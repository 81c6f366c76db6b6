#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <tune/mode.hpp>
#include <tune/result_grid.hpp>

#include "fsck_journal.hpp"

namespace tune::runtime {
namespace {

/// Looks at the results of one trial's line, one after the other.
class LineCheck {
 public:
  LineCheck(const store::JournalReader& reader, const JournalFacts& facts, TrialId id,
            FsckFindings& findings)
      : facts_(facts),
        id_(id),
        findings_(findings),
        where_(findings.directory() / store::journal_file),
        starts_(reader.starts(id)) {}

  void take(const store::LineResult& line) {
    const std::int64_t iteration = line.result.training_iteration;
    ++findings_.report().results;
    if (iteration != last_ + 1) {
      fault("after iteration " + std::to_string(last_) + " comes " + std::to_string(iteration));
    }
    if (line.result.time_total_s < time_total_s_) {
      fault("time_total_s goes back at iteration " + std::to_string(iteration));
    }
    if (is_done_ && !facts_.reopened.contains(id_)) {
      fault("iteration " + std::to_string(last_) + " is done, and is not the last");
    }
    check_start(line.incarnation, iteration);
    const store::EventNumber event = facts_.event_of(id_, line.incarnation, iteration);
    if (event == 0) fault("no event brought iteration " + std::to_string(iteration));
    events_.push_back(event);
    last_ = iteration;
    is_done_ = line.result.done;
    if (std::isfinite(line.result.time_total_s)) time_total_s_ = line.result.time_total_s;
  }

  /// Called after the last result.
  void check_checkpoint(const store::CheckpointRow& row) {
    if (!row.is_kept || row.training_iteration == 0) return;
    const auto iteration = static_cast<std::size_t>(row.training_iteration);
    if (row.training_iteration < 0 || iteration > events_.size()) {
      fault(row.directory + " is on record, and iteration " +
            std::to_string(row.training_iteration) + " is not");
    } else if (const auto latest =
                   *std::max_element(events_.begin(), events_.begin() + row.training_iteration);
               latest >= row.event) {
      fault(row.directory + " was recorded with event " + std::to_string(row.event) +
            ", before event " + std::to_string(latest) + ", whose result it covers");
    }
  }

 private:
  void fault(const std::string& what) { findings_.fault(where_, fsck_trial_text(id_) + what); }

  void check_start(std::uint32_t incarnation, std::int64_t iteration) {
    const auto start = std::find_if(
        starts_.begin(), starts_.end(),
        [&](const store::StartRow& row) { return row.trial.incarnation == incarnation; });
    if (start == starts_.end()) {
      fault("iteration " + std::to_string(iteration) + " is of start " +
            std::to_string(incarnation) + ", which is not on record");
    } else if (iteration <= std::min(start->trial.start_iteration, went_back_to(incarnation))) {
      fault("iteration " + std::to_string(iteration) + " is of start " +
            std::to_string(incarnation) + ", which began after it");
    }
  }

  [[nodiscard]] std::int64_t went_back_to(std::uint32_t incarnation) const {
    const auto found = facts_.went_back.find({id_, incarnation});
    return found == facts_.went_back.end() ? std::numeric_limits<std::int64_t>::max()
                                           : found->second;
  }

  const JournalFacts& facts_;
  const TrialId id_;
  FsckFindings& findings_;
  const std::filesystem::path where_;
  const std::vector<store::StartRow> starts_;
  std::vector<store::EventNumber> events_;  // of iteration 1, 2, ...
  std::int64_t last_ = 0;
  bool is_done_ = false;
  double time_total_s_ = 0;
};

/// The best trial, found without the code that ResultGrid::best() uses.
class BestCheck {
 public:
  explicit BestCheck(const store::JournalReader& reader)
      : objective_(reader.experiment().objective) {}

  void begin_trial() { value_.reset(); }
  void take(const Result& result) {
    if (!objective_) return;
    if (const auto value = result.number(objective_->metric)) value_ = *value;
  }
  void end_trial(TrialId id) {
    if (!value_ || !std::isfinite(*value_)) return;
    const bool is_max = objective_->mode == Mode::max;
    if (best_ && !(is_max ? *value_ > best_value_ : *value_ < best_value_)) return;
    best_ = id;
    best_value_ = *value_;
  }
  void compare(FsckFindings& findings) const {
    if (!best_) return;
    const TrialId best = ResultGrid::open(findings.directory()).best().id;
    if (best == *best_) return;
    findings.fault(findings.directory() / store::journal_file,
                   "the best trial is " + std::to_string(best_->value()) + ", not " +
                       std::to_string(best.value()));
  }

 private:
  std::optional<Objective> objective_;
  std::optional<double> value_;
  std::optional<TrialId> best_;
  double best_value_ = 0;
};

void check_trial_row(const store::TrialRow& trial, const JournalFacts& facts,
                     FsckFindings& findings) {
  const auto where = findings.directory() / store::journal_file;
  if (!facts.is_run && !facts.suggested.contains(trial.id)) {
    findings.fault(where, fsck_trial_text(trial.id) + "no event suggested it");
  }
  if (findings.has_ended() && trial.state == TrialState::running) {
    findings.fault(where,
                   fsck_trial_text(trial.id) + "it is running, and the experiment has ended");
  }
}

void check_end(const store::JournalReader& reader, FsckFindings& findings) {
  const std::vector<store::SessionRow> sessions = reader.sessions();
  if (sessions.empty() || !sessions.back().end) return;
  const ExperimentEnd& end = *sessions.back().end;
  const TrialCounts counts = reader.trial_counts();
  const auto compare = [&](const char* what, std::int64_t at_end, std::int64_t now) {
    if (at_end == now) return;
    findings.fault(findings.directory() / store::journal_file,
                   std::string("at its end ") + std::to_string(at_end) + " trials were " + what +
                       ", on record are " + std::to_string(now));
  };
  compare("terminated", end.terminated_trials, counts.terminated);
  compare("failed", end.failed_trials, counts.error);
  compare("unfinished", end.unfinished_trials, counts.total() - counts.ended());
}

}  // namespace

void check_trials(const store::JournalReader& reader, const JournalFacts& facts,
                  FsckFindings& findings) {
  const auto where = findings.directory() / store::journal_file;
  BestCheck best(reader);
  std::uint64_t next = 0;
  for (const TrialId id : reader.trial_ids()) {
    findings.guarded(where, [&] {
      ++findings.report().trials;
      if (id.value() != next) {
        findings.fault(where, "there is no trial " + std::to_string(next));
      }
      next = id.value() + 1;
      check_trial_row(reader.trial(id).value(), facts, findings);
      LineCheck line(reader, facts, id, findings);
      best.begin_trial();
      reader.for_each_result(id, [&](const store::LineResult& result) {
        line.take(result);
        best.take(result.result);
      });
      best.end_trial(id);
      for (const store::CheckpointRow& row : reader.checkpoints(id)) line.check_checkpoint(row);
    });
  }
  findings.guarded(where, [&] { check_end(reader, findings); });
  // While it runs, others would come to be better meanwhile.
  if (!findings.is_running()) findings.guarded(where, [&] { best.compare(findings); });
}

}  // namespace tune::runtime
