// Schedulers that pause, clone and resume, under the real engine: cases that can be read, and
// random histories with failures, in which every event is checked and none may be left stranded.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/schedulers/median_stopping.hpp>
#include <tune/schedulers/pb2.hpp>
#include <tune/schedulers/pbt.hpp>
#include <tune/schedulers/pbt_replay.hpp>

#include "random_behaviour.hpp"
#include "support/engine_world.hpp"
#include "support/seed.hpp"
#include "support/trial_log.hpp"

namespace tune::test {
namespace {

/// Training whose score is that of its configuration, and which may end or fail at a step.
class PlainTraining final : public TrialBehaviour {
 public:
  std::map<std::uint64_t, std::int64_t> ends_after;
  std::map<std::uint64_t, std::int64_t> fails_at;

  StepOutcome setup(const engine::Launch&) override { return {.seconds = 0.1}; }
  StepOutcome step(const engine::Launch& launch, std::int64_t iteration) override {
    StepOutcome outcome;
    const std::uint64_t id = launch.trial.value();
    if (ends_after.contains(id) && iteration > ends_after.at(id)) {
      outcome.kind = StepOutcome::Kind::end;
    } else if (fails_at.contains(id) && iteration == fails_at.at(id)) {
      outcome.kind = StepOutcome::Kind::fail;
      outcome.message = "on purpose";
    } else {
      outcome.metrics = {{"score", launch.config["x"].get<double>()}};
    }
    return outcome;
  }
};

WorldOptions world_of(std::uint64_t trials, std::int64_t slots, double max_t) {
  WorldOptions options;
  options.engine.objective = Objective{"score", Mode::max};
  options.engine.max_concurrent = slots;
  options.engine.stop = StopCriteria{{"training_iteration", max_t}};
  options.engine.trainable_checkpoints = true;
  options.engine.checkpoint = {.every = 0, .keep = 1};
  options.searcher.suggest = [trials](TrialId id) -> SearcherModel::Answer {
    if (id.value() >= trials) return Exhausted{};
    return Config(Json{{"x", static_cast<double>(id.value() + 1)}});
  };
  return options;
}

/// Runs it on one node; the books.
std::map<TrialId, TrialLog> run_world(const WorldOptions& options,
                                      std::unique_ptr<TrialScheduler> scheduler,
                                      std::unique_ptr<TrialBehaviour> behaviour) {
  EngineWorld world(options, std::move(scheduler), std::move(behaviour));
  world.at(0, [&world] { world.join(NodeId{0}, "node", ResourceAmounts(Resources{.cpu = 16})); });
  world.run();
  CHECK(world.books().end()->error.empty());
  CHECK(world.books().end()->unfinished_trials == 0);
  return world.books().trials();
}

PbtOptions pbt_every(double interval, bool synch) {
  PbtOptions options;
  options.time_attr = "training_iteration";
  options.perturbation_interval = interval;
  options.hyperparam_mutations = {{"x", uniform(0, 100)}};
  options.synch = synch;
  return options;
}

/// The exchanges on record, by receiver.
std::map<TrialId, std::vector<Json>> exchanges_in(const std::map<TrialId, TrialLog>& trials) {
  std::map<TrialId, std::vector<Json>> exchanges;
  for (const auto& [id, trial] : trials) {
    for (const core::Exploit& exploit : trial.exploits) {
      exchanges[id].push_back(core::exploit_json(exploit));
    }
  }
  return exchanges;
}

std::size_t count(const std::map<TrialId, std::vector<Json>>& exchanges) {
  std::size_t sum = 0;
  for (const auto& [id, records] : exchanges) sum += records.size();
  return sum;
}

TEST_CASE("SC-12: clones find what they take over, with one checkpoint kept and few slots",
          "[SC-12]") {
  for (const bool synch : {false, true}) {
    CAPTURE(synch);
    // Loading what is not there is a fault of the world.
    const auto trials =
        run_world(world_of(4, 2, 60), pbt(pbt_every(2, synch)), std::make_unique<PlainTraining>());
    CHECK(count(exchanges_in(trials)) >= 20);
    for (const auto& [id, trial] : trials) {
      CHECK(trial.state == TrialState::terminated);
      CHECK(trial.line.size() == 60);
      CHECK(trial.checkpoints.size() <= 1);
      CHECK(trial.failures == 0);
    }
  }
}

TEST_CASE("SC-13: synchronous members do not wait for one that has ended or failed", "[SC-13]") {
  auto returns = std::make_unique<PlainTraining>();
  returns->ends_after[1] = 4;
  auto fails = std::make_unique<PlainTraining>();
  fails->fails_at[3] = 7;  // the best, and so a donor before
  for (auto* training : {&returns, &fails}) {
    const bool is_failing = training == &fails;
    CAPTURE(is_failing);
    const auto trials =
        run_world(world_of(4, 4, 20), pbt(pbt_every(5, true)), std::move(*training));
    for (const auto& [id, trial] : trials) {
      const bool is_lost = id == TrialId{is_failing ? 3U : 1U};
      CHECK(trial.line.size() == (is_lost ? (is_failing ? 6U : 4U) : 20U));
    }
    const auto exchanges = exchanges_in(trials);
    CHECK(count(exchanges) == 3);
    for (const auto& [id, records] : exchanges) {
      for (const Json& record : records) {
        const auto step = record.at("step").get<int>();
        CHECK((step == 5 || step == 10 || step == 15));
        if (is_failing && step > 5) CHECK(record.at("donor") != 3);
      }
    }
  }
}

TEST_CASE("SC-17: synchronous, the burn-in is longer than the interval", "[SC-17]") {
  PbtOptions options = pbt_every(4, true);
  options.burn_in_period = 10;
  const auto trials =
      run_world(world_of(4, 4, 20), pbt(options), std::make_unique<PlainTraining>());
  std::vector<int> steps;
  for (const auto& [id, records] : exchanges_in(trials)) {
    for (const Json& record : records) steps.push_back(record.at("step").get<int>());
  }
  std::sort(steps.begin(), steps.end());
  CHECK(steps == std::vector<int>{10, 14, 18});
  for (const auto& [id, trial] : trials) CHECK(trial.line.size() == 20);
}

TEST_CASE("SC-18: the records of the exchanges tell who got what, from whom, when", "[SC-18]") {
  const auto trials =
      run_world(world_of(4, 4, 24), pbt(pbt_every(5, true)), std::make_unique<PlainTraining>());
  CHECK(trials.size() == 4);
  const auto exchanges = exchanges_in(trials);
  REQUIRE(count(exchanges) == 4);
  for (const auto& [id, records] : exchanges) {
    const TrialLog& trial = trials.at(id);
    for (const Json& record : records) {
      CHECK(record.at("trial") == id.value());
      CHECK(record.at("step") == record.at("checkpoint"));  // synchronous: as far as the donor
      const auto step = record.at("step").get<std::int64_t>();
      const auto clone = std::find_if(trial.launches.begin(), trial.launches.end(),
                                      [&](const engine::Launch& launch) {
                                        return launch.start_iteration == step && launch.adopt_as;
                                      });
      REQUIRE(clone != trial.launches.end());
      CHECK(clone->config.json() == record.at("config"));
      CHECK(clone->checkpoint->trial_name ==
            trials.at(TrialId{record.at("donor").get<std::uint64_t>()}).name);
      // The row after it is of the new configuration.
      const Result& after = trial.line.at(static_cast<std::size_t>(step));
      CHECK(after.metrics.at("score").as_double() == record.at("config").at("x"));
      const Result& before = trial.line.at(static_cast<std::size_t>(step) - 1);
      CHECK(before.metrics.at("score").as_double() == record.at("old").at("x"));
    }
  }
}

TEST_CASE("a policy found by PBT is replayed on one trial", "[pbt_replay]") {
  const auto found =
      run_world(world_of(4, 4, 24), pbt(pbt_every(5, false)), std::make_unique<PlainTraining>());
  Json records = Json::array();
  for (const auto& [id, exchanges] : exchanges_in(found)) {
    for (const Json& record : exchanges) records.push_back(record);
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const Json& a, const Json& b) { return a.at("step") < b.at("step"); });
  REQUIRE_FALSE(records.empty());
  const TrialId trial{records.back().at("trial").get<std::uint64_t>()};
  const Json policy = pbt_policy(records, trial);
  REQUIRE(policy.size() > 1);

