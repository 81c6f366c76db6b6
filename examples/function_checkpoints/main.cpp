// A train function that saves what it needs to go on. Each trial fails once on purpose, is started
// again (`max_failures = 1`) and goes on from its last checkpoint.
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>

#include <tune/tune.hpp>

namespace fs = std::filesystem;

// Goes to the file `stdout` in the trial's directory.
void say(const std::string& text) {
  std::cout << "trial " << tune::track::context().trial_id << ' ' << text << '\n';
}

void train(const tune::Config& config) {
  const auto lr = config["lr"].get<double>();
  int done = 0;
  double x = 0;
  const auto checkpoint = tune::track::checkpoint();
  if (checkpoint) {
    std::ifstream file(*checkpoint / "state");
    if (!(file >> done >> x)) throw std::runtime_error("cannot read " + checkpoint->string());
    say("goes on after iteration " + std::to_string(done));
  }
  while (done < 10) {
    x -= lr * 2 * (x - 3);
    ++done;
    if (done == 6 && !checkpoint) {
      say("fails on purpose in iteration 6");
      throw std::runtime_error("on purpose");
    }
    // Called when a checkpoint is due, with an empty directory.
    const auto write = [&](const fs::path& dir) {
      std::ofstream file(dir / "state");
      file << done << ' ' << std::setprecision(17) << x;  // 17 digits keep every bit of a double
      file.close();
      if (!file) throw std::runtime_error("cannot write " + dir.string());
    };
    tune::track::report({{"loss", (x - 3) * (x - 3)}}, write);
  }
}
TUNE_REGISTER_FUNCTION(train, {.checkpoints = true})

int main(int argc, char** argv) {
  tune::init(argc, argv);
  tune::Experiment experiment{
      .storage_path = "results",
      .space = {{"lr", tune::grid_search({0.01, 0.1, 0.3})}},
      .metric = "loss",
      .mode = tune::Mode::min,
      .checkpoint = {.every = 2},
      .failure = {.max_failures = 1},
      .seed = 1,
  };
  const tune::ResultGrid results = tune::tune_run(train, experiment);
  for (const tune::TrialResult& trial : results) {
    std::cout << trial.name << ": " << tune::to_string(trial.state) << ", iterations";
    for (const tune::Result& result : trial.history()) {
      std::cout << ' ' << result.training_iteration;
    }
    std::cout << ", loss " << trial.metrics.at("loss").as_double() << '\n';
    std::ifstream output(trial.path / "stdout");
    for (std::string line; std::getline(output, line);) std::cout << "  it said: " << line << '\n';
  }
}
