#include <tune/replay.hpp>

#include <cmath>
#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/schedulers/asha.hpp>
#include <tune/searcher.hpp>
#include <tune/searchers/grid.hpp>
#include <tune/searchers/random.hpp>

#include "run_support.hpp"
#include "support/gate.hpp"

namespace tune::test {

/// Stops each trial after so many results. Others may change its mind: it is no function of what it
/// is told, as it must be.
class Fickle final : public TestScheduler {
 public:
  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    if (result.training_iteration < limit) return Decision::proceed;
    context.explain(trial.id(), "the limit is " + std::to_string(limit));
    return Decision::stop;
  }
  [[nodiscard]] Json options() const override { return {{"name", "fickle"}}; }

  inline static int limit = 3;
};
TUNE_REGISTER_SCHEDULER("fickle", Fickle)

/// Suggests what it is set to: it is no function of what it is told, as it must be.
class Whimsical final : public Searcher {
 public:
  void setup(const SearcherSetup&) override {}
  Suggestion suggest(const SuggestionRequest& request) override {
    if (throws) throw std::runtime_error("no idea");
    return Config(Json{{"x", whim + static_cast<double>(request.trial.value()) / 16}});
  }
  void on_trial_completed(TrialId, const Config&, const Result&) override {
    if (throws_at_end) throw std::runtime_error("no memory");
  }
  [[nodiscard]] bool needs_metric() const override { return false; }
  [[nodiscard]] Json options() const override { return {{"name", "whimsical"}}; }

  inline static double whim = 1;
  inline static bool throws = false;
  inline static bool throws_at_end = false;
};
TUNE_REGISTER_SEARCHER("whimsical", Whimsical)

/// Suggests by what it was told of the trials before: the same again only if it is told the same.
class Attentive final : public Searcher {
 public:
  void setup(const SearcherSetup&) override {}
  Suggestion suggest(const SuggestionRequest&) override {
    return Config(Json{{"x", 1 + std::fmod(heard_, 8)}});
  }
  void on_trial_added(TrialId, const Config& config) override {
    heard_ += config["x"].get<double>() / 3;
  }
  void on_trial_result(TrialId, const Config&, const Result& result) override {
    heard_ = heard_ * 1.25 + result.target();
  }
  void on_trial_completed(TrialId id, const Config&, const Result& last) override {
    heard_ += last.target() * static_cast<double>(id.value());
  }
  [[nodiscard]] bool wants_results() const override { return true; }
  [[nodiscard]] Json options() const override { return {{"name", "attentive"}}; }

 private:
  double heard_ = 0.5;
};
TUNE_REGISTER_SEARCHER("attentive", Attentive)

/// Its last trial of twelve does not begin before it is let.
class Patient final : public Descent {
 public:
  void setup(const Config& config) override {
    if (context().trial_id == TrialId{11}) gate.wait();
    Descent::setup(config);
  }

  inline static Gate gate;
};
TUNE_REGISTER_TRAINABLE(Patient)