  WorldOptions options = world_of(1, 1, 24);
  options.searcher.suggest = [&policy](TrialId id) -> SearcherModel::Answer {
    if (id.value() > 0) return Exhausted{};
    return Config(policy.at(0).at("config"));
  };
  const auto replayed =
      run_world(options, pbt_replay({.policy = policy}), std::make_unique<PlainTraining>());
  const std::vector<Result>& line = replayed.at(TrialId{0}).line;
  REQUIRE(line.size() == 24);
  for (std::size_t step = 0; step < line.size(); ++step) {
    Json in_force;
    for (const Json& entry : policy) {
      if (entry.at("step").get<std::size_t>() <= step) in_force = entry.at("config");
    }
    CHECK(line[step].metrics.at("score").as_double() == in_force.at("x").get<double>());
  }
}

// --- random histories

std::unique_ptr<TrialScheduler> draw_scheduler_that_pauses(Random& random) {
  const auto interval = static_cast<double>(1 + random.below(4));
  const bool is_soft = random.below(2) == 0;
  switch (random.below(8)) {
    case 0:
      return pb2({.time_attr = "training_iteration",
                  .perturbation_interval = interval,
                  .hyperparam_bounds = {{"x", {0, 12}}},
                  .quantile_fraction = 0.5,
                  .synch = is_soft});
    case 1:
    case 2:
      return median_stopping(
          {.time_attr = "training_iteration",
           .grace_period = static_cast<double>(random.below(4)),
           .min_samples_required = 1 + static_cast<std::int64_t>(random.below(4)),
           .min_time_slice = is_soft ? interval : 0,
           .hard_stop = random.below(2) == 0});
    default: {
      PbtOptions options = pbt_every(interval, random.below(2) == 0);
      options.burn_in_period = static_cast<double>(random.below(6));
      options.quantile_fraction = 0.5 * random.uniform();
      return pbt(options);
    }
  }
}

void check_pausing_history(std::uint64_t seed,
                           const std::function<void(const std::string&)>& trace) {
  Random random(seed, "pausing schedulers");
  const std::uint64_t count = random.below(12);
  WorldOptions options = world_of(count, 1 + static_cast<std::int64_t>(random.below(5)), 12);
  options.seed = seed;
  options.engine.seed = seed;
  options.engine.strict_metric = false;
  options.engine.max_failures = static_cast<std::int64_t>(random.below(4)) - 1;
  options.engine.checkpoint.keep = 1 + static_cast<std::int64_t>(random.below(2));
  options.engine.checkpoint.every = static_cast<std::int64_t>(random.below(3));
  if (random.below(2) == 0) options.engine.retry_pause = Time(random.uniform() * 5);
  options.network.max_delay_s = random.below(2) == 0 ? 0.001 : 1;
  options.network.duplicate_chance = 0.1;
  options.searcher.max_delay_s = random.below(2) == 0 ? 0.001 : 3;
  options.searcher.wait_chance = random.below(3) == 0 ? 0.5 : 0;
  options.saves_before_it_waits = random.below(2) == 0;
  options.trace = trace;
  const bool is_calm = random.below(4) == 0;
  RandomBehaviourOptions behaviour;
  behaviour.seed = seed;
  if (!is_calm) {
    behaviour.setup_failure = 0.05;
    behaviour.load_failure = 0.1;
    behaviour.damage = random.below(3) == 0 ? 0.1 : 0;
    behaviour.step_failure = 0.05;
    behaviour.save_failure = 0.1;
    behaviour.invalid_step = 0.01;
    behaviour.not_finite = 0.2;
    behaviour.missing = 0.1;
    behaviour.dies_waiting = 0.05;
    behaviour.max_slowness = 2;
  }
  EngineWorld world(options, draw_scheduler_that_pauses(random), random_behaviour(behaviour));
  const bool loses_nodes = random.below(3) == 0;
  world.at(0, [&world] { world.join(NodeId{0}, "a", ResourceAmounts(Resources{.cpu = 2})); });
  world.at(1, [&world] { world.join(NodeId{1}, "b", ResourceAmounts(Resources{.cpu = 3})); });
  if (loses_nodes) {
    world.at(3 + 10 * random.uniform(), [&world] {
      if (!world.engine().is_finished()) world.leave(NodeId{1});
    });
  }
  world.run();
  const ExperimentEnd& end = *world.books().end();
  if (!end.error.empty()) throw std::logic_error("broken off: " + end.error);
  if (end.unfinished_trials > 0) throw std::logic_error("some are unfinished");
  if (world.books().trials().size() != count) throw std::logic_error("too few trials");
  for (const auto& [id, trial] : world.books().trials()) {
    if (trial.reason.find("by the scheduler") != std::string::npos) {
      throw std::logic_error("trial " + std::to_string(id.value()) + ": " + trial.reason);
    }
  }
}

TEST_CASE("no trial is stranded by a scheduler that pauses, whatever fails", "[pbt]") {
  if (std::getenv("TUNE_TEST_SEED") != nullptr) {
    check_pausing_history(test_seed(0), [](const std::string& line) { std::cout << line << '\n'; });
    return;
  }
  const char* text = std::getenv("TUNE_TEST_ROUNDS");
  const std::uint64_t rounds = text == nullptr ? TUNE_TEST_ROUNDS : std::stoull(text);
  for (std::uint64_t seed = 1; seed <= rounds / 4; ++seed) {
    INFO("TUNE_TEST_SEED=" << seed);
    REQUIRE_NOTHROW(check_pausing_history(seed, {}));
  }
}

}  // namespace
}  // namespace tune::test
