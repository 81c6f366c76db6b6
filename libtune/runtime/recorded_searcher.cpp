#include "recorded_searcher.hpp"

#include <exception>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/domain_json.hpp"
#include "core/number_text.hpp"
#include "recorded_engine.hpp"

namespace tune::runtime {
namespace {

struct AnswerWords {
  std::string operator()(const Config& config) const { return config.dump(); }
  std::string operator()(const Wait&) const { return "wait"; }
  std::string operator()(const Exhausted&) const { return "nothing any more"; }
  std::string operator()(const engine::SearcherFailure& failure) const {
    return "fault: " + failure.message;
  }
};

std::unique_ptr<engine::SuggestionSource> make_source(const store::ExperimentRow& row,
                                                      std::unique_ptr<Searcher> searcher) {
  const Json& definition = row.definition;
  if (const auto constraints = definition.find("constraints"); constraints != definition.end()) {
    throw std::invalid_argument("constraint " + core::value_text(constraints->at(0)) +
                                " is a function, which is not on record");
  }
  if (definition.contains("suggest_budget") && !definition.at("suggest_budget").is_null()) {
    throw std::invalid_argument("suggest_budget is set, so its answers depended on the clock");
  }
  engine::SuggestionOptions options;
  options.objective = row.objective;
  options.seed = row.seed;
  options.num_samples = definition.at("num_samples");
  options.points_to_evaluate = definition.at("points_to_evaluate").get<std::vector<Json>>();
  options.avoid_duplicates = definition.at("avoid_duplicates");
  return std::make_unique<engine::SuggestionSource>(core::recorded_space(definition.at("space")),
                                                    std::move(options), std::move(searcher));
}

}  // namespace

RecordedSearcher::RecordedSearcher(const store::ExperimentRow& row) {
  std::unique_ptr<Searcher> searcher = recorded_searcher(row.definition);
  guarded("it cannot be made once more", [&] { source_ = make_source(row, std::move(searcher)); });
}

// Its own code may throw what it likes; from then on it would be asked in another state than then.
template <class Call>
void RecordedSearcher::guarded(const std::string& what, Call call) {
  if (!fault_.empty()) return;
  try {
    call();
  } catch (const std::exception& error) {
    fault_ = what + ": " + error.what();
  } catch (...) {
    fault_ = what + ": unknown exception";
  }
}

std::optional<RecordedSearcher::Answer> RecordedSearcher::take(const engine::Event& event) {
  if (!fault_.empty()) return std::nullopt;
  const auto* ready = std::get_if<engine::SuggestionReady>(&event);
  const bool is_session = std::holds_alternative<engine::SessionStarted>(event);
  std::optional<Answer> answer;
  if (ready != nullptr && asked_ && asked_->trial == ready->trial) {
    answer = {std::visit(AnswerWords{}, ready->suggestion), std::move(asked_->answer)};
  }
  if (ready != nullptr) take_answer(*ready);
  if (ready != nullptr || is_session) {
    // An answer that is not on record before the next session did not come.
    asked_.reset();
    order_.answered([this](const engine::Command& command) { tell(command); });
  }
  return answer;
}

void RecordedSearcher::take_answer(const engine::SuggestionReady& recorded) {
  const auto* config = std::get_if<Config>(&recorded.suggestion);
  if (config == nullptr) return;
  guarded("it failed at the suggestion for trial " + std::to_string(recorded.trial.value()),
          [&] { source_->take_suggestion(recorded.trial, *config); });
}

void RecordedSearcher::carry_out(std::span<const engine::Command> commands) {
  for (const engine::Command& command : commands) {
    if (!fault_.empty()) return;
    if (const auto* ask = std::get_if<engine::AskSearcher>(&command)) {
      asked_ = Asked{ask->trial, ask_again(ask->trial)};
    }
    order_.take(command, [this](const engine::Command& told) { tell(told); });
  }
}

std::string RecordedSearcher::ask_again(TrialId trial) {
  try {
    return std::visit(AnswerWords{}, source_->ask_again(trial));
  } catch (const std::exception& error) {
    return AnswerWords{}(engine::SearcherFailure{error.what()});
  } catch (...) {
    return AnswerWords{}(engine::SearcherFailure{"unknown exception"});
  }
}

void RecordedSearcher::tell(const engine::Command& command) {
  if (const auto* told = std::get_if<engine::TellSearcherResult>(&command)) {
    guarded("it failed at a result of trial " + std::to_string(told->trial.value()),
            [&] { source_->on_trial_result(told->trial, told->config, told->result); });
  } else if (const auto* told = std::get_if<engine::TellSearcherCompleted>(&command)) {
    guarded("it failed at the end of trial " + std::to_string(told->trial.value()),
            [&] { source_->on_trial_completed(told->trial, told->config, told->last); });
  } else if (const auto* told = std::get_if<engine::TellSearcherFailed>(&command)) {
    guarded("it failed at the failure of trial " + std::to_string(told->trial.value()),
            [&] { source_->on_trial_failed(told->trial, told->config, told->infeasible); });
  }
}

}  // namespace tune::runtime
