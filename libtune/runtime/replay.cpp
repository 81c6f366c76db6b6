#include <tune/replay.hpp>

#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <variant>

#include "engine/event_json.hpp"
#include "past_run.hpp"
#include "recorded_engine.hpp"
#include "recorded_searcher.hpp"
#include "runtime/past_experiment.hpp"

namespace tune {
namespace {

namespace fs = std::filesystem;

std::string trial_text(TrialId trial) { return "trial " + std::to_string(trial.value()); }

/// Puts what a scheduler asked for into words. A horizon is none of its decisions: it says when
/// there will be none.
struct RequestWords {
  ReplayedDecision& decision;

  void operator()(const StopTrial& r) const { add("stop " + trial_text(r.trial)); }
  void operator()(const PauseTrial& r) const { add("pause " + trial_text(r.trial)); }
  void operator()(const UnpauseTrial& r) const { add("unpause " + trial_text(r.trial)); }
  void operator()(const SaveTrial& r) const { add("save " + trial_text(r.trial)); }
  void operator()(const ExploitTrial& r) const {
    add("exploit " + trial_text(r.target) + ": go on from " + trial_text(r.source) + ", with " +
        r.config.dump());
  }
  void operator()(const ChangeResources& r) const {
    add("change the resources of " + trial_text(r.trial));
  }
  void operator()(const DecisionHorizon&) const {}
  void operator()(const Explanation& r) const {
    decision.explanations.push_back(trial_text(r.trial) + ": " + r.reason);
  }

 private:
  void add(std::string words) const { decision.decided.push_back(std::move(words)); }
};

void put_into_words(const engine::OutsideAnswer& answer, ReplayedDecision& decision) {
  if (const auto* fault = std::get_if<engine::AnswerFault>(&answer)) {
    decision.decided.push_back("fault: " + fault->text);
    return;
  }
  const auto& given = std::get<engine::SchedulerAnswer>(answer);
  if (given.decision != Decision::proceed) decision.decided.emplace_back(to_string(given.decision));
  if (given.choice) decision.decided.push_back("run " + trial_text(*given.choice));
  if (given.hold) decision.decided.emplace_back("leave the slot free");
  for (const SchedulerRequest& request : given.requests) {
    std::visit(RequestWords{decision}, request);
  }
}

/// What was answered to a question then; what is not on record said nothing.
engine::OutsideAnswer answer_then(const engine::Decisions& then, std::uint32_t question) {
  for (const engine::RecordedAnswer& recorded : then) {
    if (recorded.call == question) return recorded.answer;
  }
  return engine::SchedulerAnswer{};
}

std::string describe_difference(const engine::OutsideAnswer& then,
                                const engine::OutsideAnswer& now) {
  const std::string recorded = engine::object_text(engine::to_json(then));
  const std::string today = engine::object_text(engine::to_json(now));
  if (recorded == today) return {};
  return "recorded is " + recorded + ", today it would be " + today;
}

/// `now`: today's answers to all questions to the scheduler. What else is in `then` others said.
ReplayedDecision decision_at(const store::RecordedEvent& recorded, const engine::Decisions& then,
                             const engine::Decisions& now) {
  ReplayedDecision decision;
  decision.event = recorded.row.number;
  decision.time_s = recorded.row.time_s;
  decision.event_kind = recorded.row.kind;
  decision.trial = recorded.result ? recorded.result->trial : recorded.row.trial;
  if (recorded.result) decision.iteration = recorded.result->result.training_iteration;
  for (const engine::RecordedAnswer& today : now) {
    const engine::OutsideAnswer answer = answer_then(then, today.call);
    put_into_words(answer, decision);
    if (decision.difference.empty()) {
      decision.difference = describe_difference(answer, today.answer);
    }
  }
  return decision;
}

void count(const ReplayedDecision& decision, const ReplayOptions& options, ReplayReport& report) {
  if (!decision.decided.empty()) ++report.decisions;
  if (!decision.difference.empty() && !report.first_difference) report.first_difference = decision;
  const bool is_told =
      !decision.decided.empty() || !decision.explanations.empty() || !decision.difference.empty();
  if (is_told && options.on_decision) options.on_decision(decision);
}

/// Goes through the events, one after the other, with a scheduler and a searcher made anew.
class Rehearsal {
 public:
  Rehearsal(const store::JournalReader& reader, const ReplayOptions& options)
      : options_(options), engine_(reader) {
    if (options.asks_searcher) searcher_.emplace(reader.experiment());
  }

