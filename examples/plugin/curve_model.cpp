#include <cmath>
#include <filesystem>
#include <fstream>

#include <tune/registry.hpp>
#include <tune/trainable.hpp>

namespace bold {

/// A loss that falls towards (x - 3)².
class CurveModel final : public tune::Trainable {
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
TUNE_REGISTER_TRAINABLE(CurveModel, "a loss that falls towards (x - 3)^2")

}  // namespace bold
