// How soon does an interrupted experiment go on?
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "benchmarks/raw_journal.hpp"
#include "cases.hpp"
#include "store/journal.hpp"
#include "subjects.hpp"

namespace tune::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t no_trial = -1;
// The trial that interrupts the experiment, as Ctrl-C does, and waits to be told of it.
std::atomic<std::int64_t> interrupting_trial{no_trial};

class Interrupting final : public Trainable {
 public:
  void setup(const Config&) override {
    if (static_cast<std::int64_t>(context().trial_id.value()) == interrupting_trial.load()) {
      ::kill(::getpid(), SIGINT);
      while (!context().should_stop()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  Metrics step() override { return {{"loss", 1.0 / static_cast<double>(++steps_)}}; }

 private:
  std::int64_t steps_ = 0;
};

/// Remembers when the first result came.
class FirstResult final : public Callback {
 public:
  void on_trial_result(const TrialInfo&, const Result&) override {
    if (!time_) time_ = Clock::now();
  }
  [[nodiscard]] Clock::time_point time() const {
    if (!time_) throw std::runtime_error("no result came");
    return *time_;
  }

 private:
  std::optional<Clock::time_point> time_;
};

/// Follows all trials and stops none; with or without a state of its own to go on from.
class Follower final : public TrialScheduler {
 public:
  explicit Follower(bool saves) : saves_(saves) {}
  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    context.no_decision_before(trial.id(), 1e9);
  }
  Decision on_trial_result(SchedulerContext&, const Trial& trial, const Result& result) override {
    double& best = best_.try_emplace(trial.id(), result.target()).first->second;
    if (result.target() < best) best = result.target();
    return Decision::proceed;
  }
  [[nodiscard]] Json save() const override {
    if (!saves_) return {};
    Json state = Json::array();
    for (const auto& [id, best] : best_) state.push_back({id.value(), best});
    return state;
  }
  void restore(const Json& state) override {
    for (const Json& entry : state) {
      best_[TrialId{entry.at(0).get<std::uint64_t>()}] = entry.at(1).get<double>();
    }
  }
  [[nodiscard]] Json options() const override { return {{"name", "follower"}}; }

 private:
  bool saves_;
  std::map<TrialId, double> best_;
};

Experiment experiment_in(const fs::path& directory, std::int64_t trials) {
  Experiment experiment = plain_experiment(directory);
  experiment.num_samples = trials + 1;  // one interrupts all
  experiment.stop = {{"training_iteration", 100.0}};
  experiment.exit_on_signal = false;
  return experiment;
}

/// Reads the whole journal in the order of its events, as a resume has to.
double seconds_to_read(const fs::path& file) {
  RawJournal database(file);
  RawStatement rows(database.get(),
                    "SELECT * FROM events LEFT JOIN all_results ON id = number ORDER BY number");
  return seconds_of([&] {
    while (rows.step()) {
    }
  });
}

/// Trials of 100 results each, and one more that interrupts all.
void run_until_interrupted(const fs::path& directory, std::int64_t trials, bool saves) {
  Experiment experiment = experiment_in(directory, trials);
  experiment.scheduler = std::make_unique<Follower>(saves);
  interrupting_trial = trials;
  const ResultGrid results = tune_run<Interrupting>(experiment);
  interrupting_trial = no_trial;
  if (!results.interrupted()) {
    throw std::runtime_error("the experiment was not interrupted");
  }
}

std::vector<Measurement> first_result(const Options& options, bool saves) {
  const std::int64_t trials = options.scaled(1000);
  return {repeated(options,
                   {.name = "resume/first_result",
                    .parameters = {{"results", trials * 100}, {"scheduler_saves", saves}},
                    .unit = "ms",
                    .limit_is = "plain SQLite reads all rows"},
                   [&] {
                     const ScratchDirectory directory(options);
                     run_until_interrupted(directory.path(), trials, saves);
                     const double limit =
                         seconds_to_read(directory.path() / "bench" / store::journal_file);
                     Experiment experiment = experiment_in(directory.path(), trials);
                     experiment.scheduler = std::make_unique<Follower>(saves);
                     const auto first = std::make_shared<FirstResult>();
                     experiment.callbacks = {first};
                     const Clock::time_point begin = Clock::now();
                     (void)tune_run<Interrupting>(experiment);
                     const std::chrono::duration<double, std::milli> taken = first->time() - begin;
                     return Sample{taken.count(), 1000 * limit};
                   })};
}

}  // namespace

std::vector<BenchCase> resume_cases() {
  std::vector<BenchCase> cases;
  for (const bool saves : {true, false}) {
    cases.push_back({std::string("resume/first_result/") + (saves ? "snapshot" : "replay"),
                     "from the call of tune_run to the first new result of an experiment that was "
                     "interrupted",
                     [=](const Options& o) { return first_result(o, saves); }});
  }
  return cases;
}

}  // namespace tune::bench
