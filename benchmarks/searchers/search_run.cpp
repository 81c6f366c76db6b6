#include "benchmarks/search_run.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <variant>

#include <tune/random.hpp>
#include <tune/registry.hpp>

#include "engine/suggestion_source.hpp"

namespace tune::bench {
namespace {

struct RunningTrial {
  TrialId id;
  Config config;
};

class OneSearch {
 public:
  OneSearch(const Problem& problem, const SearcherChoice& searcher, const SearchRun& run)
      : problem_(problem),
        run_(run),
        source_(problem.space,
                {.objective = Objective{.metric = "value", .mode = Mode::min},
                 .seed = run.seed,
                 .num_samples = run.evaluations},
                searcher.make()),
        ends_(run.seed, "ends") {}

  [[nodiscard]] std::vector<double> best_values() && {
    while (true) {
      while (std::cmp_less(running_.size(), run_.slots) && start_one()) {
      }
      if (running_.empty()) return std::move(best_);
      const auto ending = static_cast<std::ptrdiff_t>(ends_.below(running_.size()));
      const RunningTrial trial = running_[static_cast<std::size_t>(ending)];
      running_.erase(running_.begin() + ending);
      end(trial);
    }
  }

 private:
  // False if there is nothing to start, at least until a trial has ended.
  bool start_one() {
    if (started_ == run_.evaluations) return false;
    const TrialId id(static_cast<std::uint64_t>(started_));
    Suggestion suggestion = source_.suggest(id);
    if (auto* config = std::get_if<Config>(&suggestion)) {
      running_.push_back({id, std::move(*config)});
      ++started_;
      return true;
    }
    if (std::holds_alternative<Wait>(suggestion) && running_.empty()) {
      throw std::runtime_error("it waits for a result and no trial runs");
    }
    return false;
  }

  void end(const RunningTrial& trial) {
    if (problem_.fails && problem_.fails(trial.config)) {
      source_.on_trial_failed(trial.id, trial.config, false);
    } else {
      const double value = problem_.value(trial.config);
      const double noise = Random(run_.seed, "noise", trial.id.value()).normal();
      const double told = value + problem_.noise * noise;
      if (std::isfinite(told) && told < best_told_) {
        best_told_ = told;
        best_value_ = value;
      }
      Result result(told);
      result.metrics = {{"value", told}};
      result.done = true;
      source_.on_trial_result(trial.id, trial.config, result);
      source_.on_trial_completed(trial.id, trial.config, result);
    }
    best_.push_back(best_value_);
  }

  const Problem& problem_;
  const SearchRun run_;
  engine::SuggestionSource source_;
  Random ends_;
  int started_ = 0;
  std::vector<RunningTrial> running_;
  double best_told_ = std::numeric_limits<double>::infinity();
  double best_value_ = std::numeric_limits<double>::infinity();
  std::vector<double> best_;
};

}  // namespace

std::string SearcherChoice::label() const {
  return options.empty() ? name : name + "=" + options.dump();
}

std::unique_ptr<Searcher> SearcherChoice::make() const { return make_searcher(name, options); }

std::vector<double> best_values(const Problem& problem, const SearcherChoice& searcher,
                                const SearchRun& run) {
  return OneSearch(problem, searcher, run).best_values();
}

std::vector<std::vector<double>> search_all(const Problem& problem, const SearcherChoice& searcher,
                                            const SearchRun& first, int seeds, int jobs) {
  std::vector<std::vector<double>> searches(static_cast<std::size_t>(seeds));
  run_all(seeds, jobs, [&](int i) {
    SearchRun run = first;
    run.seed += static_cast<std::uint64_t>(i);
    auto& best = searches[static_cast<std::size_t>(i)];
    best = best_values(problem, searcher, run);
    if (best.empty()) throw std::runtime_error(searcher.label() + " suggests nothing");
    best.resize(static_cast<std::size_t>(run.evaluations), best.back());
  });
  return searches;
}

std::vector<double> values_after(int evaluations,
                                 const std::vector<std::vector<double>>& searches) {
  std::vector<double> values;
  for (const auto& best : searches)
    values.push_back(best.at(static_cast<std::size_t>(evaluations - 1)));
  return values;
}

void run_all(int count, int jobs, const std::function<void(int)>& work) {
  std::atomic<int> next = 0;
  std::exception_ptr fault;
  std::mutex fault_mutex;
  const auto take_turns = [&] {
    for (int i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        next = count;
        const std::lock_guard lock(fault_mutex);
        if (!fault) fault = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 1; i < std::min(jobs, count); ++i) threads.emplace_back(take_turns);
  take_turns();
  threads.clear();  // waits for them
  if (fault) std::rethrow_exception(fault);
}

}  // namespace tune::bench
