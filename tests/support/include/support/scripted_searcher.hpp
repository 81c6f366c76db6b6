#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tune/searcher.hpp>

namespace tune::test {

/// Answers by a function and notes what it is told, a line each.
class ScriptedSearcher final : public Searcher {
 public:
  using Answer = std::function<Suggestion(const SuggestionRequest&)>;
  explicit ScriptedSearcher(Answer answer, std::vector<std::string>* log = nullptr)
      : answer_(std::move(answer)), log_(log) {}

  void setup(const SearcherSetup& setup) override {
    told_objective = setup.objective;
    told_trials = setup.trials;
    note("setup " + (setup.objective ? setup.objective->metric : "-"));
  }
  Suggestion suggest(const SuggestionRequest& request) override {
    ++asked_;
    note("ask " + std::to_string(request.trial.value()) + "." + std::to_string(request.attempt) +
         " " + request.fixed.dump());
    return answer_(request);
  }
  void on_trial_result(TrialId id, const Config&, const Result& result) override {
    note("result " + std::to_string(id.value()) + " " + std::to_string(result.training_iteration));
  }
  void on_trial_completed(TrialId id, const Config&, const Result&) override {
    note("completed " + std::to_string(id.value()));
  }
  void on_trial_failed(TrialId id, const Config&, bool infeasible) override {
    note("failed " + std::to_string(id.value()) + (infeasible ? " infeasible" : ""));
  }
  std::string take_note() override { return std::exchange(next_note, {}); }
  [[nodiscard]] bool wants_results() const override { return traits.wants_results; }
  [[nodiscard]] bool needs_metric() const override { return traits.needs_metric; }
  [[nodiscard]] std::optional<Objective> objective() const override { return traits.objective; }
  [[nodiscard]] Json save() const override { return asked_; }
  void restore(const Json& state) override { asked_ = state.get<int>(); }
  [[nodiscard]] Json options() const override { return {{"name", "scripted"}}; }

  /// What it says of itself.
  struct Traits {
    bool wants_results = true;
    bool needs_metric = false;
    std::optional<Objective> objective;
  };
  Traits traits;
  std::optional<Objective> told_objective;  ///< By setup().
  std::optional<std::uint64_t> told_trials;
  std::string next_note;  ///< What it says next.

 private:
  void note(std::string line) {
    if (log_ != nullptr) log_->push_back(std::move(line));
  }

  Answer answer_;
  std::vector<std::string>* log_;
  int asked_ = 0;
};

inline std::unique_ptr<ScriptedSearcher> scripted(ScriptedSearcher::Answer answer,
                                                  std::vector<std::string>* log = nullptr) {
  return std::make_unique<ScriptedSearcher>(std::move(answer), log);
}

/// One that always gives the same answer.
inline std::unique_ptr<ScriptedSearcher> stubborn(Json answer,
                                                  std::vector<std::string>* log = nullptr) {
  return scripted([config = Config(std::move(answer))](const auto&) { return config; }, log);
}

}  // namespace tune::test
