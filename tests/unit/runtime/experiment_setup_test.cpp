#include "runtime/experiment_setup.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include <tune/schedulers/asha.hpp>
#include <tune/searchers/grid.hpp>
#include <tune/searchers/random.hpp>

#include "runtime/experiment_directory.hpp"
#include "support/environment_variable.hpp"
#include "support/temporary_folder.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using test::TemporaryFolder;

TrainableSpec plain_function() {
  TrainableSpec spec;
  spec.name = "train";
  spec.function = [](const Config&) {};
  return spec;
}

TrainableSpec saving_function() {
  TrainableSpec spec = plain_function();
  spec.checkpoints = true;
  return spec;
}

class PausingScheduler final : public TrialScheduler {
 public:
  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
    return Decision::pause;
  }
  [[nodiscard]] bool needs_checkpoints() const override { return true; }
  [[nodiscard]] bool needs_metric() const override { return false; }
  [[nodiscard]] Json options() const override { return {{"name", "pausing"}}; }
};

class DemandingSearcher final : public Searcher {
 public:
  explicit DemandingSearcher(std::optional<Objective> objective = {})
      : objective_(std::move(objective)) {}
  void setup(const SearcherSetup&) override {}
  Suggestion suggest(const SuggestionRequest&) override { return Exhausted{}; }
  [[nodiscard]] bool needs_metric() const override { return true; }
  [[nodiscard]] std::optional<Objective> objective() const override { return objective_; }
  [[nodiscard]] Json options() const override { return {{"name", "demanding"}}; }

 private:
  std::optional<Objective> objective_;
};

Experiment experiment_on_threads() {
  Experiment experiment;
  experiment.name = "run";
  experiment.isolation = Isolation::threads;
  return experiment;
}

/// What set_up() says to a definition that `change` spoils; also checks that it leaves no
/// directory.
std::string refusal(const std::function<void(Experiment&)>& change,
                    const TrainableSpec& trainable = plain_function()) {
  const TemporaryFolder folder;
  Experiment experiment = experiment_on_threads();
  experiment.storage_path = folder.path().string();
  experiment.local = {.cpus = 4, .gpus = 1};
  change(experiment);
  try {
    (void)set_up(trainable, experiment);
  } catch (const std::invalid_argument& error) {
    CHECK_FALSE(fs::exists(folder.path() / "run"));
    return error.what();
  }
  return "nothing was refused";
}

TEST_CASE("ME-09: a mode is never assumed and never contradicted", "[ME-09]") {
  CHECK_THAT(refusal([](Experiment& e) { e.metric = "loss"; }),
             Contains("metric is \"loss\"") && Contains("mode is not set"));
  CHECK_THAT(refusal([](Experiment& e) { e.mode = Mode::max; }),
             Contains("mode is max") && Contains("metric is empty"));
  CHECK_THAT(
      refusal([](Experiment& e) {
        e.metric = "loss";
        e.mode = Mode::min;
        e.scheduler = asha({.metric = "loss", .mode = Mode::max});
      }),
      Contains("scheduler asha") && Contains("\"loss\" with mode max") && Contains("mode min"));
  CHECK_THAT(refusal([](Experiment& e) {
               e.metric = "loss";
               e.mode = Mode::min;
               e.searcher = std::make_unique<DemandingSearcher>(Objective{"loss", Mode::max});
             }),
             Contains("searcher demanding") && Contains("mode max") && Contains("mode min"));
}

TEST_CASE("who needs a metric is refused by name where there is none", "[experiment_setup]") {
  CHECK_THAT(refusal([](Experiment& e) { e.scheduler = asha(); }),
             Contains("scheduler asha needs a metric"));
  CHECK_THAT(refusal([](Experiment& e) { e.searcher = std::make_unique<DemandingSearcher>(); }),
             Contains("searcher demanding needs a metric"));
  CHECK_THAT(refusal([](Experiment& e) { e.stop = plateau(); }),
             Contains("stop") && Contains("plateau needs a metric"));
  CHECK_THAT(refusal([](Experiment& e) { e.stop = experiment_plateau({.metric = "gap"}); }),
             Contains("experiment_plateau looks at \"gap\"") && Contains("set mode"));
  CHECK_THAT(refusal([](Experiment& e) { e.checkpoint.keep_best = 2; }),
             Contains("checkpoint.keep_best is 2, but there is no metric"));
  CHECK_THAT(refusal([](Experiment& e) { e.checkpoint = {.keep_best = 2, .metric = "gap"}; }),
             Contains("keep_best looks at \"gap\"") && Contains("set mode"));
}

