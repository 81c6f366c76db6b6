#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/schedulers/asha.hpp>
#include <tune/schedulers/builtin.hpp>
#include <tune/schedulers/fifo.hpp>
#include <tune/searchers/bohb.hpp>
#include <tune/searchers/builtin.hpp>
#include <tune/searchers/gp.hpp>
#include <tune/searchers/grid.hpp>
#include <tune/searchers/random.hpp>
#include <tune/searchers/tpe.hpp>

#include "run_support.hpp"
#include "stepped_experiment.hpp"
#include "store/journal_reader.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

/// What is run: anything that a definition can hold, and the way its trials train.
struct Case {
  std::string name;
  std::function<void(Experiment&)> define;
  std::int64_t steps = 4;
  std::int64_t snapshot_every = 0;
};

double learn(const Config& config, double state, std::int64_t iteration) {
  const double x = config["x"].get<double>();
  return state * 0.75 + x / static_cast<double>(iteration);
}

/// A later scheduler or searcher is another line here.
std::vector<Case> cases() {
  register_builtin_schedulers();
  register_builtin_searchers();
  const auto random_space = [](Experiment& e) {
    e.space = {{"x", uniform(0, 1)}, {"n", randint(0, 3)}};
    e.num_samples = 6;
    e.searcher = random_search();
  };
  const auto grid_space = [](Experiment& e) {
    e.space = {{"x", choice({0.5, 0.125, 1.0, 0.25})}, {"n", choice({1, 2})}};
    e.num_samples = 1;
    e.searcher = grid();
  };
  const auto tpe_space = [=](Experiment& e) {
    random_space(e);
    e.searcher = tpe({.n_startup_trials = 2});
  };
  const auto bohb_space = [=](Experiment& e) {
    random_space(e);
    e.searcher = bohb({.min_points_in_model = 2, .random_fraction = 0.1});
  };
  const auto gp_space = [=](Experiment& e) {
    random_space(e);
    e.searcher = gp({.startup_trials = 2});
  };
  const auto with_asha = [](Experiment& e) {
    e.scheduler = asha({.max_t = 4, .grace_period = 1, .reduction_factor = 2});
  };
  const auto both = [](auto first, auto second) {
    return [=](Experiment& e) {
      first(e);
      second(e);
    };
  };
  const auto by_name = [&](const char* name, Json options, std::int64_t steps = 4,
                           std::int64_t snapshot_every = 7) {
    options["name"] = name;
    return Case{options.dump(),
                [=](Experiment& e) {
                  random_space(e);
                  e.scheduler = make_scheduler(name, options);
                },
                steps, snapshot_every};
  };
  const auto with_searcher = [&](const char* name, Json options = Json::object(),
                                 std::int64_t snapshot_every = 7) {
    return Case{name + options.dump(),
                [=](Experiment& e) {
                  random_space(e);
                  e.searcher = make_searcher(name, options);
                },
                4, snapshot_every};
  };
  const Json halving = {{"max_t", 4}, {"reduction_factor", 2}};
  const auto population = [](bool synch) {
    return Json{{"time_attr", "training_iteration"},
                {"perturbation_interval", 2},
                {"quantile_fraction", 0.5},
                {"hyperparam_mutations", {{"x", {{"kind", "uniform"}, {"low", 0}, {"high", 1}}}}},
                {"synch", synch}};
  };
  const auto every_second = [](Experiment& e) { e.checkpoint.every = 2; };
  return {
      {"fifo, random", random_space},
      {"fifo, grid", grid_space},
      {"fifo, gp", gp_space},
      {"fifo, gp, snapshots", gp_space, 4, 7},
      {"asha, gp, snapshots", both(gp_space, with_asha), 4, 7},
      {"asha, random", both(random_space, with_asha)},
      {"asha, grid", both(grid_space, with_asha)},
      {"asha, grid, snapshots", both(grid_space, with_asha), 4, 7},
      {"asha, random, a checkpoint every second step",
       both(both(random_space, with_asha), every_second)},
      {"fifo, tpe", tpe_space},
      {"fifo, tpe, snapshots", tpe_space, 4, 7},
      {"asha, bohb", both(bohb_space, with_asha)},
      {"asha, bohb, snapshots", both(bohb_space, with_asha), 4, 7},
      {"fifo, random, no checkpoints",
       both(random_space, [](Experiment& e) { e.checkpoint.every = 0; })},
      {"fifo, random, a bound", both(random_space,
                                     [](Experiment& e) {
                                       e.stop = {{"training_iteration", 3}};
                                     })},
      by_name("asha", {{"type", "promotion"}, {"max_t", 4}, {"reduction_factor", 2}}),
      by_name("async_hyperband", {{"max_t", 4}, {"reduction_factor", 2}, {"brackets", 2}}),
      by_name("hyperband", halving),
      by_name("hyperband", halving, 4, 0),
      by_name("bohb", halving),
      by_name("successive_halving", halving),
      by_name("pasha", halving),
      by_name("median_stopping", {{"time_attr", "training_iteration"},
                                  {"grace_period", 1},
                                  {"min_samples_required", 2},
                                  {"min_time_slice", 1},
                                  {"hard_stop", false}}),
      by_name("pbt", population(false), 6),
      by_name("pbt", population(false), 6, 0),
      by_name("pbt", population(true), 6),
      by_name("pbt", population(true), 6, 0),
      by_name("pb2",
              {{"time_attr", "training_iteration"},
               {"perturbation_interval", 2},
               {"hyperparam_bounds", {{"x", {0, 1}}}}},
              6),
      by_name("resource_changing", {{"base", {{"name", "asha"}, {"max_t", 4}}}}),
      with_searcher("automatic"),
      with_searcher("sobol"),
      with_searcher("halton"),
      with_searcher("cma_es", {{"population_size", 3}}),
      with_searcher("cma_es", {{"population_size", 3}}, 0),
      with_searcher("evolution", {{"population_size", 2}, {"sample_size", 1}}),
      with_searcher("concurrency_limited", {{"max_concurrent", 1}}),
      with_searcher(
          "repeated",
          {{"searcher", {{"name", "evolution"}, {"population_size", 2}, {"sample_size", 1}}},
           {"repeats", 2}}),
  };
}

