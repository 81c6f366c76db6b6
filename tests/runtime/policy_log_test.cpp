#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/fsck.hpp>
#include <tune/schedulers/pbt.hpp>
#include <tune/schedulers/pbt_replay.hpp>

#include "run_support.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

/// Its weight grows by "x" a step.
class Climb : public Trainable {
 public:
  void setup(const Config& config) override { x_ = config["x"].get<double>(); }
  Metrics step() override {
    weight_ += x_;
    return {{"score", weight_}};
  }
  void save_checkpoint(const fs::path& dir) override {
    std::ofstream out(dir / "state");
    out.precision(17);
    out << weight_;
  }
  void load_checkpoint(const fs::path& dir) override { std::ifstream(dir / "state") >> weight_; }

 private:
  double x_ = 0;
  double weight_ = 0;
};
TUNE_REGISTER_TRAINABLE(Climb)

Experiment climbing(const TemporaryFolder& folder, const std::string& name) {
  Experiment experiment = small_experiment(folder);
  experiment.name = name;
  experiment.exporters = {"json", "csv"};
  experiment.space = {{"x", uniform(0, 1)}, {"kind", choice({"a"})}};
  experiment.metric = "score";
  experiment.mode = Mode::max;
  experiment.stop = {{"training_iteration", 16}};
  return experiment;
}

Experiment population(const TemporaryFolder& folder) {
  Experiment experiment = climbing(folder, "run");
  experiment.num_samples = 4;
  experiment.scheduler = pbt({.time_attr = "training_iteration",
                              .perturbation_interval = 4,
                              .hyperparam_mutations = {{"x", uniform(0, 1)}},
                              .synch = true});
  return experiment;
}

std::vector<Json> rows_of(const fs::path& file) {
  std::vector<Json> rows;
  for (const std::string& line : read_lines(file)) rows.push_back(Json::parse(line));
  return rows;
}

/// `row` counts from 1, as iterations do.
Json config_at(const fs::path& trial, std::size_t row) {
  return rows_of(trial / "result.json").at(row - 1).at("config");
}

std::vector<std::string> exploited_lines(const fs::path& experiment) {
  std::vector<std::string> lines = read_lines(experiment / "driver.log");
  std::erase_if(lines, [](const std::string& line) {
    return line.find(" event=exploited ") == std::string::npos;
  });
  return lines;
}

TEST_CASE("SC-18: all files of an experiment tell of its exchanges", "[SC-18]") {
  const TemporaryFolder folder;
  Experiment experiment = population(folder);
  const ResultGrid results = tune_run<Climb>(experiment);
  const fs::path run = folder.path() / "run";
  const std::vector<Json> exchanges = rows_of(run / "pbt_global.txt");
  REQUIRE(exchanges.size() == 3);  // at 4, 8 and 12
  const std::vector<std::string> log = exploited_lines(run);
  REQUIRE(log.size() == exchanges.size());
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    const Json& exchange = exchanges[i];
    REQUIRE(exchange.size() == 6);
    const fs::path target = run / exchange[0].get<std::string>();
    const fs::path donor = run / exchange[1].get<std::string>();
    const auto step = exchange[2].get<std::size_t>();
    const auto donor_step = exchange[3].get<std::size_t>();
    CHECK(step == 4 * (i + 1));
    CHECK(config_at(donor, donor_step) == exchange[4]);
    CHECK(config_at(target, step + 1) == exchange[5]);
    const Json old_config = config_at(target, step);
    CHECK(old_config != exchange[5]);
    const std::string change =
        "changed=\"x: " + old_config.at("x").dump() + " -> " + exchange[5].at("x").dump() + '"';
    CHECK_THAT(log[i],
               Catch::EndsWith(" iteration=" + std::to_string(step) + " donor=" +
                               std::to_string(std::stoi(donor.filename().string().substr(0, 5))) +
                               " donor_iteration=" + std::to_string(donor_step) + ' ' + change));
  }
  for (const TrialResult& trial : results) {
    CHECK(iterations(trial) == counted_to(16));
    CHECK(Json::parse(read_text(trial.path / "params.json")) == config_at(trial.path, 16));
    CHECK(trial.config.json() == config_at(trial.path, 16));
  }
  const FsckReport report = fsck(run);
  for (const FsckFinding& finding : report.findings) FAIL_CHECK(finding.what);
  CHECK(report.is_replayed);
  add_line(run / "pbt_global.txt", "[]");
  fs::remove(run / ("pbt_policy_" + exchanges[0][0].get<std::string>().substr(0, 5) + ".txt"));
  CHECK(fsck(run).findings.size() == 2);
}

TEST_CASE("the policy file of a trial, replayed on one trial, gives its weights", "[pbt_replay]") {
  const TemporaryFolder folder;
  Experiment experiment = population(folder);
  const ResultGrid results = tune_run<Climb>(experiment);
  const std::vector<Json> exchanges = rows_of(folder.path() / "run" / "pbt_global.txt");
  REQUIRE_FALSE(exchanges.empty());
  const std::string id = exchanges.back().at(0).get<std::string>().substr(0, 5);
  const fs::path file = folder.path() / "run" / ("pbt_policy_" + id + ".txt");

  Experiment once = climbing(folder, "replayed");
  once.scheduler = pbt_replay({.policy_file = file});
  once.points_to_evaluate.push_back(read_pbt_policy(file).at(0).at("config"));
  const ResultGrid replayed = tune_run<Climb>(once);
  REQUIRE(replayed.size() == 1);
  const TrialResult& trial = results[std::stoul(id)];
  // The same additions in the same order: whatever was trained by others is trained again.
  CHECK(replayed[0].metrics.at("score") == trial.metrics.at("score"));
  CHECK(replayed[0].config == trial.config);
  CHECK(fsck(folder.path() / "replayed").findings.empty());
}

TEST_CASE("without log_config there are no policy files", "[pbt]") {
  const TemporaryFolder folder;
  Experiment experiment = population(folder);
  experiment.scheduler = pbt({.time_attr = "training_iteration",
                              .perturbation_interval = 4,
                              .hyperparam_mutations = {{"x", uniform(0, 1)}},
                              .log_config = false,
                              .synch = true});
  (void)tune_run<Climb>(experiment);
  CHECK(exploited_lines(folder.path() / "run").size() == 3);
  for (const auto& entry : fs::directory_iterator(folder.path() / "run")) {
    CHECK_FALSE(entry.path().filename().string().starts_with("pbt_"));
  }
}

}  // namespace
}  // namespace tune::test
