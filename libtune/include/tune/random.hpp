#pragma once

#include <cstdint>
#include <string_view>

namespace tune {

/// A small generator whose whole sequence is a function of its key, so that draws do not depend on
/// the order in which things happened.
///
/// The key is mixed from (seed, purpose, id, index) with the output function of SplitMix64 (Steele,
/// Lea, Flood, "Fast splittable pseudorandom number generators", 2014), whose sequence follows.
/// Draws are the same on every platform, those of normal() as far as its std::log is. Not for
/// cryptography.
class Random {
 public:
  explicit Random(std::uint64_t key) : state_(key) {}
  Random(std::uint64_t seed, std::string_view purpose, std::uint64_t id = 0,
         std::uint64_t index = 0);

  /// 64 uniform bits.
  std::uint64_t next();
  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform();
  /// Standard normal.
  double normal();
  /// Uniform in [0, bound), without bias. @pre `bound > 0`
  std::uint64_t below(std::uint64_t bound);

  // What the standard library's algorithms ask of a generator.
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()() { return next(); }

 private:
  std::uint64_t state_;
};

/// A hash of text that is the same on every platform and in every version (FNV-1a, 64 bits).
[[nodiscard]] std::uint64_t stable_hash(std::string_view text);

/// The inverse of the standard normal distribution function.
/// @pre `0 < p < 1`. Relative error below 1e-15 (Wichura, algorithm AS 241, 1988).
[[nodiscard]] double normal_quantile(double p);

}  // namespace tune