Experiment definition(const Case& what, const fs::path& storage) {
  Experiment experiment;
  experiment.name = "run";
  experiment.storage_path = storage.string();
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.seed = 3;
  experiment.isolation = Isolation::threads;
  experiment.local = {.cpus = 1};
  experiment.checkpoint = {.every = 1};
  experiment.verbosity = 0;
  experiment.exporters = {"json", "csv"};
  what.define(experiment);
  return experiment;
}

SteppedOptions stepping(const Case& what) {
  SteppedOptions options;
  options.step = learn;
  options.steps = what.steps;
  options.snapshot_every = what.snapshot_every;
  return options;
}

void run_case(const Case& what, const fs::path& storage,
              const std::function<void(std::uint64_t)>& after_commit) {
  Experiment experiment = definition(what, storage);
  SteppedOptions options = stepping(what);
  options.after_commit = after_commit;
  (void)SteppedExperiment(experiment, std::move(options)).run();
}

/// Runs it until its time is up after so many events in all.
ResultGrid run_for(const Case& what, const fs::path& storage, std::uint64_t events) {
  Experiment experiment = definition(what, storage);
  experiment.time_budget = Time(0.25) * static_cast<double>(events + 1);
  return SteppedExperiment(experiment, stepping(what)).run();
}

/// Runs it until somebody interrupts it after so many events.
ResultGrid run_interrupted(const Case& what, const fs::path& storage, std::uint64_t events) {
  Experiment experiment = definition(what, storage);
  SteppedOptions options = stepping(what);
  options.interrupt_after = events;
  return SteppedExperiment(experiment, std::move(options)).run();
}

/// In a process of its own, so that it can be killed. True if it came to its end.
bool run_in_process(const Case& what, const fs::path& storage, std::uint64_t last_commit) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    try {
      run_case(what, storage, [last_commit](std::uint64_t commit) {
        if (commit == last_commit) ::raise(SIGKILL);
      });
    } catch (const std::exception& error) {
      std::cerr << error.what() << std::endl;
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  REQUIRE((WIFEXITED(status) || WTERMSIG(status) == SIGKILL));
  if (WIFEXITED(status)) REQUIRE(WEXITSTATUS(status) == 0);
  return WIFEXITED(status);
}

/// All of a result.json that does not depend on clock and process.
std::string rows_of_file(const fs::path& trial) {
  std::string rows;
  for (const std::string& line : read_lines(trial / "result.json")) {
    const Json row = Json::parse(line);
    rows += row.at("training_iteration").dump() + ":" + row.at("loss").dump() + ":" +
            row.at("done").dump() + " ";
  }
  return rows + std::to_string(read_lines(trial / "progress.csv").size());
}

/// On the disk is what is on record, and that is the newest as far as checkpoints were due.
void check_checkpoints(const TrialResult& trial) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(trial.path)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("checkpoint_") || name.starts_with(".tmp")) found.push_back(name);
  }
  std::vector<std::string> recorded;
  for (const Checkpoint& checkpoint : trial.checkpoints) {
    recorded.push_back(checkpoint.path.filename().string());
  }
  CHECK(found == recorded);
  CHECK(recorded.size() <= 1);
}

