#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <tune/trainable.hpp>

namespace tune::test {

/// What the search of chaos_program is, by its first argument; its second is the storage path, its
/// third the number of samples.
///
/// "fifo", "asha": short trials on several slots. "grid": 6 trials, one at a time, FIFO; the
/// program kills itself once checkpoint 3 of trial 3 is on record. "constants": ASHA over the
/// constants 8, 7, ..., 1, one at a time; it kills itself once trial 3 has ended. Both only the
/// first time.
inline constexpr std::int64_t chaos_iterations = 8;

/// The loss of iteration n at x: it falls, and those with x near 0.3 fall lowest.
inline double chaos_loss(double x, std::int64_t n) {
  return (x - 0.3) * (x - 0.3) + 1.0 / static_cast<double>(n);
}

/// Its metrics follow from configuration and iteration alone. Fails if it is started from anything
/// but the checkpoint that it must have.
class ChaosTrainable final : public Trainable {
 public:
  void setup(const Config& config) override { x_ = config["x"].get<double>(); }

  Metrics step() override {
    require(iteration_ >= context().start_iteration, "step", context().start_iteration);
    if (!has_stepped_)
      require(iteration_ == context().start_iteration, "the first step", context().start_iteration);
    has_stepped_ = true;
    ++iteration_;
    return {{"loss", chaos_loss(x_, iteration_)}, {"n", iteration_}, {"x", x_}};
  }

  void save_checkpoint(const std::filesystem::path& dir) override {
    std::ofstream out(dir / "state");
    out.precision(17);
    out << iteration_ << ' ' << x_;
    std::ofstream(dir / "weights") << std::string(1000 + static_cast<std::size_t>(iteration_), 'w');
  }

  void load_checkpoint(const std::filesystem::path& dir) override {
    double x = 0;
    std::ifstream(dir / "state") >> iteration_ >> x;
    require(x == x_, "the checkpoint is of another trial, iteration", iteration_);
    require(std::filesystem::file_size(dir / "weights") ==
                1000 + static_cast<std::uintmax_t>(iteration_),
            "the weights do not fit iteration", iteration_);
  }

 private:
  void require(bool condition, const std::string& what, std::int64_t wanted) const {
    if (condition) return;
    throw std::runtime_error(what + " " + std::to_string(wanted) + ", state is of " +
                             std::to_string(iteration_));
  }

  double x_ = 0;
  std::int64_t iteration_ = 0;
  bool has_stepped_ = false;
};

}  // namespace tune::test
