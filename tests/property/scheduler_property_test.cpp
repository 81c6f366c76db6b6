// What must hold of every scheduler, in random histories under the real engine: with failures, late
// and duplicate results, slots and nodes that come and go, retries, stops and interrupts.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>
#include <tune/registry.hpp>
#include <tune/schedulers/builtin.hpp>

#include "engine_history.hpp"
#include "random_behaviour.hpp"
#include "scheduler_watch.hpp"
#include "support/engine_world.hpp"
#include "support/limits.hpp"
#include "support/scheduler_bench.hpp"
#include "support/seed.hpp"

namespace tune::test {
namespace {

struct Subject {
  std::string name;
  Json options = Json::object();
  RungRule rungs = RungRule::none;
};

// Every scheduler there is, a line each, and more for options that change much.
std::vector<Subject> subjects() {
  register_builtin_schedulers();
  const Json asha = {{"name", "asha"}, {"max_t", 9}, {"reduction_factor", 3}};
  const Json pasha = {{"name", "pasha"}, {"max_t", 9}, {"reduction_factor", 2}};
  const Json promoting = {
      {"name", "asha"}, {"type", "promotion"}, {"max_t", 9}, {"reduction_factor", 3}};
  const Json median = {{"time_attr", "training_iteration"},
                       {"grace_period", 1},
                       {"min_samples_required", 1},
                       {"min_time_slice", 2}};
  const auto soft = [&median] {
    Json options = median;
    options["hard_stop"] = false;
    return options;
  };
  const auto population = [](bool synch) {
    return Json{{"time_attr", "training_iteration"},
                {"perturbation_interval", 2},
                {"quantile_fraction", 0.5},
                {"hyperparam_mutations", {{"x", {{"kind", "randint"}, {"low", 0}, {"high", 12}}}}},
                {"synch", synch}};
  };
  return {
      {"fifo"},
      {"asha", {{"max_t", 9}, {"reduction_factor", 3}}, RungRule::stops},
      {"asha", {{"max_t", 8}, {"reduction_factor", 2}, {"brackets", 2}}},
      {"asha", {{"type", "promotion"}, {"max_t", 9}, {"reduction_factor", 3}}, RungRule::promotes},
      {"asha", {{"type", "promotion"}, {"max_t", 8}, {"reduction_factor", 2}, {"brackets", 3}}},
      {"async_hyperband", {{"max_t", 9}, {"reduction_factor", 3}, {"brackets", 2}}},
      {"hyperband", {{"max_t", 9}, {"reduction_factor", 3}}},
      {"hyperband", {{"max_t", 7}, {"reduction_factor", 2}}},
      {"bohb", {{"max_t", 9}, {"reduction_factor", 3}}},
      {"successive_halving", {{"max_t", 8}, {"reduction_factor", 2}, {"n", 6}}},
      {"median_stopping", median},
      {"median_stopping", soft()},
      {"pbt", population(false)},
      {"pbt", population(true)},
      {"pb2",
       {{"time_attr", "training_iteration"},
        {"perturbation_interval", 3},
        {"quantile_fraction", 0.5},
        {"hyperparam_bounds", {{"x", {0, 12}}}}}},
      {"pasha", {{"max_t", 9}, {"reduction_factor", 2}}, RungRule::promotes},
      {"pasha",
       {{"max_t", 7}, {"reduction_factor", 1.5}, {"time_attr", "epoch"}, {"ranked_trials", 3}},
       RungRule::promotes},
      {"pasha",
       {{"max_t", 12}, {"reduction_factor", 2}, {"ranking_criterion", "soft_ranking_std"}},
       RungRule::promotes},
      {"resource_changing"},
      {"resource_changing", {{"base", asha}}, RungRule::stops},
      {"resource_changing", {{"base", pasha}, {"increase_by_times", 2}}, RungRule::promotes},
      {"resource_changing", {{"base", promoting}}, RungRule::promotes},
  };
}

std::uint64_t rounds() {
  const char* text = std::getenv("TUNE_TEST_ROUNDS");
  return text == nullptr ? TUNE_TEST_ROUNDS : std::stoull(text);
}

std::string describe(const Subject& subject) { return subject.name + ' ' + subject.options.dump(); }

// What is wrong with a history as a whole.
std::string fault_at_end(const Subject& subject, const History& history) {
  for (const auto& [id, trial] : history.trials) {
    if (subject.rungs == RungRule::promotes) break;  // what is left was not to be promoted
    if (trial.reason != "left paused by the scheduler") continue;
    return "trial " + std::to_string(id.value()) + " is left paused";
  }
  if (history.may_end_early) return "";
  if (!history.end.error.empty()) return "it ended by an error: " + history.end.error;
  if (history.end.unfinished_trials > 0) return "trials are left unfinished";
  return history.trials.size() == history.expected_trials ? "" : "not all trials were tried";
}

// Throws std::logic_error at what is broken.
void run_watched(const Subject& subject, std::uint64_t seed,
                 const std::function<void(const std::string&)>& trace = {}) {
  Faults faults;
  const auto make = [&] { return make_scheduler(subject.name, subject.options); };
  const History history = run_history(
      seed, [&] { return watched(make, subject.rungs, seed, faults); }, trace);
  if (!faults.empty()) throw std::logic_error(faults.front());
  const std::string fault = fault_at_end(subject, history);
  if (!fault.empty()) throw std::logic_error(fault);
}

TEST_CASE("every scheduler keeps its rules in random histories", "[schedulers]") {
  const bool is_replay = std::getenv("TUNE_TEST_SEED") != nullptr;
  const std::uint64_t first = test_seed(1);
  const std::uint64_t histories = is_replay ? 1 : rounds() / 5;
  for (const Subject& subject : subjects()) {
    for (std::uint64_t seed = first; seed < first + histories; ++seed) {
      INFO(describe(subject) << " TUNE_TEST_SEED=" << seed);
      REQUIRE_NOTHROW(run_watched(subject, seed));
    }
  }
}

// The grants of a trial in its launches, in a calm world with one node of 8 cores.
std::map<std::string, std::vector<std::string>> grants_by_trial(std::uint64_t seed) {
  std::map<std::string, std::vector<std::string>> grants;
  WorldOptions options;
  options.seed = seed;
  options.engine.trainable_checkpoints = true;
  options.engine.max_trials = 4;
  options.engine.seed = seed;
  options.searcher.suggest = [](TrialId id) { return Config(Json{{"x", id.value()}}); };
  options.trace = [&grants](const std::string& line) {
    if (line.find("-> launch ") == std::string::npos) return;
    const std::size_t trial = line.find(" trial=") + 7;
    const std::size_t grant = line.find(" grant=\"") + 8;
    grants[line.substr(trial, line.find(' ', trial) - trial)].push_back(
        line.substr(grant, line.find('"', grant) - grant));
  };
  EngineWorld world(options, make_scheduler("resource_changing"),
                    random_behaviour({.seed = seed, .max_length = 60}));
  world.at(0, [&world] { world.join(NodeId{0}, "node", ResourceAmounts(Resources{.cpu = 8})); });
  world.run();
  return grants;
}

TEST_CASE("trials share a node as others end, and the last has all of it", "[schedulers]") {
  register_builtin_schedulers();
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    bool had_all = false;
    for (const auto& [trial, grants] : grants_by_trial(seed)) {
      CHECK(grants.front() == "1 cpu");
      had_all = had_all || grants.back() == "8 cpu";
      seen.insert(grants.begin(), grants.end());
    }
    if (had_all) seen.insert("all");
  }
  CHECK(seen == std::set<std::string>{"1 cpu", "2 cpu", "4 cpu", "8 cpu", "all"});
}

/// What a scheduler said, by trial and time.
using Decisions = std::map<std::pair<std::uint64_t, int>, std::string>;

// Trials that run side by side, a result a round each. Where nothing is decided, results come in
// any order; `shuffle` says in which.
Decisions run_rounds(const Subject& subject, std::uint64_t seed, std::uint64_t shuffle) {
  SchedulerBench bench(make_scheduler(subject.name, subject.options), Mode::max, seed);
  Random chance(seed, "rounds");
  const std::uint64_t trials = 2 + chance.below(10);
  std::map<std::uint64_t, int> running;  // what each reported last
  for (std::uint64_t id = 0; id < trials; ++id) {
    bench.add(id);
    running[id] = 0;
  }
  Decisions decisions;
  for (int round = 1; round <= 40 && !running.empty(); ++round) {
    std::vector<std::uint64_t> undecided;
    std::vector<std::uint64_t> order;
    for (const auto& [id, time] : running) {
      (time + 1 < bench.horizon(id) ? undecided : order).push_back(id);
    }
    Random dice(shuffle, "order", seed, static_cast<std::uint64_t>(round));
    for (std::size_t i = undecided.size(); i > 1; --i) {
      std::swap(undecided[i - 1], undecided[dice.below(i)]);
    }
    order.insert(order.begin(), undecided.begin(), undecided.end());
    for (const std::uint64_t id : order) {
      const int time = ++running[id];
      Random value(seed, "value", id, static_cast<std::uint64_t>(time));
      const Decision decision = bench.report(id, time, value.below(9) == 0 ? nan : value.uniform());
      if (decision != Decision::proceed) running.erase(id);
      std::string& text = decisions[{id, time}];
      text = to_string(decision);
      if (decision != Decision::proceed) text += ": " + bench.explanation(id);
    }
    for (std::optional<std::uint64_t> chosen; (chosen = bench.choose());) {
      running[*chosen] = bench.last_iteration(*chosen);
      decisions[{*chosen, -round}] = "chosen";
    }
  }
  return decisions;
}

TEST_CASE("the order of simultaneous results about which nothing is decided does not matter",
          "[schedulers]") {
  for (const Subject& subject : subjects()) {
    if (subject.options.contains("time_attr")) continue;
    for (std::uint64_t seed = 1; seed <= rounds() / 20; ++seed) {
      INFO(describe(subject) << " seed " << seed);
      const Decisions decisions = run_rounds(subject, seed, 0);
      REQUIRE(run_rounds(subject, seed, 1) == decisions);
      REQUIRE(run_rounds(subject, seed, 2) == decisions);
    }
  }
}

}  // namespace
}  // namespace tune::test
