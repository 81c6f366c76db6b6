#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "trainables/mlp/arithmetic.hpp"

namespace tune::trainables {

/// Mini-batch gradient descent with momentum, as PyTorch defines it (no dampening, no Nesterov).
struct SgdOptions {
  double lr = 0.1;        ///< Above 0.
  double momentum = 0.9;  ///< In [0, 1).
};

/// Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1.
struct AdamOptions {
  double lr = 1e-3;       ///< Above 0; the paper's alpha.
  double beta1 = 0.9;     ///< In [0, 1).
  double beta2 = 0.999;   ///< In [0, 1).
  double epsilon = 1e-8;  ///< Above 0.
};

using OptimizerOptions = std::variant<SgdOptions, AdamOptions>;

/// Changes parameters along their gradients, and remembers what it needs for the next step.
template <class Scalar>
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// "sgd" or "adam".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// One step. @pre both have the size that the optimizer was made for
  virtual void step(std::span<Scalar> parameters, std::span<const Scalar> gradients) = 0;
  /// What it remembers: arrays with an element a parameter. With steps() the whole of its state.
  [[nodiscard]] virtual std::vector<std::span<Scalar>> state() = 0;
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

 protected:
  std::int64_t steps_ = 0;
};

/// What is the same for all parameters in step number `time`, from 1 on.
template <class Scalar>
[[nodiscard]] AdamStep<Scalar> adam_step(const AdamOptions& options, std::int64_t time) {
  const auto t = static_cast<double>(time);
  return {.lr = static_cast<Scalar>(options.lr),
          .beta1 = static_cast<Scalar>(options.beta1),
          .beta2 = static_cast<Scalar>(options.beta2),
          .epsilon = static_cast<Scalar>(options.epsilon),
          .mean_correction = static_cast<Scalar>(1 / (1 - std::pow(options.beta1, t))),
          .square_correction = static_cast<Scalar>(1 / (1 - std::pow(options.beta2, t)))};
}

/// Makes an optimizer for that many parameters. Instantiated for float and double.
/// @throws std::invalid_argument naming an option out of range.
template <class Scalar>
[[nodiscard]] std::unique_ptr<Optimizer<Scalar>> make_optimizer(const OptimizerOptions& options,
                                                                std::size_t parameter_count);

extern template std::unique_ptr<Optimizer<float>> make_optimizer(const OptimizerOptions&,
                                                                 std::size_t);
extern template std::unique_ptr<Optimizer<double>> make_optimizer(const OptimizerOptions&,
                                                                  std::size_t);

}  // namespace tune::trainables
