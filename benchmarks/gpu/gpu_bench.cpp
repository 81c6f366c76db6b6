// What the GPU trainables make of one GPU: kernels, samples per second, workers side by side.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <tune/trainables/cuda_mlp.hpp>
#include <tune/tune.hpp>

#include "gpu_rows.hpp"

namespace {

using tune::bench::GpuRow;
using tune::trainables::CudaMlp;

struct Options {
  bool is_quick = false;
  std::string data{tune::trainables::fashion_mnist_folder};
  std::filesystem::path scratch = "gpu_bench_results";
  std::filesystem::path json;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(std::string(word) + " wants a value");
      return argv[++i];
    };
    if (word == "--quick") {
      options.is_quick = true;
    } else if (word == "--data") {
      options.data = value();
    } else if (word == "--scratch") {
      options.scratch = value();
    } else if (word == "--json") {
      options.json = value();
    } else {
      throw std::invalid_argument(
          "gpu_bench [--quick] [--data FOLDER] [--scratch FOLDER] [--json "
          "FILE], not " +
          std::string(word));
    }
  }
  return options;
}

tune::Experiment base(const Options& options, const std::string& name) {
  tune::Experiment experiment;
  experiment.name = name;
  experiment.storage_path = options.scratch.string();
  experiment.resume = tune::Resume::fresh;
  experiment.metric = "val_accuracy";
  experiment.mode = tune::Mode::max;
  experiment.local.cpus = 64;
  experiment.local.gpus = 1;
  experiment.verbosity = 0;
  return experiment;
}

constexpr std::int64_t training_images = 55'000;

/// Images a second of all workers together, the first epochs left out, in which they start.
double samples_per_second(const Options& options, int workers) {
  tune::Experiment experiment = base(options, "workers_" + std::to_string(workers));
  experiment.space = {{"hidden", tune::constant(512)},
                      {"batch_size", tune::constant(256)},
                      {"data", tune::constant(options.data)}};
  experiment.num_samples = workers;
  experiment.resources.gpu = std::max(0.001, static_cast<double>(1000 / workers) / 1000);
  const int epochs = options.is_quick ? 4 : 12;
  experiment.stop = {{"training_iteration", static_cast<double>(epochs)}};
  const tune::ResultGrid results = tune::tune_run<CudaMlp>(experiment);
  double rate = 0;
  for (const tune::TrialResult& trial : results) {
    if (!trial.error.empty()) throw std::runtime_error(trial.name + ": " + trial.error);
    const std::vector<tune::Result> history = trial.history();
    double seconds = 0;
    for (std::size_t i = 2; i < history.size(); ++i) seconds += history[i].time_this_iter_s;
    rate +=
        static_cast<double>(training_images) * static_cast<double>(history.size() - 2) / seconds;
  }
  return rate;
}

/// Seconds of one ASHA search.
double search_seconds(const Options& options, double share) {
  tune::Experiment experiment = base(options, "search_" + std::to_string(share));
  experiment.space = {{"lr", tune::loguniform(1e-4, 1e-2)},
                      {"hidden", tune::choice({256, 512, 1024})},
                      {"batch_size", tune::choice({128, 256, 512})},
                      {"dropout", tune::uniform(0.0, 0.5)},
                      {"data", tune::constant(options.data)}};
  experiment.num_samples = options.is_quick ? 9 : 27;
  experiment.resources.gpu = share;
  experiment.scheduler = tune::asha({.max_t = 9, .grace_period = 1, .reduction_factor = 3});
  const auto begin = std::chrono::steady_clock::now();
  const tune::ResultGrid results = tune::tune_run<CudaMlp>(experiment);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (!results.errors().empty()) throw std::runtime_error("a trial of the search failed");
  return seconds.count();
}

std::vector<GpuRow> measure(const Options& options) {
  std::vector<GpuRow> rows = tune::bench::measure_kernels(options.is_quick);
  double alone = 0;
  for (const int workers : {1, 2, 4, 8, 16}) {
    const double rate = samples_per_second(options, workers);
    if (workers == 1) alone = rate;
    rows.push_back({"training, " + std::to_string(workers) + " workers", rate, "images/s", alone,
                    "one worker"});
  }
  const double one_by_one = search_seconds(options, 1);
  rows.push_back({"ASHA search, one trial at a time", one_by_one, "s", 0, ""});
  rows.push_back({"ASHA search, 4 trials at a time", search_seconds(options, 0.25), "s", one_by_one,
                  "one at a time"});
  return rows;
}

void write_json(const std::vector<GpuRow>& rows, const std::string& device,
                const std::filesystem::path& file) {
  std::ofstream stream(file);
  for (const GpuRow& row : rows) {
    tune::Json json = {
        {"name", row.name}, {"value", row.value}, {"unit", row.unit}, {"device", device}};
    if (row.limit > 0) {
      json["limit"] = row.limit;
      json["what_limits"] = row.what_limits;
      json["ratio"] = row.value / row.limit;
    }
    stream << json.dump() << '\n';
  }
  stream.close();
  if (!stream) throw std::runtime_error("cannot write " + file.string());
}

void print(const std::vector<GpuRow>& rows, const std::string& device) {
  std::printf("%s\n%-40s %12s %-9s %7s\n", device.c_str(), "", "value", "unit", "ratio");
  for (const GpuRow& row : rows) {
    std::printf("%-40s %12.5g %-9s", row.name.c_str(), row.value, row.unit.c_str());
    if (row.limit > 0) std::printf(" %7.2f of %s", row.value / row.limit, row.what_limits.c_str());
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);
  try {
    const Options options = parse(argc, argv);
    const tune::trainables::CudaDevices devices = tune::trainables::cuda_devices();
    if (devices.count == 0) {
      std::cout << "skipped: " << devices.reason << '\n';
      return 77;
    }
    const std::string device = tune::trainables::describe_cuda_device(0);
    const std::vector<GpuRow> rows = measure(options);
    if (!options.json.empty()) write_json(rows, device, options.json);
    print(rows, device);
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::cerr << "gpu_bench: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