TEST_CASE("a plain bound on a metric that is minimised is refused with a hint",
          "[experiment_setup]") {
  const auto minimise = [](Experiment& e) {
    e.metric = "loss";
    e.mode = Mode::min;
  };
  CHECK_THAT(refusal([&](Experiment& e) {
               minimise(e);
               e.stop = {{"training_iteration", 9}, {"loss", 0.1}};
             }),
             Contains("tune::below(\"loss\", 0.1)"));
  CHECK_THAT(refusal([&](Experiment& e) {
               e.scheduler = asha({.metric = "error", .mode = Mode::min});
               e.stop = {{"error", 2}};
             }),
             Contains("tune::below(\"error\", 2)"));
  CHECK(refusal([&](Experiment& e) {
          minimise(e);
          e.stop = below("loss", 0.1) | StopCriteria{{"accuracy", 0.9}};
        }) == "nothing was refused");
}

TEST_CASE("checkpoints are refused where the trainable saves none", "[experiment_setup]") {
  CHECK_THAT(refusal([](Experiment& e) { e.checkpoint.every = 2; }),
             Contains("checkpoint.every is 2") && Contains("train function train") &&
                 Contains("{.checkpoints = true}"));
  CHECK_THAT(refusal([](Experiment& e) { e.checkpoint.at_end = true; }),
             Contains("checkpoint.at_end"));
  CHECK_THAT(refusal([](Experiment& e) { e.scheduler = std::make_unique<PausingScheduler>(); }),
             Contains("scheduler pausing needs checkpoints") && Contains("train"));
  CHECK(refusal(
            [](Experiment& e) {
              e.checkpoint = {.every = 2, .at_end = true};
              e.scheduler = std::make_unique<PausingScheduler>();
            },
            saving_function()) == "nothing was refused");
}

TEST_CASE("numbers out of range are refused by the name of their field", "[experiment_setup]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  using Seconds = std::chrono::duration<double>;
  const std::pair<std::function<void(Experiment&)>, std::string> cases[] = {
      {[](Experiment& e) { e.num_samples = 0; }, "num_samples must be at least 1, or -1"},
      {[](Experiment& e) { e.num_samples = -2; }, "is -2"},
      {[](Experiment& e) { e.max_trials = 0; }, "max_trials must be at least 1, or -1"},
      {[](Experiment& e) { e.checkpoint.every = -1; }, "checkpoint.every must be at least 0"},
      {[](Experiment& e) { e.checkpoint.keep = 0; }, "checkpoint.keep must be at least 1, is 0"},
      {[](Experiment& e) { e.checkpoint.keep_best = -1; },
       "checkpoint.keep_best must be at least 0"},
      {[](Experiment& e) { e.failure.max_failures = -2; }, "max_failures must be at least -1"},
      {[](Experiment& e) { e.failure.retry_pause = Seconds(-1); },
       "failure.retry_pause must be at least 0 s and finite, is -1 s"},
      {[=](Experiment& e) { e.failure.retry_pause = Seconds(nan); }, "failure.retry_pause must be"},
      {[](Experiment& e) { e.failure.max_retry_pause = Seconds(-0.5); },
       "failure.max_retry_pause must be at least 0 s and finite, is -0.5 s"},
      {[=](Experiment& e) {
         e.failure.max_retry_pause = Seconds(std::numeric_limits<double>::infinity());
       },
       "failure.max_retry_pause must be at least 0 s and finite, is inf s"},
      {[](Experiment& e) { e.failure.max_experiment_failures = -2; },
       "failure.max_experiment_failures must be at least -1, is -2"},
      {[](Experiment& e) { e.max_concurrent = -1; }, "max_concurrent must be at least 0"},
      {[](Experiment& e) { e.verbosity = 3; }, "verbosity must be 0, 1 or 2, is 3"},
      {[](Experiment& e) { e.time_budget = Seconds(0); }, "time_budget must be above 0 s, is 0 s"},
      {[=](Experiment& e) { e.time_budget = Seconds(nan); }, "time_budget must be above 0 s"},
      {[](Experiment& e) { e.stop_grace = Seconds(-1); }, "stop_grace must be at least 0 s, is -1"},
      {[](Experiment& e) { e.exporters = {"xml"}; }, "xml"},
      {[](Experiment& e) { e.callbacks = {nullptr}; }, "callback"},
      {[](Experiment& e) {
         e.points_to_evaluate = {{{"y", 1}}};
       },
       "y"},
      {[](Experiment& e) { e.resources.cpu = -1; }, "cpu"},
      {[](Experiment& e) { e.resources.cpu = 0; }, "max_concurrent"},
      {[](Experiment& e) {
         e.local.custom = {{"license", -1}};
       },
       "license"},
  };
  for (const auto& [change, expected] : cases) CHECK_THAT(refusal(change), Contains(expected));
}

