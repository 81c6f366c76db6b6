#include <tune/searchers/automatic.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <tune/searchers/gp.hpp>
#include <tune/searchers/random.hpp>
#include <tune/searchers/tpe.hpp>

#include "searchers/encoded_space.hpp"

namespace tune {
namespace {

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

class AutomaticSearcher final : public Searcher {
 public:
  explicit AutomaticSearcher(const AutomaticOptions& options) : options_(options) {
    const auto require_positive = [](const char* name, std::int64_t value) {
      if (value >= 0) return;
      throw std::invalid_argument(std::string("automatic: ") + name + " must be at least 0, is " +
                                  std::to_string(value));
    };
    require_positive("gp_trials", options_.gp_trials);
    require_positive("gp_parameters", options_.gp_parameters);
  }

  void setup(const SearcherSetup& setup) override {
    early_.reset();
    late_.reset();
    added_ = 0;
    note_.clear();
    said_ = Turn::none;
    const std::size_t parameters = searchers::EncodedSpace(*setup.space).size();
    has_metric_ = setup.objective.has_value();
    if (!has_metric_) {
      late_ = random_search();
    } else {
      late_ = tpe({.max_kernels = 500});
      const bool is_small = parameters <= static_cast<std::size_t>(options_.gp_parameters);
      if (is_small && options_.gp_trials > 0) {
        early_ = gp({.max_observations = std::max<std::int64_t>(10, options_.gp_trials)});
      }
    }
    why_ = has_metric_ ? "there are " + counted(parameters, "parameter") : "there is no metric";
    had_early_ = early_ != nullptr;
    if (early_) early_->setup(setup);
    late_->setup(setup);
  }

  Suggestion suggest(const SuggestionRequest& request) override {
    Searcher& now = early_ ? *early_ : *late_;
    Suggestion suggestion = now.suggest(request);
    note_ = now.take_note();
    const Turn turn = early_ ? Turn::early : Turn::late;
    if (std::exchange(said_, turn) != turn) {
      note_ = change_text(now) + (note_.empty() ? "" : "; " + note_);
    }
    return suggestion;
  }

  void on_trial_added(TrialId id, const Config& config) override {
    ++added_;
    for_each([&](Searcher& searcher) { searcher.on_trial_added(id, config); });
    if (added_ >= options_.gp_trials) early_.reset();  // its turn never comes again
  }
  void on_trial_result(TrialId id, const Config& config, const Result& result) override {
    for_each([&](Searcher& searcher) {
      if (searcher.wants_results()) searcher.on_trial_result(id, config, result);
    });
  }
  void on_trial_completed(TrialId id, const Config& config, const Result& last) override {
    for_each([&](Searcher& searcher) { searcher.on_trial_completed(id, config, last); });
  }
  void on_trial_failed(TrialId id, const Config& config, bool infeasible) override {
    for_each([&](Searcher& searcher) { searcher.on_trial_failed(id, config, infeasible); });
  }

  std::string take_note() override { return std::exchange(note_, {}); }
  [[nodiscard]] bool wants_results() const override { return has_metric_; }
  [[nodiscard]] bool needs_metric() const override { return false; }

  [[nodiscard]] Json save() const override {
    return {{"added", added_},
            {"early", early_ ? early_->save() : Json()},
            {"late", late_->save()},
            {"said", static_cast<int>(said_)}};
  }
  void restore(const Json& state) override {
    added_ = state.at("added").get<std::int64_t>();
    said_ = static_cast<Turn>(state.at("said").get<int>());
    late_->restore(state.at("late"));
    if (state.at("early").is_null()) {
      early_.reset();
    } else {
      early_->restore(state.at("early"));
    }
  }

  [[nodiscard]] Json options() const override {
    return {{"name", "automatic"},
            {"gp_trials", options_.gp_trials},
            {"gp_parameters", options_.gp_parameters}};
  }

 private:
  enum class Turn { none, early, late };

  [[nodiscard]] std::string change_text(const Searcher& now) const {
    const std::string name = now.options().at("name").get<std::string>();
    if (had_early_ && !early_) {
      return "automatic: " + name + " from here on, after " +
             counted(static_cast<std::size_t>(added_), "trial");
    }
    return "automatic: " + name + ", since " + why_;
  }

  template <class Call>
  void for_each(Call call) {
    if (early_) call(*early_);
    call(*late_);
  }

  AutomaticOptions options_;
  bool has_metric_ = false;
  std::string why_;
  bool had_early_ = false;
  std::unique_ptr<Searcher> early_;  // none any more when it is the turn of `late_`
  std::unique_ptr<Searcher> late_;
  std::int64_t added_ = 0;
  std::string note_;
  Turn said_ = Turn::none;  // whose turn was noted last
};

}  // namespace

std::unique_ptr<Searcher> automatic(const AutomaticOptions& options) {
  return std::make_unique<AutomaticSearcher>(options);
}

}  // namespace tune
