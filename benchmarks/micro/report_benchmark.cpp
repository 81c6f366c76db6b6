// What does a row of each result file cost?
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "report/exporters.hpp"
#include "some_results.hpp"

namespace tune::bench {
namespace {

namespace fs = std::filesystem;

void on_trial_result_of(const std::string& exporter_name, benchmark::State& state) {
  const fs::path folder = fs::temp_directory_path() / ("micro_bench." + std::to_string(::getpid()));
  fs::create_directories(folder);
  const auto exporter = report::make_exporter(exporter_name, std::make_shared<report::FilePool>());
  TrialInfo trial;
  trial.name = "00000";
  trial.path = folder;
  trial.config = Config(Json{{"lr", 0.1}});
  trial.incarnation = 1;
  ExperimentInfo experiment;
  experiment.name = "bench";
  experiment.path = folder;
  exporter->on_experiment_start(experiment);
  exporter->on_trial_start(trial);
  std::int64_t iteration = 0;
  for (auto _ : state) {
    exporter->on_trial_result(trial, result_with(state.range(0), ++iteration));
  }
  exporter->on_idle();
  state.SetItemsProcessed(state.iterations());
  fs::remove_all(folder);
}

void JsonExporterOnTrialResult(benchmark::State& state) { on_trial_result_of("json", state); }
BENCHMARK(JsonExporterOnTrialResult)->ArgName("metrics")->Arg(1)->Arg(10);

void CsvExporterOnTrialResult(benchmark::State& state) { on_trial_result_of("csv", state); }
BENCHMARK(CsvExporterOnTrialResult)->ArgName("metrics")->Arg(1)->Arg(10);

void TensorboardExporterOnTrialResult(benchmark::State& state) {
  on_trial_result_of("tensorboard", state);
}
BENCHMARK(TensorboardExporterOnTrialResult)->ArgName("metrics")->Arg(1)->Arg(10);

}  // namespace
}  // namespace tune::bench
