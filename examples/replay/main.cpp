// Goes through an experiment on record once more, and shows what its scheduler decided and why:
//
//   ./replay results/fashion
//   ./replay --until 120 results/fashion
//   ./replay --tune-plugin=./mine.so results/fashion    # one with a plugin's scheduler
//
// With --try it makes a small experiment first, and goes through that.
//
// The exit code is 0 if the scheduler decides today as it did then, 1 if not, 2 if the arguments
// are wrong or it cannot be done.
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

#include <tune/tune.hpp>

namespace {

void train(const tune::Config& config) {
  double x = 0;
  for (int i = 0; i < 9; ++i) {
    x -= config["lr"].get<double>() * 2 * (x - 3);
    tune::track::report({{"loss", (x - 3) * (x - 3)}});
  }
}
TUNE_REGISTER_FUNCTION(train)

std::filesystem::path make_experiment() {
  return tune::tune_run(
             train,
             {
                 .name = "parabola",
                 .storage_path = "results",
                 .space = {{"lr", tune::loguniform(1e-4, 1.0)}},
                 .metric = "loss",
                 .mode = tune::Mode::min,
                 .num_samples = 9,
                 .scheduler = tune::asha({.max_t = 9, .grace_period = 1, .reduction_factor = 3}),
                 .seed = 1,
                 .exporters = {},
             })
      .path();
}

int show(const std::filesystem::path& path, const tune::ReplayOptions& options) {
  const tune::ReplayReport report = tune::replay(path, options);
  report.print(std::cout);
  return report.is_same() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);
  tune::ReplayOptions options;
  options.on_decision = [](const tune::ReplayedDecision& decision) { decision.print(std::cout); };
  try {
    if (argc == 4 && std::string(argv[1]) == "--until") {
      options.until = std::stoll(argv[2]);
      return show(argv[3], options);
    }
    if (argc == 2) {
      return show(argv[1] == std::string("--try") ? make_experiment() : argv[1], options);
    }
    std::cerr << "usage: " << argv[0] << " [--until EVENT] <experiment directory>\n";
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  }
  return 2;
}
