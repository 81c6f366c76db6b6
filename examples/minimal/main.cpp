// Searches the learning rate with which gradient descent gets closest to the bottom of a parabola.
#include <iostream>

#include <tune/tune.hpp>

class Parabola final : public tune::Trainable {
 public:
  void setup(const tune::Config& config) override { lr_ = config["lr"].get<double>(); }

  tune::Metrics step() override {
    x_ -= lr_ * 2 * (x_ - 3);
    return {{"loss", (x_ - 3) * (x_ - 3)}};
  }

 private:
  double lr_ = 0;
  double x_ = 0;
};

int main(int argc, char** argv) {
  tune::init(argc, argv);
  const tune::ResultGrid results = tune::tune_run<Parabola>({
      .storage_path = "results",
      .space = {{"lr", tune::loguniform(1e-4, 1.0)}},
      .metric = "loss",
      .mode = tune::Mode::min,
      .num_samples = 20,
      .scheduler = tune::asha({.max_t = 16, .grace_period = 1, .reduction_factor = 2}),
      .seed = 1,
  });
  std::cout << "best " << results.best().config << '\n';
}