TEST_CASE("RS-01: a request larger than the machine is refused at once", "[RS-01]") {
  CHECK_THAT(refusal([](Experiment& e) { e.resources.cpu = 11; }),
             Contains("requested 11 cpu, largest node 4"));
  CHECK_THAT(refusal([](Experiment& e) { e.resources.gpu = 2; }),
             Contains("requested 2 gpu, largest node 1"));
  CHECK(refusal([](Experiment& e) { e.resources.cpu = 4; }) == "nothing was refused");
}

TEST_CASE("RS-01: labels and gangs that this machine cannot hold are refused", "[RS-01]") {
  CHECK_THAT(refusal([](Experiment& e) {
               e.resources.labels = {{"zone", "c"}};
             }),
             Contains("no node has label zone=c") && Contains("the experiment's local says"));
  CHECK(refusal([](Experiment& e) {
          e.resources.labels = {{"zone", "c"}};
          e.local.labels = {{"zone", "c"}};
        }) == "nothing was refused");
  CHECK_THAT(refusal([](Experiment& e) {
               e.resources.workers = {{}, {.gpu = 3}};
             }),
             Contains("worker 1: requested 3 gpu, largest node 1 gpu"));
  CHECK_THAT(refusal([](Experiment& e) { e.resources.workers = std::vector<Bundle>(4); }),
             Contains("requested 5 cpu together, all nodes have 4 cpu"));
  CHECK_THAT(refusal([](Experiment& e) { e.resources.workers = {{.cpu = -2}}; }),
             Contains("resource workers[0].cpu is -2"));
}

TEST_CASE("RS-01: a request larger than what was discovered is refused with what was found",
          "[RS-01]") {
  CHECK_THAT(refusal([](Experiment& e) {
               e.resources.cpu = 1e6;
               e.local = {};
             }),
             Contains("requested 1000000 cpu, largest node ") && Contains("(found here: ") &&
                 Contains(" cores in this process's affinity") && !Contains("memory") &&
                 Contains("; the experiment's local says what this machine offers"));
  CHECK_THAT(refusal([](Experiment& e) { e.resources.memory = 1ULL << 60U; }),
             Contains("requested 1073741824 GiB memory, largest node ") &&
                 Contains("(found here: ") && !Contains("affinity"));
  CHECK_THAT(refusal([](Experiment& e) { e.resources.cpu = 11; }), !Contains("found here"));
}

TEST_CASE("more GPUs than CUDA may see here are refused", "[experiment_setup]") {
  const test::EnvironmentVariable devices("CUDA_VISIBLE_DEVICES", "3,5");
  CHECK(refusal([](Experiment& e) { e.local.gpus = 2; }) == "nothing was refused");
  CHECK_THAT(refusal([](Experiment& e) { e.local.gpus = 3; }),
             Contains("local.gpus is 3, but CUDA_VISIBLE_DEVICES lists 2 devices"));
}

TEST_CASE("RS-04: a custom resource that no node offers is refused by its name", "[RS-04]") {
  CHECK_THAT(refusal([](Experiment& e) {
               e.resources.custom = {{"license", 1}};
             }),
             Contains("license"));
  CHECK(refusal([](Experiment& e) {
          e.resources.custom = {{"license", 1}};
          e.local.custom = {{"license", 2}};
        }) == "nothing was refused");
}

