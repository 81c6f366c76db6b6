// A program with options of its own beside tune's, for the tests that run it: prints each argument
// that tune::init() leaves it, and then runs an experiment for each --run and --run-other among
// them.
#include <exception>
#include <iostream>
#include <string_view>
#include <vector>

#include <tune/tune.hpp>

namespace {

void train(const tune::Config& config) {
  tune::track::report({{"loss", config["x"].get<double>()}});
}
TUNE_REGISTER_FUNCTION(train)

void run(const char* name) {
  tune::Experiment experiment{
      .name = name,
      .storage_path = "/nowhere",
      .space = {{"x", tune::uniform(0.0, 1.0)}},
      .metric = "loss",
      .mode = tune::Mode::min,
      .num_samples = 3,
      .seed = 1,
      .isolation = tune::Isolation::processes,
      .local = {.cpus = 1},
      .exporters = {},
      .verbosity = 0,
  };
  const tune::ResultGrid results = tune::tune_run(train, experiment);
  std::cout << results.size() << " trials of " << experiment.num_samples << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);
  std::vector<const char*> names;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    std::cout << argument << std::endl;
    if (argument == "--run") names.push_back("set_by_the_program");
    if (argument == "--run-other") names.push_back("another");
  }
  std::cout << (argv[argc] == nullptr ? "end" : "argv has no end") << std::endl;
  try {
    for (const char* name : names) run(name);
  } catch (const std::exception& error) {
    std::cout << error.what() << std::endl;
    return 1;
  }
  return 0;
}
