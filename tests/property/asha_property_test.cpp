// ASHA against a naive reference that sorts whole rungs, over seeded histories of trials that take
// turns, jump, fail, report equal values and values that are not finite, while the scheduler is
// saved and restored in between.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>
#include <tune/schedulers/asha.hpp>

#include "support/limits.hpp"
#include "support/scheduler_bench.hpp"
#include "support/seed.hpp"

namespace tune {
namespace {

using test::SchedulerBench;

class NaiveAsha {
 public:
  NaiveAsha(const AshaOptions& options, Mode mode, std::uint64_t seed)
      : options_(options), mode_(mode), seed_(seed) {
    for (double m = options_.grace_period; m <= options_.max_t; m *= options_.reduction_factor) {
      milestones_.push_back(m);
    }
  }

  [[nodiscard]] std::size_t possible_brackets() const { return milestones_.size(); }

  [[nodiscard]] double next_decision(std::uint64_t id) {
    for (const double milestone : milestones_of(id)) {
      if (milestone > last_time_[id]) return milestone;
    }
    return options_.max_t;
  }

  Decision report(std::uint64_t id, double time, double value) {
    std::vector<double>* judged = nullptr;
    for (const double milestone : milestones_of(id)) {
      if (last_time_[id] < milestone && milestone <= time) {
        judged = &rungs_[{bracket_of(id), milestone}];
        judged->push_back(value);
      }
    }
    last_time_[id] = time;
    if (time >= options_.max_t) return Decision::stop;
    return judged == nullptr || is_among_best(*judged, value) ? Decision::proceed : Decision::stop;
  }

 private:
  std::size_t bracket_of(std::uint64_t id) {
    const auto [place, is_new] = brackets_.try_emplace(id);
    if (is_new) place->second = draw_bracket(id);
    return place->second;
  }

  // HyperBand's bracket with s + 1 rungs left has ceil(S / (s + 1) * eta^s) trials of S brackets.
  [[nodiscard]] std::size_t draw_bracket(std::uint64_t id) const {
    const std::size_t all = milestones_.size();
    std::vector<double> sizes;
    for (std::int64_t bracket = 0; bracket < options_.brackets; ++bracket) {
      const auto rungs = static_cast<double>(all - static_cast<std::size_t>(bracket));
      double power = 1;
      for (double i = 1; i < rungs; ++i) power *= options_.reduction_factor;
      sizes.push_back(std::ceil(static_cast<double>(all) * power / rungs));
    }
    if (sizes.size() == 1) return 0;
    double total = 0;
    for (const double size : sizes) total += size;
    double rest = Random(seed_, "scheduler", id).uniform() * total;
    for (std::size_t bracket = 0; bracket < sizes.size(); ++bracket) {
      if (rest < sizes[bracket]) return bracket;
      rest -= sizes[bracket];
    }
    return sizes.size() - 1;
  }

  [[nodiscard]] std::vector<double> milestones_of(std::uint64_t id) {
    std::vector<double> milestones;
    for (std::size_t i = bracket_of(id); i < milestones_.size(); ++i) {
      if (milestones_[i] < options_.max_t) milestones.push_back(milestones_[i]);
    }
    return milestones;
  }

  [[nodiscard]] bool is_among_best(std::vector<double> rung, double value) const {
    std::sort(rung.begin(), rung.end(),
              [this](double a, double b) { return is_better(mode_, a, b); });
    const double share = std::floor(static_cast<double>(rung.size()) / options_.reduction_factor);
    const std::size_t places = share < 1 ? 1 : static_cast<std::size_t>(share);
    return !is_better(mode_, rung[places - 1], value);
  }

  AshaOptions options_;
  Mode mode_;
  std::uint64_t seed_;
  std::vector<double> milestones_;  // up to and including max_t
  std::map<std::pair<std::size_t, double>, std::vector<double>> rungs_;
  std::map<std::uint64_t, double> last_time_;
  std::map<std::uint64_t, std::size_t> brackets_;
};

template <class T, std::size_t N>
T pick(Random& random, const T (&values)[N]) {
  return values[random.below(N)];
}

double draw_value(Random& random) {
  constexpr double special[] = {0.0, -0.0, test::inf, -test::inf, test::nan};
  switch (random.below(4)) {
    case 0:
      return static_cast<double>(random.below(5));  // often equal
    case 1:
      return pick(random, special);
    default:
      return random.normal();
  }
}

AshaOptions draw_options(Random& random, Mode mode, std::uint64_t seed) {
  AshaOptions options;
  options.time_attr = random.below(2) == 0 ? "training_iteration" : "epoch";
  options.grace_period = pick(random, {1.0, 2.0, 5.0, 0.5});
  options.max_t = options.grace_period * pick(random, {1.0, 3.0, 9.0, 20.0, 27.0, 81.0, 100.0});
  options.reduction_factor = pick(random, {1.3, 1.5, 2.0, 2.5, 3.0, 10.0 / 3, 4.0, 10.0});
  const std::size_t possible = NaiveAsha(options, mode, seed).possible_brackets();
  if (random.below(2) == 0) {
    options.brackets = 1 + static_cast<std::int64_t>(random.below(possible));
  }
  return options;
}

// Throws std::logic_error at the first difference.
void run_asha_history(std::uint64_t seed) {
  Random random(seed, "asha property");
  const Mode mode = random.below(2) == 0 ? Mode::min : Mode::max;
  const AshaOptions options = draw_options(random, mode, seed);
  const bool is_whole = options.time_attr == "training_iteration";
  SchedulerBench bench(asha(options), mode, seed);
  NaiveAsha naive(options, mode, seed);
  std::map<std::uint64_t, double> times;  // of live trials
  std::uint64_t next_id = 0;
  const std::uint64_t trials = 1 + random.below(40);
  const std::uint64_t slots = 1 + random.below(8);

  while (next_id < trials || !times.empty()) {
    if (random.below(50) == 0) bench.restore_into(asha(options));
    while (next_id < trials && times.size() < slots) {
      times[next_id] = 0;
      bench.add(next_id++);
    }
    const auto place =
        std::next(times.begin(), static_cast<std::ptrdiff_t>(random.below(times.size())));
    const std::uint64_t id = place->first;
    if (bench.horizon(id) != naive.next_decision(id)) {
      throw std::logic_error("trial " + std::to_string(id) + ": another horizon");
    }
    if (random.below(100) == 0) {
      bench.fail(id);
      times.erase(place);
      continue;
    }
    double& time = place->second;
    time += is_whole ? 1 : (random.uniform() + 0.1) * options.grace_period;
    if (random.below(5) == 0) time += static_cast<double>(random.below(30));
    const double value = draw_value(random);
    const Decision expected = naive.report(id, time, value);
    if (bench.report(id, time, value) != expected) {
      throw std::logic_error("trial " + std::to_string(id) + " at " + std::to_string(time) +
                             ": want " + std::string(to_string(expected)));
    }
    if (expected == Decision::stop) {
      if (bench.explanation(id).empty()) throw std::logic_error("a stop without its evidence");
      times.erase(place);
    }
  }
}

TEST_CASE("ASHA decides as a naive reference over seeded histories", "[asha]") {
  const bool is_replay = std::getenv("TUNE_TEST_SEED") != nullptr;
  const std::uint64_t first = test::test_seed(1);
  const std::uint64_t histories = is_replay ? 1 : 2000;
  for (std::uint64_t seed = first; seed < first + histories; ++seed) {
    INFO("TUNE_TEST_SEED=" << seed);
    REQUIRE_NOTHROW(run_asha_history(seed));
  }
}

}  // namespace
}  // namespace tune
