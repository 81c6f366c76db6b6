// A search over several machines, for the tests that run it as driver and as nodes:
//   cluster_program STORAGE SAMPLES STEPS [WORD]... --tune-listen=... | --tune-join=...
// A trial takes no step beyond the number in STORAGE/limit, if there is such a file, until it is
// told to end. Words: "rarely": trials save only when they are told to; "deaf": they do not hear
// it; "licence": each needs one; "children": each starts a program that never ends; "marks": each
// says in STORAGE/reached_<its worker's process> which step it is in.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <tune/tune.hpp>

namespace {

/// Its loss is a value that is hard to pass on at some steps.
double loss_of(std::int64_t step) {
  using Limits = std::numeric_limits<double>;
  const double values[] = {1.5,  Limits::infinity(),  -Limits::infinity(), Limits::quiet_NaN(),
                           -0.0, Limits::denorm_min()};
  return values[static_cast<std::size_t>(step) % std::size(values)];
}

class Paced : public tune::Trainable {
 public:
  void setup(const tune::Config& config) override {
    limit_ = config["storage"].get<std::string>() + "/limit";
    is_deaf_ = config["deaf"].get<bool>();
    if (config["marks"].get<bool>()) {
      mark_ = config["storage"].get<std::string>() + "/reached_" + std::to_string(::getpid());
    }
    if (config["children"].get<bool>() && ::fork() == 0) {
      ::execl("/bin/sleep", "sleep", "1000", nullptr);
      ::_exit(1);
    }
  }
  tune::Metrics step() override {
    ++steps_;
    if (!mark_.empty()) std::ofstream(mark_) << steps_;
    while (steps_ > limit() && (is_deaf_ || !context().should_stop())) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return {{"loss", loss_of(steps_)}, {"steps", steps_}, {"worker", ::getpid()}};
  }
  void save_checkpoint(const std::filesystem::path& dir) override {
    std::ofstream(dir / "state") << steps_;
  }
  void load_checkpoint(const std::filesystem::path& dir) override {
    std::ifstream(dir / "state") >> steps_;
  }

 private:
  [[nodiscard]] std::int64_t limit() const {
    std::int64_t limit = 0;
    std::ifstream file(limit_);
    if (!file) return std::numeric_limits<std::int64_t>::max();
    file >> limit;
    return limit;
  }

  std::string limit_;
  std::string mark_;
  bool is_deaf_ = false;
  std::int64_t steps_ = 0;
};
TUNE_REGISTER_TRAINABLE(Paced)

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);
  if (argc < 4) return 64;
  const std::vector<std::string> words(argv + 4, argv + argc);
  const auto has = [&](const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  tune::Experiment experiment{
      .name = "run",
      .storage_path = argv[1],
      .space = {{"storage", tune::constant(argv[1])},
                {"deaf", tune::constant(has("deaf"))},
                {"children", tune::constant(has("children"))},
                {"marks", tune::constant(has("marks"))},
                {"x", tune::uniform(0, 1)}},
      .metric = "loss",
      .mode = tune::Mode::min,
      .num_samples = std::stoll(argv[2]),
      .searcher = tune::random_search(),
      .stop = {{"training_iteration", std::stod(argv[3])}},
      .checkpoint = {.every = has("rarely") ? 1000 : 1, .keep = 2},
      .seed = 1,
      .exporters = {"json"},
      .verbosity = 0,
  };
  if (has("licence")) experiment.resources.custom = {{"licence", 1}};
  experiment.stop_grace = std::chrono::seconds(5);
  try {
    const tune::ResultGrid results = tune::tune_run<Paced>(experiment);
    std::cout << results.experiment_end().terminated_trials << " of " << results.size()
              << std::endl;
  } catch (const std::exception& error) {
    std::cout << error.what() << std::endl;
    return 1;
  }
  return 0;
}
