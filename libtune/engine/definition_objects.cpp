#include <stdexcept>
#include <utility>

#include "engine/definition.hpp"

namespace tune::engine {
namespace {

/// Stands in an Experiment where a scheduler was that a run has taken: a second run must not
/// quietly go on without it.
class TakenScheduler final : public TrialScheduler {
 public:
  explicit TakenScheduler(Json options) : options_(std::move(options)) {}
  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
    throw std::logic_error("this scheduler was given to a run");
  }
  [[nodiscard]] Json options() const override { return options_; }

 private:
  Json options_;
};

/// The same for a searcher.
class TakenSearcher final : public Searcher {
 public:
  explicit TakenSearcher(Json options) : options_(std::move(options)) {}
  void setup(const SearcherSetup&) override { throw_taken(); }
  Suggestion suggest(const SuggestionRequest&) override { throw_taken(); }
  [[nodiscard]] Json options() const override { return options_; }

 private:
  [[noreturn]] static void throw_taken() {
    throw std::logic_error("this searcher was given to a run");
  }
  Json options_;
};

}  // namespace

void refuse_taken(const Experiment& experiment) {
  const auto refuse = [](const std::string& what, const Json& options) {
    throw std::invalid_argument(what + " " + name_in(options) +
                                ": it was given to a run before, and an object serves one run; "
                                "give the experiment a new one");
  };
  if (dynamic_cast<const TakenScheduler*>(experiment.scheduler.get()) != nullptr) {
    refuse("scheduler", experiment.scheduler->options());
  }
  if (dynamic_cast<const TakenSearcher*>(experiment.searcher.get()) != nullptr) {
    refuse("searcher", experiment.searcher->options());
  }
}

std::unique_ptr<TrialScheduler> take_scheduler(Experiment& experiment) {
  return std::exchange(experiment.scheduler,
                       std::make_unique<TakenScheduler>(experiment.scheduler->options()));
}

std::unique_ptr<SuggestionSource> take_searcher(Experiment& experiment,
                                                const ExperimentInfo& info) {
  const Json options = experiment.searcher->options();
  auto source = std::make_unique<SuggestionSource>(
      experiment.space, suggestion_options(experiment, info), std::move(experiment.searcher));
  experiment.searcher = std::make_unique<TakenSearcher>(options);
  return source;
}

DefaultsFilled::DefaultsFilled(Experiment& experiment, std::unique_ptr<TrialScheduler> scheduler,
                               std::unique_ptr<Searcher> searcher)
    : experiment_(experiment),
      has_own_scheduler_(experiment.scheduler != nullptr),
      has_own_searcher_(experiment.searcher != nullptr) {
  if (!has_own_scheduler_) experiment.scheduler = std::move(scheduler);
  if (!has_own_searcher_) experiment.searcher = std::move(searcher);
}

DefaultsFilled::~DefaultsFilled() {
  if (!has_own_scheduler_) experiment_.scheduler.reset();
  if (!has_own_searcher_) experiment_.searcher.reset();
}

}  // namespace tune::engine
