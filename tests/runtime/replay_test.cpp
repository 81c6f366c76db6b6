#include <tune/replay.hpp>

#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/schedulers/asha.hpp>

#include "run_support.hpp"

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
    }
    fs::path path;
    std::vector<ReplayReport> reports;
  };
  const TemporaryFolder folder;
  const auto callback = std::make_shared<ReplayAtEnd>(folder.path() / "run");
  Experiment experiment = asha_experiment(folder);
  experiment.callbacks = {callback};
  tune_run<Descent>(experiment);
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