TEST_CASE("names and places that cannot be are refused", "[experiment_setup]") {
  for (const char* name : {"a/b", ".", "..", "-rf", "line\nbreak"}) {
    CHECK_THAT(refusal([&](Experiment& e) { e.name = name; }), Contains("name \""));
  }
  CHECK_THAT(refusal([](Experiment& e) { e.storage_path = "s3://bucket/x"; }),
             Contains("scheme \"s3\"") && Contains("file://"));
  CHECK_THAT(refusal([](Experiment& e) { e.storage_path = "file://elsewhere/x"; }),
             Contains("file:///"));
  for (const char* uri : {"file:///tmp/a%", "file:///tmp/a%2", "file:///tmp/%2g/b",
                          "file:///tmp/%+1", "file:///tmp/a%00b"}) {
    CHECK_THAT(refusal([&](Experiment& e) { e.storage_path = uri; }),
               Contains(std::string("storage_path \"") + uri + "\""));
  }
  CHECK_THAT(refusal([](Experiment& e) { e.storage_path = "file:///tmp/%2g/b"; }),
             Contains("\"%2g\""));
  CHECK_THAT(refusal([](Experiment& e) { e.storage_path = "~nobody/x"; }), Contains("~nobody"));
  TrainableSpec nameless = plain_function();
  nameless.name = {};
  CHECK_THAT(refusal([](Experiment&) {}, nameless), Contains("trainable"));
  TrainableSpec nothing;
  nothing.name = "nothing";
  CHECK_THAT(refusal([](Experiment&) {}, nothing), Contains("nothing"));
}

TEST_CASE("worker processes are refused where they cannot be", "[experiment_setup]") {
  const auto on_processes = [](Experiment& e) { e.isolation = Isolation::processes; };
  TrainableSpec findable = plain_function();
  findable.key = "name:train";
  // This test program did not call tune::init().
  CHECK_THAT(refusal(on_processes, findable),
             Contains("tune::init(argc, argv)") && Contains("Isolation::threads"));
  CHECK_THAT(refusal(on_processes, plain_function()), Contains("TUNE_REGISTER_FUNCTION"));
  const auto with_timeout = [](Experiment& e) { e.step_timeout = std::chrono::seconds(5); };
  CHECK_THAT(refusal(with_timeout),
             Contains("step_timeout is 5 s") && Contains("Isolation::processes"));
}

TEST_CASE("a storage path is a path, a file URI, or begins at home", "[experiment_setup]") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const test::EnvironmentVariable home("HOME", path);
  const auto path_of_run = [](const std::string& storage_path) {
    Experiment experiment = experiment_on_threads();
    experiment.storage_path = storage_path;
    const fs::path found = set_up(plain_function(), experiment).info.path;
    CHECK(fs::is_directory(found));
    fs::remove_all(found);
    return found;
  };
  CHECK(path_of_run(path) == folder.path() / "run");
  CHECK(path_of_run(path + "/a/../b") == folder.path() / "b" / "run");
  CHECK(path_of_run("file://" + path + "/c") == folder.path() / "c" / "run");
  CHECK(path_of_run("file://localhost" + path) == folder.path() / "run");
  CHECK(path_of_run("file://" + path + "/a%20b%2Fc%c3%a9%25") ==
        folder.path() / "a b" / "c\xc3\xa9%" / "run");
  CHECK(path_of_run("file://" + path + "/a+b~c") == folder.path() / "a+b~c" / "run");
  CHECK(path_of_run(path + "/a%20b") == folder.path() / "a%20b" / "run");  // not a URI
  CHECK(path_of_run("~/d") == folder.path() / "d" / "run");
  const char* const variable = "TUNE_STORAGE_PATH";
  const test::EnvironmentVariable unset(variable, std::nullopt);
  CHECK(path_of_run("") == folder.path() / "tune_results" / "run");
  const test::EnvironmentVariable elsewhere(variable, "~/elsewhere");
  CHECK(path_of_run("") == folder.path() / "elsewhere" / "run");
  CHECK(path_of_run("~/d") == folder.path() / "d" / "run");
  const test::EnvironmentVariable bucket(variable, "s3://bucket");
  CHECK_THROWS_WITH(path_of_run(""), Contains("TUNE_STORAGE_PATH \"s3://bucket\""));
}

TEST_CASE("a directory with files of others in it is left alone", "[experiment_setup]") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  Experiment experiment = experiment_on_threads();
  experiment.storage_path = folder.path().string();
  fs::create_directory(run);
  std::ofstream(run / "experiment.json") << "{}";
  CHECK_THROWS_WITH(set_up(plain_function(), experiment),
                    Contains(run.string()) && Contains("no experiment.db"));
  fs::remove(run / "experiment.json");
  CHECK(set_up(plain_function(), experiment).info.path == run);
}

