#include <tune/what_if.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/schedulers/asha.hpp>
#include <tune/schedulers/fifo.hpp>
#include <tune/schedulers/pbt.hpp>
#include <tune/searchers/random.hpp>
#include <tune/simulate.hpp>

namespace tune::test {
namespace {

using Catch::Contains;

using Losses = std::vector<std::vector<double>>;

// By hand under ASHA with reduction factor 2, one after the other: 0 and 1 pass the rungs at 1 and
// 2, 2 is the worst at 1, 3 is the second of three at 2.
const Losses four_curves = {
    {0.9, 0.8, 0.7, 0.6}, {0.5, 0.4, 0.3, 0.2}, {0.95, 0.94, 0.93, 0.92}, {0.6, 0.5, 0.45, 0.4}};

/// Steps take a second; a curve's end is the trial's.
CurveTable table_of(const Losses& losses) {
  CurveTable table;
  for (const std::vector<double>& values : losses) {
    CurveTable::Curve curve;
    for (const double loss : values) curve.push_back({.metrics = {{"loss", loss}}});
    table.add(std::move(curve));
  }
  return table;
}

Experiment curves_experiment(std::size_t trials) {
  Experiment experiment;
  experiment.searcher = random_search();
  experiment.space = {{"x", uniform(0, 1)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = static_cast<std::int64_t>(trials);
  experiment.seed = 1;
  return experiment;
}

std::unique_ptr<TrialScheduler> halving() {
  return asha({.max_t = 4, .grace_period = 1, .reduction_factor = 2});
}

ResultGrid record(const Losses& losses, std::unique_ptr<TrialScheduler> scheduler = fifo()) {
  Experiment experiment = curves_experiment(losses.size());
  experiment.scheduler = std::move(scheduler);
  return simulate(experiment, {}, curve_table(table_of(losses))).results;
}

WhatIf ask(const ResultGrid& grid, Alternative alternative, const WhatIfOptions& options = {}) {
  std::vector<Alternative> alternatives;
  alternatives.push_back(std::move(alternative));
  return what_if(grid, std::move(alternatives), options);
}

TEST_CASE("a scheduler that stops sooner has the same best for less", "[what_if]") {
  const WhatIf table = ask(record(four_curves), {.name = "asha", .scheduler = halving()});
  CHECK(table.recorded.compute_s == Approx(16));
  CHECK(table.recorded.wall_s == Approx(16));
  CHECK(table.recorded.stopped_early == 0);
  REQUIRE(table.alternatives.size() == 1);
  const WhatIfRow& row = table.alternatives[0];
  CHECK(row.compute_s == Approx(4 + 4 + 1 + 2));
  CHECK(row.compute_share == Approx(11.0 / 16));
  CHECK(row.wall_s == Approx(11));
  CHECK(row.stopped_early == 2);
  CHECK(row.best == 0.2);
  CHECK(row.best_trial == TrialId{1});
  CHECK(row.is_same_best);
  CHECK(row.extrapolated.empty());
}

TEST_CASE("curves that were cut short are extrapolated, and the table says where", "[what_if]") {
  const WhatIf table =
      ask(record(four_curves, halving()), {.name = "patient", .scheduler = fifo()});
  CHECK(table.recorded.compute_s == Approx(11));
  CHECK(table.recorded.stopped_early == 2);
  const WhatIfRow& row = table.alternatives.at(0);
  CHECK(row.compute_s == Approx(16));
  CHECK(row.stopped_early == 0);
  CHECK(row.is_same_best);
  CHECK_FALSE(row.is_best_extrapolated);
  CHECK(row.extrapolated_steps() == 3 + 2);
  REQUIRE(row.extrapolated.size() == 2);
  CHECK(row.extrapolated[0].trial == TrialId{2});
  CHECK(row.extrapolated[0].recorded == 1);
  CHECK(row.extrapolated[0].reached == 4);
  CHECK(row.extrapolated[1].trial == TrialId{3});
  CHECK(row.extrapolated[1].recorded == 2);
  std::ostringstream text;
  table.print(text);
  CHECK_THAT(text.str(),
             Contains("patient: extrapolated trial 2 from 1 to 4, trial 3 from 2 to 4") &&
                 Contains("extrapolated: the last value again"));
}

TEST_CASE("a power law goes on where a curve of one was cut", "[what_if]") {
  std::vector<double> values;
  for (int t = 1; t <= 16; ++t) values.push_back(1 + 2 / std::sqrt(t));
  Experiment experiment = curves_experiment(1);
  experiment.time_budget = Time(8);
  const ResultGrid grid = simulate(experiment, {}, curve_table(table_of({values}))).results;
  const std::int64_t recorded = grid[0].training_iteration;
  REQUIRE(recorded < 16);
  const WhatIf law = ask(grid, {.name = "on", .scheduler = fifo()},
                         {.extrapolation = Extrapolation::power_law, .length = 16});
  const WhatIfRow& row = law.alternatives.at(0);
  CHECK(row.best.value() == Approx(1.5));
  CHECK(row.is_best_extrapolated);
  CHECK(row.extrapolated_steps() == 16 - recorded);
  const WhatIf last = ask(grid, {.name = "on", .scheduler = fifo()}, {.length = 16});
  CHECK(last.alternatives.at(0).best == values[static_cast<std::size_t>(recorded - 1)]);
}

TEST_CASE("another cluster takes another time for the same work", "[what_if]") {
  Alternative wide{.name = "4 machines", .cluster = Cluster{.nodes = 4}};
  const WhatIf table = ask(record(four_curves), std::move(wide));
  const WhatIfRow& row = table.alternatives.at(0);
  CHECK(row.compute_share == Approx(1));
  CHECK(row.wall_s == Approx(4));
  CHECK(Json::parse(row.scheduler).at("name") == "fifo");  // the recorded one

  Cluster slow_start;
  slow_start.startup_s = 10;
  const WhatIf slow = ask(record(four_curves), {.name = "slow", .cluster = slow_start});
  CHECK(slow.alternatives.at(0).wall_s == Approx(16 + 4 * 10));
}

TEST_CASE("without a cluster as many trials run as did then", "[what_if]") {
  Experiment experiment = curves_experiment(4);
  Cluster cluster;
  cluster.node.cpus = 2;
  const ResultGrid grid = simulate(experiment, cluster, curve_table(table_of(four_curves))).results;
  const WhatIf table = ask(grid, {.name = "again"});
  CHECK(table.recorded.wall_s == Approx(8));
  CHECK(table.alternatives.at(0).wall_s == Approx(8));
}

TEST_CASE("another seed is another order of the configurations", "[what_if]") {
  const ResultGrid grid = record(four_curves);
  std::vector<Alternative> alternatives;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    alternatives.push_back(
        {.name = "seed " + std::to_string(seed), .scheduler = halving(), .seed = seed});
  }
  const WhatIf table = what_if(grid, std::move(alternatives));
  std::set<double> seen;
  for (const WhatIfRow& row : table.alternatives) {
    seen.insert(row.compute_s);
    CHECK(row.trials == 4);
    CHECK(row.best_trial == TrialId{1});  // the best at each rung, whenever it comes
  }
  CHECK(seen.size() > 1);
  CHECK(ask(grid, {.name = "a", .scheduler = halving(), .seed = 7}).alternatives.at(0).compute_s ==
        table.alternatives.at(7).compute_s);
}

TEST_CASE("who failed fails again, at the same iteration", "[what_if]") {
  Experiment experiment = curves_experiment(2);
  const auto work = curve_model([](const Config& config, std::int64_t iteration) -> SimulatedStep {
    const double x = config["x"].get<double>();
    if (iteration == 3 && x < 0.5) return {.seconds = 0, .failure = "boom"};
    return {.metrics = {{"loss", x}}, .done = iteration == 4};
  });
  experiment.points_to_evaluate = {{{"x", 0.25}}, {{"x", 0.75}}};
  const ResultGrid grid = simulate(experiment, {}, work).results;
  REQUIRE(grid[0].state == TrialState::error);
  CHECK(grid[0].error == "boom");
  const WhatIf table = ask(grid, {.name = "again"});
  CHECK(table.recorded.failed == 1);
  CHECK(table.alternatives.at(0).failed == 1);
  CHECK(table.alternatives.at(0).compute_s == Approx(2 + 4));
  CHECK(table.alternatives.at(0).extrapolated.empty());
  std::ostringstream text;
  table.print(text);
  CHECK_THAT(text.str(), Contains("fail again where they failed: trials 0"));
}

/// Notes what it sees, and lets all run.
class SeesConfigs final : public TrialScheduler {
 public:
  explicit SeesConfigs(std::vector<Config>& seen) : seen_(seen) {}
  void on_trial_added(SchedulerContext&, const Trial& trial) override {
    seen_.push_back(trial.config());
  }
  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
    return Decision::proceed;
  }

 private:
  std::vector<Config>& seen_;
};

TEST_CASE("a scheduler sees the recorded configurations, conditional ones too", "[what_if]") {
  Experiment experiment = curves_experiment(0);
  experiment.num_samples = 3;
  experiment.space = {{"opt", branch({{"sgd", {{"momentum", grid_search({0.1, 0.9})}}},
                                      {"adam", {{"beta", constant(0.5)}}}})},
                      {"net", SearchSpace{{"layers", constant(3)}}}};
  const ResultGrid grid = simulate(experiment, {}, curve_table(table_of(four_curves))).results;
  std::vector<Config> seen;
  const WhatIf table =
      ask(grid, {.name = "look", .scheduler = std::make_unique<SeesConfigs>(seen)});
  REQUIRE(seen.size() == grid.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    for (const auto& [name, value] : grid[i].config.json().items()) {
      CHECK(seen[i].json().at(name) == value);
    }
    CHECK(seen[i].contains("momentum") == grid[i].config.contains("momentum"));
  }
}

TEST_CASE("a table is written as CSV and JSON", "[what_if]") {
  const WhatIf table = ask(record(four_curves, halving()), {.name = "a, b", .scheduler = fifo()});
  std::ostringstream csv;
  table.write_csv(csv);
  CHECK_THAT(csv.str(), Contains("recorded,0.2,1,True,False,11.0,1.0,11.0,4,2,0,0,0\r\n") &&
                            Contains("\"a, b\",0.2,1,True,False,16.0,"));
  const Json json = table.json();
  CHECK(json.at("alternatives").at(0).at("extrapolated").at(0) ==
        Json{{"trial", 2}, {"recorded", 1}, {"reached", 4}});
  CHECK(json.at("recorded").at("scheduler").at("name") == "asha");
}

TEST_CASE("what curves do not tell is refused", "[what_if]") {
  const ResultGrid grid = record(four_curves);
  const auto population = [] {
    return pbt({.perturbation_interval = 1, .hyperparam_mutations = {{"x", uniform(0, 1)}}});
  };
  CHECK_THROWS_WITH(
      ask(grid,
          {.name = "pbt", .scheduler = population(), .cluster = Cluster{.node = {.cpus = 4}}}),
      Contains("alternative \"pbt\" lets trial ") && Contains("no recorded curve"));

  Experiment experiment = curves_experiment(4);
  experiment.scheduler = population();
  const ResultGrid exploited =
      simulate(experiment, {.node = {.cpus = 4}}, curve_table(table_of(four_curves))).results;
  CHECK_THROWS_WITH(ask(exploited, {.name = "fifo", .scheduler = fifo()}),
                    Contains("changed its configuration on the way"));
}

TEST_CASE("questions that cannot be answered are refused", "[what_if]") {
  const ResultGrid grid = record(four_curves);
  CHECK_THROWS_WITH(ask(grid, {}), "what_if: an alternative has no name");
  std::vector<Alternative> twice;
  twice.push_back({.name = "a"});
  twice.push_back({.name = "a"});
  CHECK_THROWS_WITH(what_if(grid, std::move(twice)), R"(what_if: two rows have the name "a")");
  CHECK_THROWS_WITH(ask(grid, {.name = "recorded"}), Contains("\"recorded\""));
  CHECK_THROWS_WITH(ask(grid, {.name = "a"}, {.length = 0}),
                    "what_if: length must be at least 1, is 0");
  CHECK_THROWS_WITH(ask(ResultGrid(), {.name = "a"}), Contains("has no metric"));
  Cluster bad;
  bad.nodes = 0;
  CHECK_THROWS_WITH(ask(grid, {.name = "a", .cluster = bad}), Contains("nodes must be at least 1"));
}

TEST_CASE("an experiment without a result has no curve to ask", "[what_if]") {
  Experiment experiment = curves_experiment(1);
  experiment.time_budget = Time(0.5);
  const auto long_step = curve_model([](const Config&, std::int64_t) {
    return SimulatedStep{.metrics = {{"loss", 1}}, .seconds = 1, .failure = "boom"};
  });
  const ResultGrid grid = simulate(experiment, {}, long_step).results;
  CHECK_THROWS_WITH(ask(grid, {.name = "a"}), Contains("has no result"));
}

}  // namespace
}  // namespace tune::test
