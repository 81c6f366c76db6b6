// A search whose trials leave files of all kinds behind, for the tests of nodes that share no file
// system with their driver:
//   travel_program STORAGE SAMPLES STEPS HOW WEIGHTS --tune-listen=... | --tune-join=...
// HOW: "fifo"; "pause": the first trial is paused after step 3; "pbt". A checkpoint has WEIGHTS
// bytes beside its state. A trial takes no step beyond the number in STORAGE/limit, if there is
// such a file.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <tune/tune.hpp>

namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out << content;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

/// Of a checkpoint after so many steps: nothing that could be mistaken for another's.
std::string weights(std::int64_t steps, std::size_t bytes) {
  std::string text(bytes, static_cast<char>('a' + steps % 26));
  for (std::size_t i = 0; i < bytes; i += 4096) text[i] = static_cast<char>(i / 4096);
  return text;
}

std::int64_t read_limit(const std::string& storage) {
  std::ifstream file(storage + "/limit");
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  if (file) file >> limit;
  return limit;
}

void train(const tune::Config& config) {
  const auto storage = config["storage"].get<std::string>();
  const auto bytes = config["weights"].get<std::size_t>();
  const tune::TrialContext& context = tune::track::context();
  std::int64_t steps = 0;
  if (const auto from = tune::track::checkpoint()) {
    steps = std::stoll(content_of(*from / "state"));
    if (content_of(*from / "deep" / "weights") != weights(steps, bytes)) {
      throw std::runtime_error("the weights of " + from->string() + " are not as they were");
    }
  }
  if (const auto saved = tune::track::load("count")) {
    if (content_of(saved->files.value() / "count") != std::to_string(saved->value.get<int>())) {
      throw std::runtime_error("the files of a saved value are not as they were");
    }
  }
  while (true) {
    ++steps;
    while (steps > read_limit(storage) && !tune::track::should_stop()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::cout << "step " << steps << " of " << context.trial_name << std::endl;
    std::cerr << "noise " << steps << std::endl;
    write(context.trial_dir / "notes.txt", "until step " + std::to_string(steps));
    fs::create_directories(context.trial_dir / "plots");
    write(context.trial_dir / "plots" / ("step" + std::to_string(steps)), "plot");
    tune::track::save("count", steps, [&](const fs::path& directory) {
      write(directory / "count", std::to_string(steps));
    });
    tune::track::report({{"loss", config["x"].get<double>() / static_cast<double>(steps)},
                         {"steps", steps},
                         {"place", context.trial_dir.string()}},
                        [&](const fs::path& directory) {
                          write(directory / "state", std::to_string(steps));
                          fs::create_directory(directory / "deep");
                          write(directory / "deep" / "weights", weights(steps, bytes));
                        });
  }
}
TUNE_REGISTER_FUNCTION(train, {.checkpoints = true})

/// Pauses the first trial once, for as long as there is a file STORAGE/hold.
class PauseOnce final : public tune::TrialScheduler {
 public:
  explicit PauseOnce(const std::string& storage) : hold_(storage + "/hold") {}
  tune::Decision on_trial_result(tune::SchedulerContext&, const tune::Trial& trial,
                                 const tune::Result& result) override {
    const bool is_due = result.training_iteration == 3 && trial.id() == tune::TrialId{0};
    if (!is_due || std::exchange(has_paused_, true)) return tune::Decision::proceed;
    return tune::Decision::pause;
  }
  std::optional<tune::TrialId> choose_trial_to_run(tune::SchedulerContext& context) override {
    if (const auto pending = TrialScheduler::choose_trial_to_run(context)) return pending;
    if (fs::exists(hold_)) return std::nullopt;
    for (const auto& [id, trial] : context.live_trials()) {
      if (trial.state() == tune::TrialState::paused) return id;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool needs_checkpoints() const override { return true; }

 private:
  fs::path hold_;
  bool has_paused_ = false;
};

std::unique_ptr<tune::TrialScheduler> make_scheduler(const std::string& how,
                                                     const std::string& storage) {
  if (how == "pause") return std::make_unique<PauseOnce>(storage);
  if (how != "pbt") return tune::fifo();
  return tune::pbt({.time_attr = "training_iteration",
                    .perturbation_interval = 2,
                    .hyperparam_mutations = {{"x", tune::uniform(0, 1)}},
                    .quantile_fraction = 0.5});
}

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);
  if (argc != 6) return 64;
  tune::Experiment experiment{
      .name = "run",
      .storage_path = argv[1],
      .space = {{"storage", tune::constant(argv[1])},
                {"weights", tune::constant(std::stoll(argv[5]))},
                {"x", tune::uniform(0, 1)}},
      .metric = "loss",
      .mode = tune::Mode::min,
      .num_samples = std::stoll(argv[2]),
      .searcher = tune::random_search(),
      .scheduler = make_scheduler(argv[4], argv[1]),
      .stop = {{"training_iteration", std::stod(argv[3])}},
      .checkpoint = {.every = 1, .keep = 2},
      .seed = 1,
      .exporters = {"json"},
      .verbosity = 0,
  };
  experiment.stop_grace = std::chrono::seconds(5);
  try {
    const tune::ResultGrid results = tune::tune_run("train", experiment);
    std::cout << results.experiment_end().terminated_trials << " of " << results.size()
              << std::endl;
  } catch (const std::exception& error) {
    std::cout << error.what() << std::endl;
    return 1;
  }
  return 0;
}
