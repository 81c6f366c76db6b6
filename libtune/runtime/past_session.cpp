#include "past_session.hpp"

#include <stdexcept>
#include <utility>

#include "runtime/past_experiment.hpp"

namespace tune::runtime {
namespace {

std::string joined(const std::vector<std::string>& texts, const char* separator) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : separator) + text;
  return all;
}

std::string count_text(std::int64_t count, const char* what) {
  return std::to_string(count) + " " + what;
}

}  // namespace

PastSession::PastSession(const ExperimentInfo& now, const Experiment& experiment, Json definition)
    : info_(now),
      resume_(experiment.resume),
      reader_(std::make_shared<const store::JournalReader>(now.path)),
      sessions_(reader_->sessions()) {
  const store::ExperimentRow recorded = reader_->experiment();
  change_ = compare_definitions(recorded.definition, definition, experiment.seed.has_value());
  refuse_changes(experiment.accept_new_space);
  definition["seed"] = recorded.seed;
  info_.experiment_id = recorded.experiment_id;
  info_.seed = recorded.seed;
  info_.definition = std::move(definition);
}

void PastSession::refuse_changes(bool accepts_new_space) const {
  std::vector<std::string> refused = change_.refused;
  if (!accepts_new_space) {
    refused.insert(refused.end(), change_.space.begin(), change_.space.end());
  }
  if (refused.empty()) return;
  throw std::invalid_argument("experiment " + info_.path.string() +
                              " is on record with another definition:\n  " +
                              joined(refused, "\n  ") +
                              "\ngive the experiment another name, or begin it anew with resume "
                              "set to fresh" +
                              (change_.space.empty() || accepts_new_space
                                   ? std::string()
                                   : "; accept_new_space lets new trials have the new space"));
}

engine::KeepEnded PastSession::what_may_go_on() const {
  engine::KeepEnded keep;
  keep.named = reopened_trials(*reader_);
  keep.beyond_bound = change_.has_other_bounds;
  keep.out_of_time = change_.has_other_budget;
  keep.failed = resume_ == Resume::errored || resume_ == Resume::restart_errored;
  return keep;
}

void PastSession::replay(const engine::EngineOptions& options, engine::Engine& engine,
                         engine::SuggestionSource& suggestions) {
  const Replayed replayed =
      replay_journal(*reader_, info_.path, options, what_may_go_on(), engine, suggestions);
  begin_.time = replayed.time;
  begin_.last_event = replayed.last_event;
  choose_reopened(engine.reopenable());
  const bool has_ended_well = engine.is_finished() && !sessions_.empty() && sessions_.back().end &&
                              sessions_.back().end->error.empty() &&
                              !sessions_.back().end->interrupted;
  is_complete_ = has_ended_well && reopened_.empty() && change_.extended.empty();
  if (!replayed.difference.empty()) {
    notes_.push_back(
        "the scheduler would decide otherwise today than on record, where what is on record "
        "counts: " +
        replayed.difference);
  }
  describe(engine);
}

void PastSession::choose_reopened(const engine::Reopenable& reopenable) {
  engine::SessionStarted& event = begin_.event;
  for (const auto* list : {&reopenable.out_of_time, &reopenable.beyond_bound}) {
    event.reopened.insert(event.reopened.end(), list->begin(), list->end());
  }
  auto& failed = resume_ == Resume::restart_errored ? event.restarted : event.reopened;
  failed.insert(failed.end(), reopenable.failed.begin(), reopenable.failed.end());
  reopened_.insert(event.reopened.begin(), event.reopened.end());
  reopened_.insert(event.restarted.begin(), event.restarted.end());
}

void PastSession::describe(const engine::Engine& engine) {
  const engine::Engine::Counts counts = engine.counts();
  if (is_complete_) {
    greeting_ = "already complete: " + count_text(counts.total(), "trials on record");
    return;
  }
  greeting_ = "resumed: " + count_text(counts.ended(), "trials have ended, ") +
              count_text(counts.total() - counts.ended(), "go on");
  if (!reopened_.empty()) {
    greeting_ += ", " + count_text(static_cast<std::int64_t>(reopened_.size()),
                                   "of those that had ended go on, too");
  }
  if (!change_.extended.empty()) greeting_ += "; " + joined(change_.extended, ", ");
  for (const std::string& difference : change_.space) notes_.push_back("new " + difference);
}

std::int64_t PastSession::next_session() const {
  return sessions_.empty() ? 1 : sessions_.back().number + 1;
}

}  // namespace tune::runtime