namespace {

namespace fs = std::filesystem;
using Catch::Contains;

template <class Printed>
std::string printed(const Printed& what) {
  std::ostringstream out;
  what.print(out);
  return out.str();
}

Experiment asha_experiment(const TemporaryFolder& folder) {
  Experiment experiment = small_experiment(folder);
  experiment.isolation = Isolation::threads;
  experiment.space = {{"x", uniform(1.0, 9.0)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = 12;
  experiment.scheduler = asha({.max_t = 9, .grace_period = 1, .reduction_factor = 3});
  return experiment;
}

TEST_CASE("the decisions on record come out again, each with its explanation", "[replay]") {
  const TemporaryFolder folder;
  const ResultGrid results = tune_run<Descent>(asha_experiment(folder));
  std::vector<ReplayedDecision> decisions;
  const ReplayReport report = replay(
      folder.path() / "run", {.on_decision = [&](const auto& d) { decisions.push_back(d); }});
  CHECK(report.is_same());
  CHECK(report.decisions > 0);
  CHECK_THAT(printed(report), Contains("all of which come out again"));
  REQUIRE_FALSE(decisions.empty());
  std::string text;
  for (const ReplayedDecision& decision : decisions) text += printed(decision);
  CHECK_THAT(text,
             Contains("result 1 of trial ") && Contains(": stop (trial ") && Contains(": rung "));
  // Also halfway.
  const std::int64_t middle = decisions[decisions.size() / 2].event;
  const ReplayReport half = replay(folder.path() / "run", {.until = middle});
  CHECK(half.events == middle);
  CHECK(half.is_same());
  CHECK(half.decisions < report.decisions);
}

TEST_CASE("what stop criteria and functions say is none of the scheduler's business", "[replay]") {
  const TemporaryFolder folder;
  Experiment experiment = asha_experiment(folder);
  experiment.stop =
      StopCriteria{{"training_iteration", 5}} |
      stop_when([](const Trial&, const Result& result) { return result.training_iteration == 4; });
  experiment.resources.of = [](const Config&) { return Resources{.cpu = 1}; };
  tune_run<Descent>(experiment);
  CHECK(replay(folder.path() / "run").is_same());
}

TEST_CASE("an experiment that was interrupted and went on is replayed over its sessions",
          "[replay]") {
  const TemporaryFolder folder;
  Experiment first = asha_experiment(folder);
  first.num_samples = 4;
  tune_run<Descent>(first);
  tune_run<Descent>(asha_experiment(folder));
  const ReplayReport report = replay(folder.path() / "run");
  CHECK(report.is_same());
  CHECK(report.decisions > 0);
}

TEST_CASE("an experiment that runs, or has died, is replayed as far as it came", "[replay]") {
  struct ReplayAtEnd final : Callback {
    explicit ReplayAtEnd(fs::path path) : path(std::move(path)) {}
    void on_trial_completed(const TrialInfo&, const TrialEnd&) override {
      reports.push_back(replay(path));
      if (reports.size() == 1) Patient::gate.open();
    }
    fs::path path;
    std::vector<ReplayReport> reports;
  };
  const TemporaryFolder folder;
  const auto callback = std::make_shared<ReplayAtEnd>(folder.path() / "run");
  Experiment experiment = asha_experiment(folder);
  experiment.callbacks = {callback};
  tune_run<Patient>(experiment);
  REQUIRE(callback->reports.size() == 12);
  for (const ReplayReport& report : callback->reports) CHECK(report.is_same());
  CHECK(callback->reports.front().events < callback->reports.back().events);
}

TEST_CASE("a scheduler that decides otherwise today is found out", "[replay]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.isolation = Isolation::threads;
  experiment.space = {{"x", constant(1.0)}};
  experiment.scheduler = make_scheduler("fickle");
  Fickle::limit = 3;
  tune_run<Descent>(experiment);
  CHECK(replay(folder.path() / "run").is_same());
  Fickle::limit = 2;
  const ReplayReport report = replay(folder.path() / "run");
  Fickle::limit = 3;
  CHECK_FALSE(report.is_same());
  CHECK(report.differences == 2);  // it would stop sooner, and say something else
  REQUIRE(report.first_difference);
  CHECK(report.first_difference->iteration == 2);
  CHECK(report.first_difference->trial == TrialId{0});
  CHECK(report.first_difference->decided.empty());
  CHECK_THAT(printed(report), Contains("2 at which it would decide otherwise today") &&
                                  Contains("today it would be") && Contains("the limit is 2"));
}

Experiment searched(const TemporaryFolder& folder, std::unique_ptr<Searcher> searcher) {
  Experiment experiment = asha_experiment(folder);
  experiment.searcher = std::move(searcher);
  return experiment;
}

TEST_CASE("the suggestions on record come out again", "[replay]") {
  const TemporaryFolder folder;
  SECTION("of random search, with grid axes, branches, nested spaces and points") {
    Experiment experiment = searched(folder, random_search());
    experiment.space = {{"x", uniform(1.0, 9.0)},
                        {"grid", grid_search({1, 2, 3})},
                        {"net", SearchSpace{{"layers", randint(1, 5)}}},
                        {"opt", branch({{"sgd", {{"momentum", normal(0, 1)}}}, {"adam", {}}})}};
    experiment.num_samples = 4;
    experiment.points_to_evaluate = {{{"x", 2.5}}};
    tune_run<Descent>(experiment);
  }
  SECTION("of a grid, whose cells are used up") {
    Experiment experiment = searched(folder, grid());
    experiment.space = {{"x", grid_search({1.0, 2.0, 3.0})}, {"n", randint(0, 4)}};
    experiment.num_samples = 1;
    tune_run<Descent>(experiment);
  }
  SECTION("of a small space, where duplicates are drawn again") {
    Experiment experiment = searched(folder, random_search());
    experiment.space = {
        {"x", choice({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0})}};
    tune_run<Descent>(experiment);
  }
  SECTION("of a searcher that goes by each result, in its order") {
    tune_run<Descent>(searched(folder, make_searcher("attentive")));
  }
  const ReplayReport report = replay(folder.path() / "run");
  INFO(printed(report));
  CHECK(report.is_same());
  CHECK(report.suggestions >= 12);
  CHECK(report.searcher_not_asked.empty());
  CHECK_THAT(printed(report), Contains("suggestions of the searcher, all of which come out again"));
  CHECK(replay(folder.path() / "run", {.asks_searcher = false}).suggestions == 0);
}

// What comes between question and answer is heard after the answer, also by a searcher that is told
// all again. Several times, since that depends on who is faster.
TEST_CASE("a searcher of an experiment that went on heard all in its order", "[replay]") {
  for (int i = 0; i < 10; ++i) {
    const TemporaryFolder folder;
    Experiment first = searched(folder, make_searcher("attentive"));
    first.num_samples = 5;
    tune_run<Descent>(first);
    tune_run<Descent>(searched(folder, make_searcher("attentive")));
    const ReplayReport report = replay(folder.path() / "run");
    INFO(printed(report));
    CHECK(report.is_same());
    CHECK(report.suggestions >= 12);
  }
}

TEST_CASE("a searcher that suggests otherwise today is found out", "[replay]") {
  const TemporaryFolder folder;
  Whimsical::whim = 1;
  tune_run<Descent>(searched(folder, make_searcher("whimsical")));
  CHECK(replay(folder.path() / "run").is_same());
  Whimsical::whim = 2;
  const ReplayReport report = replay(folder.path() / "run");
  Whimsical::whim = 1;
  CHECK_FALSE(report.is_same());
  CHECK(report.differences == 0);  // the scheduler saw what was on record
  CHECK(report.other_suggestions == 12);
  REQUIRE(report.first_difference);
  CHECK(report.first_difference->trial == TrialId{0});
  CHECK_THAT(printed(report), Contains("12 of which would be others today") &&
                                  Contains("suggested was {\"x\":1.0}, today it would be "
                                           "{\"x\":2.0}"));
}

TEST_CASE("a searcher that fails today does not end a replay", "[replay]") {
  const TemporaryFolder folder;
  tune_run<Descent>(searched(folder, make_searcher("whimsical")));
  Whimsical::throws = true;
  const ReplayReport asked = replay(folder.path() / "run");
  Whimsical::throws = false;
  CHECK(asked.other_suggestions == 12);
  CHECK_THAT(printed(asked), Contains("today it would be fault: no idea"));

  Whimsical::throws_at_end = true;
  const ReplayReport told = replay(folder.path() / "run");
  Whimsical::throws_at_end = false;
  CHECK(told.is_same());
  CHECK(told.suggestions < 12);
  CHECK_THAT(told.searcher_not_asked,
             Contains("it failed at the end of trial ") && Contains("no memory"));
  CHECK_THAT(printed(told), Contains("the searcher is not asked: it failed"));
}

TEST_CASE("the searcher of a space with functions is not asked", "[replay]") {
  const TemporaryFolder folder;
  Experiment experiment = searched(folder, random_search());
  experiment.space = {{"x", uniform(1.0, 9.0)}, {"y", sample_from([](const Config& config) -> Json {
                                                   return config["x"].get<double>() * 2;
                                                 })}};
  tune_run<Descent>(experiment);
  const ReplayReport report = replay(folder.path() / "run");
  CHECK(report.is_same());
  CHECK(report.suggestions == 0);
  CHECK_THAT(report.searcher_not_asked,
             Contains("parameter \"y\" is a function, which is not on record"));

  const TemporaryFolder other;
  Experiment constrained = searched(other, random_search());
  constrained.space.require("x below 8", [](const Config& c) { return c["x"].get<double>() < 8; });
  tune_run<Descent>(constrained);
  CHECK_THAT(replay(other.path() / "run").searcher_not_asked,
             Contains("constraint \"x below 8\" is a function, which is not on record"));
}

TEST_CASE("what cannot be replayed is refused", "[replay]") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(replay(folder.path()), Contains("experiment.db"));
  Experiment experiment = small_experiment(folder);
  experiment.isolation = Isolation::threads;
  experiment.space = {{"x", constant(1.0)}};
  experiment.stop = {{"training_iteration", 1}};
  struct Nameless final : TestScheduler {
    Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
      return Decision::proceed;
    }
  };
  experiment.scheduler = std::make_unique<Nameless>();
  tune_run<Descent>(experiment);
  CHECK_THROWS_AS(replay(folder.path() / "run"), std::invalid_argument);
  CHECK_THROWS_WITH(replay(folder.path() / "run"), Contains(R"(no scheduler "test")"));
}

// Journals as versions of tune have written them. docs/replay.md says how one is made.
TEST_CASE("stored journals are decided as they were", "[replay]") {
  std::vector<fs::path> stored;
  for (const auto& entry : fs::directory_iterator(STORED_JOURNALS)) {
    if (entry.path().extension() == ".db") stored.push_back(entry.path());
  }
  REQUIRE_FALSE(stored.empty());
  for (const fs::path& journal : stored) {
    INFO(journal);
    const TemporaryFolder folder;
    fs::copy_file(journal, folder.path() / "experiment.db");
    const ReplayReport report = replay(folder.path());
    INFO(printed(report));
    CHECK(report.is_same());
    CHECK(report.decisions > 0);
  }
}

}  // namespace
}  // namespace tune::test