TEST_CASE("with resume never a directory with results in it is not used again",
          "[experiment_setup]") {
  const TemporaryFolder folder;
  Experiment experiment = experiment_on_threads();
  experiment.storage_path = folder.path().string();
  experiment.resume = Resume::never;
  CHECK_NOTHROW(set_up(plain_function(), experiment));
  CHECK_THROWS_WITH(set_up(plain_function(), experiment),
                    Contains((folder.path() / "run").string()) && Contains("results in it"));
}

TEST_CASE("a refused definition keeps its scheduler and searcher", "[experiment_setup]") {
  const TemporaryFolder folder;
  Experiment experiment = experiment_on_threads();
  experiment.storage_path = folder.path().string();
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.scheduler = asha();
  experiment.searcher = random_search();
  const std::string storage = experiment.storage_path;
  SECTION("refused for a field") {
    experiment.num_samples = 0;
    CHECK_THROWS_AS(set_up(plain_function(), experiment), std::invalid_argument);
    experiment.num_samples = 1;
  }
  SECTION("refused for the storage") {
    experiment.storage_path = "/dev/null/results";
    CHECK_THROWS_WITH(
        set_up(plain_function(), experiment),
        "experiment directory /dev/null/results/run: it cannot be made: Not a directory");
    experiment.storage_path = storage;
  }
  SECTION("refused by the searcher") {
    experiment.searcher = grid();
    experiment.space = {{"x", normal(0, 1)}};
    CHECK_THROWS_AS(set_up(plain_function(), experiment), std::invalid_argument);
    experiment.space = {{"x", choice({1, 2})}};
  }
  SECTION("refused for a point") {
    experiment.points_to_evaluate = {{{"y", 1}}};
    CHECK_THROWS_AS(set_up(plain_function(), experiment), std::invalid_argument);
    experiment.points_to_evaluate = {};
  }
  CHECK_NOTHROW(set_up(plain_function(), experiment));
}

TEST_CASE("of two runs that begin at once in one directory, one is refused", "[experiment_setup]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run";
  SECTION("none of them found it") {}
  SECTION("it was there, empty") { fs::create_directory(path); }
  DirectoryClaim first(path);
  CHECK_THROWS_WITH(DirectoryClaim(path), Catch::Contains(path.string()));
  const store::DirectoryLock lock = first.keep();
  CHECK_THROWS_WITH(DirectoryClaim(path), Catch::Contains("it is in use by process"));
}

TEST_CASE("a claim that is not kept leaves nothing behind", "[experiment_setup]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a" / "run";
  { const DirectoryClaim claim(path); }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("the definition holds all that a run was made of", "[experiment_setup]") {
  const TemporaryFolder folder;
  Experiment experiment = experiment_on_threads();
  experiment.storage_path = folder.path().string();
  experiment.space = {{"lr", loguniform(1e-4, 1e-1)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = 8;
  experiment.scheduler = asha({.max_t = 27});
  experiment.resources = {.cpu = 0.5};
  experiment.stop = {{"training_iteration", 27}};
  experiment.failure = {.max_failures = 3,
                        .retry_pause = std::chrono::milliseconds(500),
                        .max_experiment_failures = 9,
                        .fail_fast = true};
  experiment.seed = 18446744073709551615U;
  const Json definition = set_up(saving_function(), experiment).info.definition;
  CHECK(definition.at("trainable") == "train");
  CHECK(definition.at("space") == experiment.space.json());
  CHECK(definition.at("metric") == "loss");
  CHECK(definition.at("mode") == "min");
  CHECK(definition.at("num_samples") == 8);
  CHECK(definition.at("searcher").at("name") == "automatic");
  CHECK(definition.at("scheduler").at("name") == "asha");
  CHECK(definition.at("scheduler").at("max_t") == 27);
  CHECK(definition.at("resources").at("cpu") == 0.5);
  CHECK(definition.at("stop") == experiment.stop.json());
  CHECK(definition.at("failure") == Json{{"max_failures", 3},
                                         {"max_node_failures", 3},
                                         {"retry_pause", 0.5},
                                         {"max_retry_pause", 60.0},
                                         {"max_experiment_failures", 9},
                                         {"fail_fast", true}});
  CHECK(definition.at("seed") == 18446744073709551615U);
  CHECK_FALSE(definition.at("tune_version").get<std::string>().empty());
}

}  // namespace
}  // namespace tune::runtime