/// What came of an experiment: trials, results, decisions and the best, in text.
std::vector<std::string> outcome(const fs::path& storage) {
  std::vector<std::string> lines;
  const ResultGrid grid = ResultGrid::open(storage / "run");
  for (const TrialResult& trial : grid) {
    std::string line = trial.name + " " + std::string(to_string(trial.state)) + " " + trial.reason +
                       " " + trial.error + " ";
    for (const Result& result : trial.history()) {
      line += std::to_string(result.training_iteration) + ":" +
              result.metrics.at("loss").json().dump() + ":" + (result.done ? "d " : " ");
    }
    lines.push_back(line + rows_of_file(trial.path));
  }
  for (const TrialResult& trial : grid) check_checkpoints(trial);
  lines.push_back("best " + std::to_string(grid.best().id.value()));
  const store::JournalReader reader(storage / "run");
  std::map<TrialId, std::string> explained;
  reader.for_each_message([&](const store::MessageRow& message) {
    if (message.kind == "explanation") explained[message.trial.value()] += message.text + "; ";
  });
  for (const auto& [id, text] : explained)
    lines.push_back(std::to_string(id.value()) + ": " + text);
  lines.push_back(grid.experiment_end().reason);
  return lines;
}

/// But for checkpoints: a recorded end is an end, even if its last checkpoint was not on record
/// yet.
std::vector<std::string> files_below(const fs::path& path) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    const std::string file = fs::relative(entry.path(), path).string();
    if (file.find("checkpoint_") == std::string::npos) files.push_back(file);
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST_CASE("an experiment killed after any commit ends as one that was never killed",
          "[resume][every_commit]") {
  for (const Case& what : cases()) {
    INFO(what.name);
    const TemporaryFolder folder;
    const fs::path whole = folder.path() / "whole";
    std::uint64_t commits = 0;
    run_case(what, whole, [&](std::uint64_t commit) { commits = commit; });
    const std::vector<std::string> expected = outcome(whole);
    REQUIRE(commits > 20);
    for (std::uint64_t last = 1; last <= commits; ++last) {
      INFO("killed after commit " << last << " of " << commits);
      const fs::path storage = folder.path() / "killed";
      CHECK_FALSE(run_in_process(what, storage, last));
      REQUIRE(run_in_process(what, storage, 0));
      REQUIRE(outcome(storage) == expected);
      REQUIRE(files_below(storage) == files_below(whole));
      fs::remove_all(storage);
    }
  }
}

TEST_CASE("an experiment killed again and again ends as one that was never killed",
          "[resume][every_commit]") {
  for (const Case& what : cases()) {
    INFO(what.name);
    const TemporaryFolder folder;
    run_case(what, folder.path() / "whole", [](std::uint64_t) {});
    const std::vector<std::string> expected = outcome(folder.path() / "whole");
    for (const std::uint64_t commits_at_once : {15, 26}) {
      INFO("killed after each " << commits_at_once << " commits");
      const fs::path storage = folder.path() / "killed";
      int sessions = 1;
      while (!run_in_process(what, storage, commits_at_once)) REQUIRE(++sessions < 500);
      CHECK(sessions > 1);
      REQUIRE(outcome(storage) == expected);
      fs::remove_all(storage);
    }
  }
}

/// Runs each case in two parts, with each of its events as the last of the first part, and compares
/// what comes of it with a run in one part.
void compare_with_whole(
    const std::function<void(const Case&, const fs::path&, std::uint64_t last)>& run_in_parts) {
  for (const Case& what : cases()) {
    INFO(what.name);
    const TemporaryFolder folder;
    const fs::path whole = folder.path() / "whole";
    std::uint64_t events = 0;
    run_case(what, whole, [&](std::uint64_t commit) { events = commit; });
    const std::vector<std::string> expected = outcome(whole);
    for (std::uint64_t last = 3; last < events; ++last) {
      INFO("it was left after event " << last << " of " << events);
      const fs::path storage = folder.path() / "parts";
      run_in_parts(what, storage, last);
      REQUIRE(outcome(storage) == expected);
      REQUIRE(files_below(storage) == files_below(whole));
      fs::remove_all(storage);
    }
  }
}

TEST_CASE("an experiment that is given more time ends as one that had it from the first",
          "[resume][every_commit]") {
  compare_with_whole([](const Case& what, const fs::path& storage, std::uint64_t last) {
    const ResultGrid grid = run_for(what, storage, last);
    CHECK_FALSE(grid.interrupted());
    CHECK(grid.experiment_end().reason.starts_with("time budget of "));
    (void)run_for(what, storage, 100'000);
  });
}

TEST_CASE("an experiment interrupted after any event ends as one that was not",
          "[resume][every_commit]") {
  compare_with_whole([](const Case& what, const fs::path& storage, std::uint64_t last) {
    CHECK(run_interrupted(what, storage, last).interrupted());
    run_case(what, storage, [](std::uint64_t) {});
  });
}

}  // namespace
}  // namespace tune::test
