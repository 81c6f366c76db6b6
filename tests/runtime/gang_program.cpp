// A search of gangs over several machines, for the tests that run it as driver and as nodes:
//   gang_program STORAGE SAMPLES STEPS --tune-listen=... | --tune-join=...
// STORAGE/gang.json says what a gang is: {"workers": 2, "strategy": "spread", "numbers": 3,
// "padding": 0}. In each step the workers meet at a barrier and add up vectors of that many
// numbers; what they are asked and what they answer has so many bytes more. The worker whose rank
// and step are in STORAGE/hold comes to the barrier once that file is gone. Each prints both, and
// writes a line to STORAGE/arrived before: the trial's number, its rank, the step, NODE of its
// environment, its process.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tune/tune.hpp>

namespace {

std::string node_name() {
  const char* name = std::getenv("NODE");
  return name == nullptr ? "driver" : name;
}

void append_line(const std::string& file, const std::string& line) {
  const int out = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (::write(out, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw std::runtime_error("cannot write " + file);
  }
  ::close(out);
}

/// What a worker adds: sums of these depend on the order.
std::vector<double> numbers_of(std::size_t rank, std::size_t count) {
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = (rank % 2 == 0 ? 1e16 : -1e16) + 0.1 * static_cast<double>(i + rank);
  }
  return numbers;
}

tune::Json meets(tune::TrialWorker& worker, const tune::Json& argument) {
  const auto storage = argument.at("storage").get<std::string>();
  const std::string place = std::to_string(worker.rank()) + " " + argument.at("step").dump();
  std::cout << "worker and step " << place << std::endl;
  append_line(storage + "/arrived", argument.at("trial").get<std::string>() + " " + place + " " +
                                        node_name() + " " + std::to_string(::getpid()) + "\n");
  while (true) {
    std::string held;
    std::ifstream file(storage + "/hold");
    std::getline(file, held);
    if (held != place) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  worker.barrier();
  const std::size_t count = argument.at("numbers");
  const std::vector<double> sums = worker.all_reduce(numbers_of(worker.rank(), count));
  std::vector<double> expected = numbers_of(0, count);
  for (std::size_t other = 1; other < worker.size(); ++other) {
    const std::vector<double> numbers = numbers_of(other, count);
    for (std::size_t i = 0; i < count; ++i) expected[i] += numbers[i];
  }
  return {
      {"node", node_name()}, {"is_exact", sums == expected}, {"padding", argument.at("padding")}};
}
TUNE_REGISTER_WORKER_FUNCTION(meets);

class Gang : public tune::Trainable {
 public:
  void setup(const tune::Config& config) override {
    argument_ = {{"storage", config["storage"].get<std::string>()},
                 {"numbers", config["numbers"].get<std::int64_t>()},
                 {"padding", std::string(config["padding"].get<std::size_t>(), 'x')},
                 {"trial", context().trial_name.substr(0, 5)}};
  }
  tune::Metrics step() override {
    argument_["step"] = ++steps_;
    std::string nodes = node_name();
    bool is_exact = true;
    for (const tune::Json& answer : context().workers().run("meets", argument_)) {
      nodes += " " + answer.at("node").get<std::string>();
      is_exact = is_exact && answer.at("is_exact").get<bool>() &&
                 answer.at("padding") == argument_.at("padding");
    }
    return {{"loss", 1.0}, {"nodes", nodes}, {"is_exact", is_exact}};
  }
  void save_checkpoint(const std::filesystem::path& dir) override {
    std::ofstream(dir / "state") << steps_;
  }
  void load_checkpoint(const std::filesystem::path& dir) override {
    std::ifstream(dir / "state") >> steps_;
  }

 private:
  tune::Json argument_;
  std::int64_t steps_ = 0;
};
TUNE_REGISTER_TRAINABLE(Gang)

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);
  if (argc != 4) return 64;
  const std::string storage = argv[1];
  tune::Json gang;
  std::ifstream(storage + "/gang.json") >> gang;
  tune::Experiment experiment{
      .name = "run",
      .storage_path = storage,
      .space = {{"storage", tune::constant(storage)},
                {"numbers", tune::constant(gang.at("numbers").get<std::int64_t>())},
                {"padding", tune::constant(gang.at("padding").get<std::int64_t>())},
                {"x", tune::uniform(0, 1)}},
      .metric = "loss",
      .mode = tune::Mode::min,
      .num_samples = std::stoll(argv[2]),
      .searcher = tune::random_search(),
      .resources = {.workers = std::vector<tune::Bundle>(gang.at("workers").get<std::size_t>()),
                    .strategy =
                        tune::gang_strategy_from_string(gang.at("strategy").get<std::string>())},
      .stop = {{"training_iteration", std::stod(argv[3])}},
      .checkpoint = {.every = 1, .keep = 2},
      .seed = 1,
      .exporters = {"json"},
      .verbosity = 0,
  };
  experiment.stop_grace = std::chrono::seconds(5);
  try {
    const tune::ResultGrid results = tune::tune_run<Gang>(experiment);
    std::cout << results.experiment_end().terminated_trials << " of " << results.size()
              << std::endl;
    for (const tune::TrialResult& trial : results) {
      if (!trial.error.empty()) std::cout << trial.error << std::endl;
    }
  } catch (const std::exception& error) {
    std::cout << error.what() << std::endl;
    return 1;
  }
  return 0;
}
