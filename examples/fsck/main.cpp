// Checks the directory of an experiment: ./fsck results/fashion
// With --try it makes a small experiment first, and checks that.
//
// The exit code is 0 if all is sound, 1 if there is a fault, 2 if the arguments are wrong.
#include <filesystem>
#include <fstream>
#include <iostream>

#include <tune/tune.hpp>

class Parabola final : public tune::Trainable {
 public:
  void setup(const tune::Config& config) override { lr_ = config["lr"].get<double>(); }

  tune::Metrics step() override {
    x_ -= lr_ * 2 * (x_ - 3);
    return {{"loss", (x_ - 3) * (x_ - 3)}};
  }
  void save_checkpoint(const std::filesystem::path& dir) override {
    std::ofstream out(dir / "x");
    out.precision(17);
    out << x_;
  }
  void load_checkpoint(const std::filesystem::path& dir) override {
    std::ifstream(dir / "x") >> x_;
  }

 private:
  double lr_ = 0;
  double x_ = 0;
};

std::filesystem::path make_experiment() {
  return tune::tune_run<Parabola>({
                                      .name = "parabola",
                                      .storage_path = "results",
                                      .space = {{"lr", tune::loguniform(1e-4, 1.0)}},
                                      .metric = "loss",
                                      .mode = tune::Mode::min,
                                      .num_samples = 8,
                                      .scheduler = tune::asha({.max_t = 9}),
                                      .checkpoint = {.every = 2, .keep = 2},
                                      .seed = 1,
                                  })
      .path();
}

int main(int argc, char** argv) {
  tune::init(argc, argv);
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " <experiment directory>\n";
    return 2;
  }
  std::filesystem::path path = argv[1];
  if (path == "--try") path = make_experiment();
  const tune::FsckReport report = tune::fsck(path);
  report.print(std::cout);
  return report.is_sound() ? 0 : 1;
}
