#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/callback.hpp>
#include <tune/registry.hpp>

#include "run_support.hpp"
#include "support/scripted_searcher.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t trials = 5;

/// All but the first wait in their first step until there is a file "go".
class LateDescent final : public Descent {
 public:
  Metrics step() override {
    const fs::path storage = context().trial_dir.parent_path().parent_path();
    if (context().trial_id.value() > 0) wait_until([&] { return fs::exists(storage / "go"); });
    return Descent::step();
  }
};
TUNE_REGISTER_TRAINABLE(LateDescent)

/// Once one trial has ended and the others run, copies the experiment as a kill would leave it,
/// then lets it go on.
class Copier final : public Callback {
 public:
  explicit Copier(fs::path storage) : storage_(std::move(storage)) {}
  void on_trial_start(const TrialInfo&) override {
    ++started_;
    copy_if_due();
  }
  void on_trial_completed(const TrialInfo&, const TrialEnd&) override {
    ++ended_;
    copy_if_due();
  }

 private:
  void copy_if_due() {
    if (started_ < trials || ended_ != 1) return;
    fs::copy(storage_ / "run", storage_ / "copy", fs::copy_options::recursive);
    std::ofstream(storage_ / "go") << "";
  }

  fs::path storage_;
  std::int64_t started_ = 0;
  std::int64_t ended_ = 0;
};

Experiment late(const TemporaryFolder& folder, std::vector<std::string>& told) {
  Experiment experiment = small_experiment(folder);
  experiment.space = {{"x", uniform(1, 2)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.num_samples = trials;
  experiment.local = {.cpus = static_cast<double>(trials)};
  experiment.stop = {{"training_iteration", 3}};
  experiment.searcher = std::make_unique<ScriptedSearcher>(
      [](const SuggestionRequest& request) {
        return Config(Json{{"x", 1.0 + 0.1 * static_cast<double>(request.trial.value())}});
      },
      &told);
  return experiment;
}

TEST_CASE("RE-08: trials that had not reported when all was killed are unfinished, and no more",
          "[resume][RE-08]") {
  const TemporaryFolder folder;
  std::vector<std::string> told;
  Experiment first = late(folder, told);
  first.callbacks = {std::make_shared<Copier>(folder.path())};
  REQUIRE(tune_run<LateDescent>(first).size() == trials);

  const fs::path copy = folder.path() / "copy";
  {
    const ResultGrid grid = ResultGrid::open(copy);
    REQUIRE(grid.size() == trials);
    CHECK(grid.best().id == TrialId{0});
    for (const TrialResult& trial : grid) {
      CAPTURE(trial.id.value());
      const bool has_ended = trial.id == TrialId{0};
      CHECK(trial.state == (has_ended ? TrialState::terminated : TrialState::running));
      CHECK(trial.history().size() == (has_ended ? 3 : 0));
    }
  }

  told.clear();
  Experiment again = late(folder, told);
  again.name = "copy";
  const ResultGrid grid = tune_run<LateDescent>(again);
  for (const TrialResult& trial : grid) {
    CHECK(trial.state == TrialState::terminated);
    CHECK(iterations(trial) == counted_to(3));
  }
  // The searcher hears of them what they report now, and of no trial that failed or came to an end
  // before.
  for (std::int64_t id = 1; id < trials; ++id) {
    CAPTURE(id);
    const std::string number = std::to_string(id);
    std::vector<std::string> of_trial;
    std::copy_if(told.begin(), told.end(), std::back_inserter(of_trial),
                 [&](const std::string& line) {
                   return line.starts_with("result " + number + " ") ||
                          line == "completed " + number || line.starts_with("failed " + number);
                 });
    CHECK(of_trial == std::vector<std::string>{"result " + number + " 1", "result " + number + " 2",
                                               "result " + number + " 3", "completed " + number});
  }
}

}  // namespace
}  // namespace tune::test
