// Searches the learning rate of a line that is fitted data-parallel: each trial has two workers, on
// two machines if there are as many, and each of these has every second point.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <vector>

#include <tune/tune.hpp>

namespace {

/// What to add to slope and offset for this worker's points, on average, and their squared error.
std::vector<double> descend_on_shard(const tune::TrialWorker& worker, double slope, double offset) {
  constexpr std::size_t points = 1000;
  std::vector<double> sums(3);
  double count = 0;
  for (std::size_t i = worker.rank(); i < points; i += worker.size(), ++count) {
    const double x = static_cast<double>(i) / points;
    const double error = 2 * x - 1 - (slope * x + offset);
    sums[0] += error * x;
    sums[1] += error;
    sums[2] += error * error;
  }
  for (double& sum : sums) sum /= count;
  return sums;
}

/// The same on all workers, which so have the same model after each step.
tune::Json fit(tune::TrialWorker& worker, const tune::Json& model) {
  double slope = model.at("slope");
  double offset = model.at("offset");
  double loss = 0;
  for (int step = 0; step < 10; ++step) {
    const std::vector<double> mean =
        worker.all_reduce(descend_on_shard(worker, slope, offset), tune::Reduction::mean);
    slope += model.at("lr").get<double>() * mean[0];
    offset += model.at("lr").get<double>() * mean[1];
    loss = mean[2];
  }
  return {{"slope", slope}, {"offset", offset}, {"loss", loss}};
}
TUNE_REGISTER_WORKER_FUNCTION(fit);

class Line final : public tune::Trainable {
 public:
  void setup(const tune::Config& config) override { model_["lr"] = config["lr"].get<double>(); }

  tune::Metrics step() override {
    model_.update(context().workers().run("fit", model_).front());
    return {{"loss", model_["loss"].get<double>()}};
  }

  void save_checkpoint(const std::filesystem::path& dir) override {
    std::ofstream(dir / "model.json") << model_;
  }
  void load_checkpoint(const std::filesystem::path& dir) override {
    std::ifstream(dir / "model.json") >> model_;
  }

 private:
  tune::Json model_ = {{"slope", 0.0}, {"offset", 0.0}};
};
TUNE_REGISTER_TRAINABLE(Line)

}  // namespace

int main(int argc, char** argv) {
  tune::init(argc, argv);
  const tune::ResultGrid results = tune::tune_run<Line>({
      .storage_path = "results",
      .space = {{"lr", tune::loguniform(1e-2, 1.0)}},
      .metric = "loss",
      .mode = tune::Mode::min,
      .num_samples = 6,
      .resources = {.cpu = 0,
                    .workers = std::vector<tune::Bundle>(2, {.cpu = 1}),
                    .strategy = tune::GangStrategy::spread},
      .stop = {{"training_iteration", 5}},
      .checkpoint = {.every = 1},
      .seed = 1,
  });
  std::cout << "best " << results.best().config << '\n';
}
