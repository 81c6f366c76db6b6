#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tune::searchers {

/// A scrambled low-discrepancy sequence: its point number `index`, computed by itself.
class DigitalSequence {
 public:
  virtual ~DigitalSequence() = default;
  /// Coordinate `d` of point `index`, in [0, 1).
  [[nodiscard]] virtual double coordinate(std::uint64_t index, std::size_t d) const = 0;
};

/// As sobol() describes it; a key for each dimension, by which it is scrambled. Points repeat after
/// 2^32.
class SobolSequence final : public DigitalSequence {
 public:
  /// Dimensions with direction numbers; coordinates of others are drawn by their key.
  static constexpr std::size_t most_dimensions = 3667;

  explicit SobolSequence(std::vector<std::uint64_t> keys);
  [[nodiscard]] double coordinate(std::uint64_t index, std::size_t d) const override;

 private:
  std::vector<std::uint64_t> keys_;
  std::size_t tabled_ = 0;                 // dimensions that have direction numbers
  std::vector<std::uint32_t> directions_;  // [bit of the index, dimension]
};

/// As halton() describes it.
class HaltonSequence final : public DigitalSequence {
 public:
  explicit HaltonSequence(std::vector<std::uint64_t> keys);
  [[nodiscard]] double coordinate(std::uint64_t index, std::size_t d) const override;

 private:
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint64_t> primes_;
};

}  // namespace tune::searchers
