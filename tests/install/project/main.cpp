// A search for the minimum of a parabola, as somebody would write it who has only the installed
// package. Its result is checked, so that the library also runs where it was installed.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <tune/tune.hpp>

class Parabola : public tune::Trainable {
 public:
  void setup(const tune::Config& config) override { x_ = config["x"].get<double>(); }

  tune::Metrics step() override {
    ++steps_;
    return {{"loss", (x_ - 3) * (x_ - 3) + 1.0 / steps_}};
  }

  void save_checkpoint(const std::filesystem::path& dir) override {
    std::ofstream(dir / "steps") << steps_;
  }

  void load_checkpoint(const std::filesystem::path& dir) override {
    std::ifstream(dir / "steps") >> steps_;
  }

 private:
  double x_ = 0;
  int steps_ = 0;
};
TUNE_REGISTER_TRAINABLE(Parabola)

int main(int argc, char** argv) {
  tune::init(argc, argv);
  tune::Experiment experiment{
      .name = "parabola",
      .storage_path = "results",
      .space = {{"x", tune::uniform(0, 6)}},
      .metric = "loss",
      .mode = tune::Mode::min,
      .num_samples = 20,
      .scheduler = tune::asha({.max_t = 9}),
      .stop = {{"training_iteration", 9}},
      .seed = 1,
  };
  const tune::ResultGrid results = tune::tune_run<Parabola>(experiment);
  const double x = results.best().config["x"].get<double>();
  std::cout << "best x: " << x << '\n';
  return std::abs(x - 3) < 1.5 ? 0 : 1;
}
