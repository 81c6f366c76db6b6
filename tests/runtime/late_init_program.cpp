// A program whose main() looks at its arguments before tune::init() does, and does not like those
// of a process that tune starts.
#include <iostream>

#include <tune/tune.hpp>

int main(int argc, char** argv) {
  if (argc > 1) return 2;
  tune::init(argc, argv);
  tune::Experiment experiment{.storage_path = ".", .num_samples = 8, .verbosity = 0};
  const auto results = tune::tune_run(
      [](const tune::Config&) {
        tune::track::report({{"x", 1}});
      },
      experiment);
  for (const tune::TrialResult& trial : results) std::cout << trial.error << '\n';
}
