#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "benchmarks/search_run.hpp"
#include "benchmarks/statistics.hpp"
#include "problem_parts.hpp"
#include "tables.hpp"

namespace tune::bench {
namespace {

using CostClock = std::chrono::steady_clock;

double seconds_since(CostClock::time_point begin) {
  return std::chrono::duration<double>(CostClock::now() - begin).count();
}

constexpr std::size_t cost_parameters = 10;

/// A searcher alone, with trials in 10 floats that are told to it.
class Subject {
 public:
  Subject(const SearcherChoice& searcher, std::uint64_t seed)
      : seed_(seed), searcher_(searcher.make()) {
    searcher_->setup({.space = &space_, .objective = Objective{.metric = "value"}, .seed = seed});
  }

  /// A trial that was drawn at random and has ended.
  void observe() {
    const TrialId id{next_++};
    Random random(seed_, "observe", id.value());
    std::vector<double> x;
    for (std::size_t i = 0; i < cost_parameters; ++i) x.push_back(random.uniform());
    const Config config(point(x));
    searcher_->on_trial_added(id, config);
    tell(id, config);
  }

  [[nodiscard]] Config ask() {
    const TrialId id{next_++};
    Suggestion suggestion = searcher_->suggest({.trial = id,
                                                .fixed = Config(),
                                                .attempt = 0,
                                                .random = Random(seed_, "searcher", id.value())});
    auto* config = std::get_if<Config>(&suggestion);
    if (config == nullptr) throw std::runtime_error("no suggestion, although no trial runs");
    searcher_->on_trial_added(id, *config);
    return std::move(*config);
  }

  void ask_and_tell() {
    const Config config = ask();
    tell(TrialId{next_ - 1}, config);
  }

  [[nodiscard]] bool wants_results() const { return searcher_->wants_results(); }

 private:
  void tell(TrialId id, const Config& config) {
    double value = 0;
    for (const double x : numbers(config, cost_parameters)) value += square(x - 0.3);
    Result result(value);
    result.metrics = {{"value", value}};
    result.done = true;
    if (searcher_->wants_results()) searcher_->on_trial_result(id, config, result);
    searcher_->on_trial_completed(id, config, result);
  }

  std::uint64_t seed_;
  SearchSpace space_ = floats(cost_parameters, 0, 1);
  std::unique_ptr<Searcher> searcher_;
  std::uint64_t next_ = 0;
};

std::int64_t allocated_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

struct Cost {
  int observations = 0;
  double first_s = 0;  ///< The first suggestion, which may build what the later ones reuse.
  std::vector<double> cycles_s;
  double bytes = 0;  ///< What the searcher holds.
};

// Many short series where a few suggestions more would change the number of observations.
Cost measure_cost(const SearcherChoice& searcher, int observations, double limit_s) {
  const int cycles = std::clamp(observations / 10, 2, 50);
  Cost cost{.observations = observations, .cycles_s = {}};
  const auto begin = CostClock::now();
  for (std::uint64_t series = 0; cost.cycles_s.size() < 50; ++series) {
    const std::int64_t before = allocated_bytes();
    Subject subject(searcher, series);
    for (int i = 0; i < observations; ++i) subject.observe();
    auto mark = CostClock::now();
    subject.ask_and_tell();
    const double first = seconds_since(mark);
    if (series == 0) {
      cost.first_s = first;
      cost.bytes = static_cast<double>(allocated_bytes() - before);
    }
    for (int i = 0; i < cycles; ++i) {
      mark = CostClock::now();
      subject.ask_and_tell();
      cost.cycles_s.push_back(seconds_since(mark));
      if (seconds_since(begin) > limit_s) return cost;
    }
  }
  return cost;
}

// `before` is the size below, if there is one: growth is told against it.
void print_cost_line(const Cost& cost, const std::optional<Cost>& before,
                     const SearcherChoice& searcher, bool prints_json) {
  const double median = interpolated_quantile(cost.cycles_s, 0.5);
  const double p90 = interpolated_quantile(cost.cycles_s, 0.9);
  std::optional<double> growth;
  std::optional<double> bytes_each;
  if (before) {
    growth = median / interpolated_quantile(before->cycles_s, 0.5);
    bytes_each = (cost.bytes - before->bytes) / (cost.observations - before->observations);
  }
  if (prints_json) {
    const Json json = {{"table", "cost"},
                       {"searcher", searcher.name},
                       {"options", searcher.options},
                       {"parameters", cost_parameters},
                       {"observations", cost.observations},
                       {"samples", cost.cycles_s.size()},
                       {"median_us", median * 1e6},
                       {"p90_us", p90 * 1e6},
                       {"first_us", cost.first_s * 1e6},
                       {"growth", growth ? Json(*growth) : Json()},
                       {"bytes", cost.bytes},
                       {"bytes_per_observation", bytes_each ? Json(*bytes_each) : Json()}};
    std::cout << json.dump() << std::endl;
    return;
  }
  std::printf("%12d  %10s  %10s  %10s  %8s  %10s\n", cost.observations,
              short_text(median * 1e6).c_str(), short_text(p90 * 1e6).c_str(),
              short_text(cost.first_s * 1e6).c_str(), growth ? short_text(*growth).c_str() : "-",
              bytes_each ? short_text(*bytes_each).c_str() : "-");
  std::fflush(stdout);
}

// Only of searchers that learn nothing: others would think of ever more trials that run.
void print_rate(const SearcherChoice& searcher, int suggestions, bool prints_json) {
  Subject subject(searcher, 0);
  if (subject.wants_results()) return;
  const auto begin = CostClock::now();
  for (int i = 0; i < suggestions; ++i) (void)subject.ask();
  const double rate = suggestions / seconds_since(begin);
  if (prints_json) {
    const Json json = {{"table", "rate"},
                       {"searcher", searcher.name},
                       {"options", searcher.options},
                       {"parameters", cost_parameters},
                       {"suggestions", suggestions},
                       {"per_second", rate}};
    std::cout << json.dump() << std::endl;
  } else {
    std::printf("%.0f suggestions a second\n", rate);
  }
}

}  // namespace

void print_cost(const BenchOptions& options) {
  // No further size once one took so long.
  const double limit_s = options.is_quick ? 0.5 : 20;
  std::vector<int> sizes = {10, 100, 1000, 10'000};
  if (options.is_quick) sizes.resize(2);
  for (const SearcherChoice& searcher : options.searchers) {
    if (!options.prints_json) {
      std::printf(
          "%s, a suggestion in %zu floats with its result told\n%12s  %10s  %10s  %10s  %8s  "
          "%10s\n",
          searcher.label().c_str(), cost_parameters, "observations", "median us", "p90 us",
          "first us", "growth", "bytes each");
    }
    Subject(searcher, 0).ask_and_tell();  // what is made once in a program is no one's cost
    std::optional<Cost> before;
    for (const int size : sizes) {
      const auto begin = CostClock::now();
      Cost cost = measure_cost(searcher, size, limit_s);
      print_cost_line(cost, before, searcher, options.prints_json);
      before = std::move(cost);
      if (seconds_since(begin) > limit_s) break;
    }
    print_rate(searcher, options.is_quick ? 1000 : 300'000, options.prints_json);
    if (!options.prints_json) std::puts("");
  }
}

}  // namespace tune::bench
