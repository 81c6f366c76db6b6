// What must hold of every scheduler, in random histories under the real engine: with failures, late
// and duplicate results, slots and nodes that come and go, retries, stops and interrupts.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/schedulers/builtin.hpp>

#include "engine_history.hpp"
#include "random_behaviour.hpp"
#include "scheduler_subjects.hpp"
#include "scheduler_watch.hpp"
#include "support/engine_world.hpp"
#include "support/seed.hpp"

namespace tune::test {
namespace {

std::uint64_t rounds() {
  const char* text = std::getenv("TUNE_TEST_ROUNDS");
  return text == nullptr ? TUNE_TEST_ROUNDS : std::stoull(text);
}

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

}  // namespace
}  // namespace tune::test
