#include "trainables/mlp/optimizer.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string>

namespace tune::trainables {
namespace {

std::string shortest_text(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

void check_positive(const std::string& name, double value) {
  if (!(value > 0 && std::isfinite(value))) {
    throw std::invalid_argument(name + " is " + shortest_text(value) + ", want a value above 0");
  }
}

void check_decay(const std::string& name, double value) {
  if (!(value >= 0 && value < 1)) {
    throw std::invalid_argument(name + " is " + shortest_text(value) + ", allowed is [0, 1)");
  }
}

template <class Scalar>
class Sgd final : public Optimizer<Scalar> {
 public:
  Sgd(const SgdOptions& options, std::size_t parameter_count)
      : lr_(static_cast<Scalar>(options.lr)),
        momentum_(static_cast<Scalar>(options.momentum)),
        velocity_(parameter_count) {
    check_positive("lr", options.lr);
    check_decay("momentum", options.momentum);
  }

  [[nodiscard]] std::string_view name() const override { return "sgd"; }

  void step(std::span<Scalar> parameters, std::span<const Scalar> gradients) override {
    ++this->steps_;
    for (std::size_t i = 0; i < velocity_.size(); ++i) {
      sgd_update(parameters[i], velocity_[i], gradients[i], lr_, momentum_);
    }
  }

  [[nodiscard]] std::vector<std::span<Scalar>> state() override { return {velocity_}; }

 private:
  Scalar lr_;
  Scalar momentum_;
  std::vector<Scalar> velocity_;
};

template <class Scalar>
class Adam final : public Optimizer<Scalar> {
 public:
  Adam(const AdamOptions& options, std::size_t parameter_count)
      : options_(options), mean_(parameter_count), square_(parameter_count) {
    check_positive("lr", options.lr);
    check_decay("beta1", options.beta1);
    check_decay("beta2", options.beta2);
    check_positive("epsilon", options.epsilon);
  }

  [[nodiscard]] std::string_view name() const override { return "adam"; }

  void step(std::span<Scalar> parameters, std::span<const Scalar> gradients) override {
    ++this->steps_;
    const AdamStep<Scalar> step = adam_step<Scalar>(options_, this->steps_);
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      adam_update(parameters[i], mean_[i], square_[i], gradients[i], step);
    }
  }

  [[nodiscard]] std::vector<std::span<Scalar>> state() override { return {mean_, square_}; }

 private:
  AdamOptions options_;
  std::vector<Scalar> mean_;    // the paper's m
  std::vector<Scalar> square_;  // the paper's v
};

}  // namespace

template <class Scalar>
std::unique_ptr<Optimizer<Scalar>> make_optimizer(const OptimizerOptions& options,
                                                  std::size_t parameter_count) {
  if (const auto* sgd = std::get_if<SgdOptions>(&options)) {
    return std::make_unique<Sgd<Scalar>>(*sgd, parameter_count);
  }
  return std::make_unique<Adam<Scalar>>(std::get<AdamOptions>(options), parameter_count);
}

template std::unique_ptr<Optimizer<float>> make_optimizer(const OptimizerOptions&, std::size_t);
template std::unique_ptr<Optimizer<double>> make_optimizer(const OptimizerOptions&, std::size_t);

}  // namespace tune::trainables