  void take(const store::RecordedEvent& recorded) {
    if (options_.until && recorded.row.number > *options_.until) return;
    std::optional<runtime::RecordedSearcher::Answer> answer;
    if (searcher_) answer = searcher_->take(runtime::event_on_record(recorded, engine_.options()));
    const engine::Decisions then = runtime::decisions_on_record(recorded);
    const auto commands = engine_.replay(recorded, then, /*asks_scheduler=*/true);
    if (searcher_) searcher_->carry_out(commands);
    ++report_.events;
    ReplayedDecision decision = decision_at(recorded, then, engine_.take_decisions());
    if (!decision.difference.empty()) ++report_.differences;
    if (answer) ++report_.suggestions;
    if (answer && answer->then != answer->now) {
      ++report_.other_suggestions;
      decision.difference += (decision.difference.empty() ? "" : "; ") +
                             ("suggested was " + answer->then + ", today it would be ") +
                             answer->now;
    }
    count(decision, options_, report_);
  }

  [[nodiscard]] ReplayReport report() {
    report_.searcher_not_asked = searcher_ ? searcher_->fault() : "asks_searcher is off";
    return std::move(report_);
  }

 private:
  const ReplayOptions& options_;
  runtime::RecordedEngine engine_;
  std::optional<runtime::RecordedSearcher> searcher_;
  ReplayReport report_;
};

void refuse_no_experiment(const store::JournalReader& reader, const fs::path& directory) {
  if (!runtime::is_run_by_itself(reader.experiment())) return;
  throw std::invalid_argument(directory.string() +
                              " is a run outside an experiment: nothing was decided there");
}

}  // namespace

void ReplayedDecision::print(std::ostream& out) const {
  out << "event " << event << ", " << time_s << " s, " << event_kind;
  if (iteration > 0) out << ' ' << iteration;
  if (trial) out << " of " << trial_text(*trial);
  const char* before = ": ";
  for (const std::string& words : decided) out << std::exchange(before, ", ") << words;
  before = " (";
  for (const std::string& words : explanations) out << std::exchange(before, "; ") << words;
  if (!explanations.empty()) out << ')';
  if (!difference.empty()) out << "\n  differs: " << difference;
  out << '\n';
}

void ReplayReport::print(std::ostream& out) const {
  out << events << " events, " << decisions << " with decisions of the scheduler, ";
  if (differences == 0) {
    out << "all of which come out again\n";
  } else {
    out << differences << " at which it would decide otherwise today\n";
  }
  out << suggestions << " suggestions of the searcher, ";
  if (other_suggestions == 0) {
    out << "all of which come out again\n";
  } else {
    out << other_suggestions << " of which would be others today\n";
  }
  if (!searcher_not_asked.empty())
    out << "the searcher is not asked: " << searcher_not_asked << '\n';
  if (!first_difference) return;
  out << "the first difference is\n";
  first_difference->print(out);
}

ReplayReport replay(const fs::path& experiment, const ReplayOptions& options) {
  const fs::path directory = fs::absolute(experiment).lexically_normal();
  const store::JournalReader reader(directory);
  ReplayReport report;
  reader.in_one_state([&] {
    refuse_no_experiment(reader, directory);
    Rehearsal rehearsal(reader, options);
    reader.for_each_event([&](const store::RecordedEvent& event) { rehearsal.take(event); });
    report = rehearsal.report();
  });
  return report;
}

}  // namespace tune
