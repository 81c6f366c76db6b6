#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/schedulers/asha.hpp>
#include <tune/schedulers/fifo.hpp>
#include <tune/schedulers/pbt.hpp>
#include <tune/what_if.hpp>

#include "run_support.hpp"

namespace tune::test {
namespace {

using Catch::Contains;

Experiment descents(const TemporaryFolder& folder) {
  Experiment experiment = small_experiment(folder);
  experiment.isolation = Isolation::threads;
  experiment.space = {{"x", uniform(1.0, 9.0)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = 12;
  experiment.stop = {{"training_iteration", 9}};
  return experiment;
}

std::vector<Alternative> patient_and_hasty() {
  std::vector<Alternative> alternatives;
  alternatives.push_back({.name = "patient", .scheduler = fifo()});
  alternatives.push_back(
      {.name = "hasty", .scheduler = asha({.max_t = 9, .grace_period = 1, .reduction_factor = 3})});
  return alternatives;
}

TEST_CASE("an experiment that let all run is asked what a scheduler had saved", "[what_if]") {
  const TemporaryFolder folder;
  const ResultGrid results = tune_run<Descent>(descents(folder));
  const WhatIf table = what_if(folder.path() / "run", patient_and_hasty());
  CHECK(table.recorded.trials == 12);
  CHECK(table.recorded.compute_s > 0);
  CHECK(table.recorded.wall_s > 0);
  CHECK(table.recorded.best_trial == results.best().id);
  const WhatIfRow& patient = table.alternatives.at(0);
  CHECK(patient.compute_share == Approx(1));
  CHECK(patient.best == table.recorded.best);
  CHECK(patient.extrapolated.empty());
  const WhatIfRow& hasty = table.alternatives.at(1);
  CHECK(hasty.stopped_early > 0);
  CHECK(hasty.compute_share < 1);
  CHECK(hasty.extrapolated.empty());
  // Curves that never cross: the best at each rung is the best at the end.
  CHECK(hasty.is_same_best);
}

TEST_CASE("an experiment under ASHA has curves to be extrapolated", "[what_if]") {
  const TemporaryFolder folder;
  Experiment experiment = descents(folder);
  experiment.scheduler = asha({.max_t = 9, .grace_period = 1, .reduction_factor = 3});
  tune_run<Descent>(experiment);
  const WhatIf table = what_if(folder.path() / "run", patient_and_hasty());
  CHECK(table.recorded.stopped_early > 0);
  CHECK(table.alternatives.at(0).extrapolated_steps() > 0);
  CHECK(table.alternatives.at(0).stopped_early == 0);
}

TEST_CASE("an experiment that runs, or has died, is asked as far as it came", "[what_if]") {
  struct AskAtEnd final : Callback {
    explicit AskAtEnd(std::filesystem::path path) : path(std::move(path)) {}
    void on_trial_completed(const TrialInfo&, const TrialEnd&) override {
      tables.push_back(what_if(path, patient_and_hasty()));
    }
    std::filesystem::path path;
    std::vector<WhatIf> tables;
  };
  const TemporaryFolder folder;
  const auto callback = std::make_shared<AskAtEnd>(folder.path() / "run");
  Experiment experiment = descents(folder);
  experiment.callbacks = {callback};
  tune_run<Descent>(experiment);
  REQUIRE(callback->tables.size() == 12);
  for (const WhatIf& table : callback->tables) CHECK(table.alternatives.at(0).best);
  CHECK(callback->tables.front().recorded.trials <= callback->tables.back().recorded.trials);
}

TEST_CASE("on a cluster that is given a trial asks for what it asked for then", "[what_if]") {
  const TemporaryFolder folder;
  Experiment experiment = descents(folder);
  experiment.resources.cpu = 2;
  tune_run<Descent>(experiment);
  std::vector<Alternative> wide;
  wide.push_back({.name = "8 cores", .cluster = Cluster{.node = {.cpus = 8}}});
  const WhatIf table = what_if(folder.path() / "run", std::move(wide));
  // Four side by side.
  CHECK(table.alternatives.at(0).wall_s < table.alternatives.at(0).compute_s);
  CHECK(table.alternatives.at(0).compute_share == Approx(1));
  std::vector<Alternative> narrow;
  narrow.push_back({.name = "1 core", .cluster = Cluster{.node = {.cpus = 1}}});
  CHECK_THROWS_AS(what_if(folder.path() / "run", std::move(narrow)), std::invalid_argument);
}

TEST_CASE("an experiment whose configurations changed on the way is refused", "[what_if]") {
  const TemporaryFolder folder;
  Experiment experiment = descents(folder);
  experiment.num_samples = 4;
  experiment.scheduler = pbt({.time_attr = "training_iteration",
                              .perturbation_interval = 2,
                              .hyperparam_mutations = {{"x", uniform(1.0, 9.0)}},
                              .quantile_fraction = 0.5,
                              .synch = true});  // all wait for each other: some take over
  tune_run<Descent>(experiment);
  CHECK_THROWS_WITH(what_if(folder.path() / "run", patient_and_hasty()),
                    Contains("changed its configuration on the way"));
  CHECK_THROWS_WITH(what_if(folder.path(), patient_and_hasty()), Contains("no experiment in"));
}

}  // namespace
}  // namespace tune::test
