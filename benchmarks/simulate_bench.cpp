// How many simulated events a second? 1,000 workers train 10,000 trials under ASHA.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include <tune/schedulers/builtin.hpp>
#include <tune/tune.hpp>

namespace {

/// Of this process, which has one thread: others that use the machine do not count.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Case {
  const char* name;
  tune::Json options;
  std::int64_t workers;
  std::int64_t nodes;
  std::int64_t trials;
};

/// A curve that costs next to nothing to compute.
tune::SimulatedStep cheap_curve(const tune::Config& config, std::int64_t iteration) {
  const double x = config["x"].get<double>();
  return {.metrics = {{"loss", x + 1 / static_cast<double>(iteration)}},
          .seconds = 0.5 + x,
          .done = iteration >= 100};
}

/// Peak memory of this process so far, in MB.
double peak_mb() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != "VmHWM:") continue;
    double kb = 0;
    status >> kb;
    return kb / 1024;
  }
  return 0;
}

void measure(const Case& measured, bool is_quick) {
  tune::Experiment experiment;
  experiment.searcher = tune::random_search();
  experiment.space = {{"x", tune::uniform(0, 1)}};
  experiment.metric = "loss";
  experiment.mode = tune::Mode::min;
  experiment.num_samples = is_quick ? 100 : measured.trials;
  experiment.scheduler = tune::make_scheduler("asha", measured.options);
  experiment.seed = 1;
  tune::Cluster cluster;
  cluster.nodes = is_quick ? 1 : measured.nodes;
  cluster.node.cpus = static_cast<double>(is_quick ? 10 : measured.workers / measured.nodes);
  const auto work = tune::curve_model(cheap_curve);
  const double begin = cpu_seconds();
  const tune::Simulation simulation =
      tune::simulate(experiment, cluster, work, {.keep_history = false});
  const double seconds = cpu_seconds() - begin;
  std::printf(
      "simulate/%s: %.3g s of a core, %llu events, %.3g events/s, %.3g simulated s, peak %.0f MB\n",
      measured.name, seconds, static_cast<unsigned long long>(simulation.events),
      static_cast<double>(simulation.events) / seconds, simulation.timeline.end_s, peak_mb());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool is_quick = argc == 2 && std::string_view(argv[1]) == "--quick";
    if (argc > 1 && !is_quick) {
      std::cerr << "simulate_bench [--quick]\n";
      return 2;
    }
    tune::register_builtin_schedulers();
    const tune::Json stopping = {{"max_t", 100}, {"reduction_factor", 4}};
    const tune::Json lenient = {{"max_t", 100}, {"grace_period", 100}, {"reduction_factor", 4}};
    const tune::Json promotion = {{"max_t", 100}, {"reduction_factor", 4}, {"type", "promotion"}};
    for (const Case& measured :
         {Case{"asha", stopping, 1000, 1, 10'000}, Case{"asha_no_stops", lenient, 1000, 1, 10'000},
          Case{"asha_promotion", promotion, 1000, 1, 10'000},
          Case{"asha_125_nodes", stopping, 1000, 125, 10'000}}) {
      measure(measured, is_quick);
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "simulate_bench: " << error.what() << '\n';
    return 1;
  }
}
