#pragma once

#include <cmath>
#include <cstdint>

/// In front of what a CUDA kernel calls too; nothing where another compiler reads it.
#ifdef __CUDACC__
#define TUNE_HOST_DEVICE __host__ __device__
#else
#define TUNE_HOST_DEVICE
#endif

/// The arithmetic of single elements, free of Eigen: what a kernel for another device computes too.
namespace tune::trainables {

template <class Scalar>
[[nodiscard]] TUNE_HOST_DEVICE inline Scalar relu(Scalar x) {
  return x < Scalar(0) ? Scalar(0) : x;  // in this form NaN stays NaN
}

/// The gradient before a ReLU, from the activation behind it and the gradient there.
template <class Scalar>
[[nodiscard]] TUNE_HOST_DEVICE inline Scalar relu_gradient(Scalar activation, Scalar gradient) {
  return activation > Scalar(0) ? gradient : Scalar(0);
}

/// Which elements a dropout layer keeps, as a function of key and index alone.
struct Dropout {
  double rate = 0;        ///< Chance of an element to be dropped, in [0, 1).
  std::uint64_t key = 0;  ///< One for each layer and batch.

  /// An element is dropped if its 32 random bits are below this.
  [[nodiscard]] std::uint32_t threshold() const {
    return static_cast<std::uint32_t>(rate * 4294967296.0);
  }
  /// What kept elements are multiplied by, so that the mean stays ("inverted" dropout).
  [[nodiscard]] double scale() const { return 1 / (1 - rate); }
};

/// 32 random bits for element `index`: the upper half of output `index` of SplitMix64 from `key`
/// (Steele, Lea, Flood, 2014), found without those before it.
[[nodiscard]] TUNE_HOST_DEVICE inline std::uint32_t random_bits(std::uint64_t key,
                                                                std::uint64_t index) {
  std::uint64_t z = key + (index + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
}

template <class Scalar>
[[nodiscard]] TUNE_HOST_DEVICE inline Scalar drop(Scalar x, std::uint32_t bits,
                                                  std::uint32_t threshold, Scalar scale) {
  return bits < threshold ? Scalar(0) : x * scale;
}

/// The gradient of the mean cross-entropy of a batch for one logit, whose softmax is `probability`.
/// `share` is 1 / batch size.
template <class Scalar>
[[nodiscard]] TUNE_HOST_DEVICE inline Scalar cross_entropy_gradient(Scalar probability,
                                                                    bool is_label, Scalar share) {
  return (probability - (is_label ? Scalar(1) : Scalar(0))) * share;
}

/// Momentum as PyTorch has it: velocity = momentum * velocity + gradient, step = lr * velocity.
template <class Scalar>
TUNE_HOST_DEVICE inline void sgd_update(Scalar& parameter, Scalar& velocity, Scalar gradient,
                                        Scalar lr, Scalar momentum) {
  velocity = momentum * velocity + gradient;
  parameter -= lr * velocity;
}

/// What is the same for all elements in one step of Adam.
template <class Scalar>
struct AdamStep {
  Scalar lr;
  Scalar beta1;
  Scalar beta2;
  Scalar epsilon;
  Scalar mean_correction;    ///< 1 / (1 - beta1^t)
  Scalar square_correction;  ///< 1 / (1 - beta2^t)
};

/// Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1.
template <class Scalar>
TUNE_HOST_DEVICE inline void adam_update(Scalar& parameter, Scalar& mean, Scalar& square,
                                         Scalar gradient, const AdamStep<Scalar>& step) {
  mean = step.beta1 * mean + (Scalar(1) - step.beta1) * gradient;
  square = step.beta2 * square + (Scalar(1) - step.beta2) * gradient * gradient;
  parameter -= step.lr * (mean * step.mean_correction) /
               (std::sqrt(square * step.square_correction) + step.epsilon);
}

}  // namespace tune::trainables
