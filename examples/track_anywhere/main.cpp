// One train function, both ways: `track_anywhere` trains once, by itself, and `track_anywhere
// search` tries several configurations of it. The files are the same.
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>

#include <tune/tune.hpp>

namespace fs = std::filesystem;

void train(const tune::Config& config) {
  const double lr = config.contains("lr") ? config["lr"].get<double>() : 0.1;
  int done = 0;
  double x = 0;
  if (const auto checkpoint = tune::track::checkpoint()) {
    std::ifstream file(*checkpoint / "state");
    if (!(file >> done >> x)) throw std::runtime_error("cannot read " + checkpoint->string());
  }
  while (done < 20 && !tune::track::should_stop()) {
    x -= lr * 2 * (x - 3);
    ++done;
    tune::track::log({{"x", x}});  // comes with the report
    tune::track::report({{"loss", (x - 3) * (x - 3)}}, [&](const fs::path& dir) {
      std::ofstream file(dir / "state");
      file << done << ' ' << std::setprecision(17) << x;  // 17 digits keep every bit of a double
      file.close();
      if (!file) throw std::runtime_error("cannot write " + dir.string());
    });
  }
}
TUNE_REGISTER_FUNCTION(train, {.checkpoints = true})

void show(const tune::ResultGrid& results) {
  for (const tune::TrialResult& trial : results) {
    std::cout << trial.name << ": " << tune::to_string(trial.state) << ", "
              << trial.history().size() << " iterations, loss "
              << trial.metrics.at("loss").as_double() << ", "
              << trial.checkpoint.value().path.filename().string() << '\n';
  }
}

int main(int argc, char** argv) {
  tune::init(argc, argv);
  if (argc > 1 && std::string(argv[1]) == "search") {
    const tune::ResultGrid results =
        tune::tune_run(train, {
                                  .space = {{"lr", tune::grid_search({0.05, 0.1, 0.2})}},
                                  .metric = "loss",
                                  .mode = tune::Mode::min,
                              });
    show(results);
    std::cout << "best " << results.best().config << '\n';
    return 0;
  }
  train(tune::track::config());  // starts a run below ~/tune_results
  const fs::path run = tune::track::context().trial_dir.parent_path();
  tune::track::finish();
  show(tune::ResultGrid::open(run));
}
