// Which small neural network classifies the images of Fashion-MNIST best? Random search (or the
// searcher of --searcher) proposes configurations, ASHA (or the scheduler of --scheduler) stops
// most of them after an epoch or three, and the best one's network is tested once, at the end, on
// images that had no part in the search.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <tune/trainables/mlp.hpp>
#include <tune/tune.hpp>

#include "options.hpp"

using tune::trainables::Mlp;

namespace {

constexpr int bad_options = 2;  // the exit code

tune::SearchSpace search_space() {
  return {
      {"optimizer", tune::branch({{"adam", {{"lr", tune::loguniform(1e-4, 1e-2)}}},
                                  {"sgd",
                                   {{"lr", tune::loguniform(3e-3, 3e-1)},
                                    {"momentum", tune::choice({0.8, 0.9, 0.95})}}}})},
      {"hidden", tune::choice({64, 128, 256, tune::Json::array({128, 64})})},
      {"batch_size", tune::choice({64, 128, 256})},
      {"dropout", tune::uniform(0.0, 0.5)},
  };
}

/// Whether the scheduler itself ends trials at max_epochs.
bool bounds_trials(const std::string& scheduler) {
  return scheduler != "fifo" && scheduler != "median_stopping" && scheduler != "pbt";
}

std::unique_ptr<tune::TrialScheduler> make_scheduler(const Options& options) {
  const std::string& name = options.scheduler;
  const auto max_t = static_cast<double>(options.max_epochs);
  if (name == "asha_promotion") {
    return tune::asha({.max_t = max_t, .reduction_factor = 3, .type = tune::AshaType::promotion});
  }
  if (name == "hyperband") return tune::hyperband({.max_t = max_t, .reduction_factor = 3});
  if (name == "successive_halving") {
    return tune::successive_halving({.max_t = max_t, .reduction_factor = 3});
  }
  if (name == "pasha") return tune::pasha({.max_t = max_t, .reduction_factor = 3});
  if (name == "median_stopping") {
    return tune::median_stopping({.time_attr = "training_iteration", .grace_period = 1});
  }
  if (name == "pbt") {
    return tune::pbt({.time_attr = "training_iteration",
                      .perturbation_interval = 2,
                      .hyperparam_mutations = {{"lr", tune::loguniform(1e-4, 1e-1)},
                                               {"dropout", tune::uniform(0.0, 0.5)}}});
  }
  if (name == "fifo") return tune::fifo();
  return tune::asha({.max_t = max_t, .grace_period = 1, .reduction_factor = 3});
}

tune::ResultGrid search(const Options& options) {
  tune::SearchSpace space = search_space();
  if (options.data != tune::trainables::fashion_mnist_folder) space.add("data", options.data);
  tune::Experiment experiment{
      .name = options.name,
      .storage_path = options.storage,
      .space = space,
      .metric = "val_accuracy",
      .mode = tune::Mode::max,
      .num_samples = options.samples,
      .searcher = tune::make_searcher(options.searcher),
      .scheduler = make_scheduler(options),
      .checkpoint = {.every = 1, .keep = 1},
      .seed = options.seed,
  };
  if (!bounds_trials(options.scheduler)) {
    experiment.stop = {{"training_iteration", static_cast<double>(options.max_epochs)}};
  }
  if (options.cpus) experiment.local.cpus = *options.cpus;
  return tune::tune_run<Mlp>(experiment);
}

/// The network as it was saved last, on the test images.
tune::trainables::Evaluation test(const tune::TrialResult& trial) {
  if (!trial.checkpoint) throw std::runtime_error(trial.name + " has no checkpoint");
  Mlp mlp;
  mlp.setup(trial.config);
  mlp.load_checkpoint(trial.checkpoint->path);
  return mlp.evaluate_test();
}

/// Begins a line of the summary.
std::ostream& line(const std::string& name) {
  return std::cout << std::left << std::setw(16) << name << std::right;
}

void print_test(const tune::ResultGrid& results) {
  // The last accuracy counts, not the best on the way: it is the one that the checkpoint has.
  const tune::TrialResult& best = results.best(tune::Scope::last);
  const tune::trainables::Evaluation tested = test(best);
  line("test accuracy") << tested.accuracy << " of " << tested.images
                        << " images, by the network of trial " << best.id << " after epoch "
                        << best.checkpoint->training_iteration << '\n';
}

void print_savings(const tune::ResultGrid& results, std::int64_t max_epochs) {
  std::int64_t epochs = 0;
  std::int64_t stopped = 0;
  for (const tune::TrialResult& trial : results) {
    epochs += trial.training_iteration;
    const bool ended_well = trial.state == tune::TrialState::terminated;
    if (ended_well && trial.training_iteration < max_epochs) ++stopped;
  }
  const std::int64_t all = static_cast<std::int64_t>(results.size()) * max_epochs;
  const double saved = 1 - static_cast<double>(epochs) / static_cast<double>(all);
  line("stopped early") << stopped << " of " << results.size() << " trials: " << epochs << " of "
                        << all << " epochs trained, " << std::lround(100 * saved) << " % saved\n";
}

int run(const Options& options) {
  try {
    Mlp::preload(options.data);
  } catch (const std::exception& error) {
    std::cerr << "fashion_mnist: " << error.what()
              << "\nthe data set is in Debian's package dataset-fashion-mnist: apt-get install "
                 "dataset-fashion-mnist\n";
    return EXIT_FAILURE;
  }
  // While it runs, and at its end, tune itself shows how it goes.
  const tune::ResultGrid results = search(options);
  print_test(results);
  print_savings(results, options.max_epochs);
  return results.errors().empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);  // the trials run in worker processes, for which this program is started
  try {
    const std::optional<Options> options = parse_options(argc, argv);
    return options ? run(*options) : EXIT_SUCCESS;
  } catch (const std::invalid_argument& error) {
    std::cerr << "fashion_mnist: " << error.what() << "\n--help lists the options\n";
    return bad_options;
  } catch (const std::exception& error) {
    std::cerr << "fashion_mnist: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
