#include <tune/replay.hpp>

#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <variant>

#include "engine/event_json.hpp"
#include "past_run.hpp"
#include "recorded_engine.hpp"
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
  if (!decision.difference.empty() && ++report.differences == 1) {
    report.first_difference = decision;
  }
  const bool is_told =
      !decision.decided.empty() || !decision.explanations.empty() || !decision.difference.empty();
  if (is_told && options.on_decision) options.on_decision(decision);
}

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
  if (is_same()) {
    out << "all of which come out again\n";
    return;
  }
  out << differences << " at which it would decide otherwise today; the first is\n";
  first_difference->print(out);
}

ReplayReport replay(const fs::path& experiment, const ReplayOptions& options) {
  const fs::path directory = fs::absolute(experiment).lexically_normal();
  ReplayReport report;
  const store::JournalReader reader(directory);
  reader.in_one_state([&] {
    refuse_no_experiment(reader, directory);
    runtime::RecordedEngine engine(reader);
    reader.for_each_event([&](const store::RecordedEvent& recorded) {
      if (options.until && recorded.row.number > *options.until) return;
      const engine::Decisions then = runtime::decisions_on_record(recorded);
      engine.replay(recorded, then, /*asks_scheduler=*/true);
      ++report.events;
      count(decision_at(recorded, then, engine.take_decisions()), options, report);
    });
  });
  return report;
}

}  // namespace tune
