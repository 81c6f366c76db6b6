#include <tune/random.hpp>

#include <array>
#include <cmath>
#include <cstddef>

namespace tune {
namespace {

// SplitMix64's increment: the odd integer closest to 2^64 divided by the golden ratio.
constexpr std::uint64_t splitmix_gamma = 0x9E3779B97F4A7C15U;

// SplitMix64's output function; a bijection.
std::uint64_t splitmix_output(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

// For a fixed `key` different parts give different keys.
std::uint64_t mix_in(std::uint64_t key, std::uint64_t part) {
  return splitmix_output((key ^ part) + splitmix_gamma);
}

// c[0] + c[1] x + ... by Horner's rule.
double polynomial(const std::array<double, 8>& coefficients, double x) {
  double sum = 0;
  for (std::size_t i = coefficients.size(); i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// AS 241, PPND16: numerators and denominators for the centre, the tails, and the far tails.
constexpr std::array<double, 8> centre_numerator = {
    3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
    1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
    3.3430575583588128105e4, 2.5090809287301226727e3};
constexpr std::array<double, 8> centre_denominator = {1.0,
                                                      4.2313330701600911252e1,
                                                      6.8718700749205790830e2,
                                                      5.3941960214247511077e3,
                                                      2.1213794301586595867e4,
                                                      3.9307895800092710610e4,
                                                      2.8729085735721942674e4,
                                                      5.2264952788528545610e3};
constexpr std::array<double, 8> tail_numerator = {
    1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
    3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
    2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr std::array<double, 8> tail_denominator = {1.0,
                                                    2.05319162663775882187e0,
                                                    1.67638483018380384940e0,
                                                    6.89767334985100004550e-1,
                                                    1.48103976427480074590e-1,
                                                    1.51986665636164571966e-2,
                                                    5.47593808499534494600e-4,
                                                    1.05075007164441684324e-9};
constexpr std::array<double, 8> far_numerator = {
    6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
    2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
    2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr std::array<double, 8> far_denominator = {1.0,
                                                   5.99832206555887937690e-1,
                                                   1.36929880922735805310e-1,
                                                   1.48753612908506148525e-2,
                                                   7.86869131145613259100e-4,
                                                   1.84631831751005468180e-5,
                                                   1.42151175831644588870e-7,
                                                   2.04426310338993978564e-15};

}  // namespace

Random::Random(std::uint64_t seed, std::string_view purpose, std::uint64_t id, std::uint64_t index)
    : state_(mix_in(mix_in(mix_in(mix_in(0, seed), stable_hash(purpose)), id), index)) {}

std::uint64_t Random::next() {
  state_ += splitmix_gamma;
  return splitmix_output(state_);
}

double Random::uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

double Random::normal() {
  // 52 bits and a half: never 0 or 1, and exact.
  return normal_quantile((static_cast<double>(next() >> 12U) + 0.5) * 0x1p-52);
}

std::uint64_t Random::below(std::uint64_t bound) {
  // 2^64 mod bound values are one too many for a fair remainder; the lowest ones are drawn again.
  const std::uint64_t unfair = (0 - bound) % bound;
  std::uint64_t bits = next();
  while (bits < unfair) bits = next();
  return bits % bound;
}

std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001B3U;
  }
  return hash;
}

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(centre_numerator, r) / polynomial(centre_denominator, r);
  }
  const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  const double size =
      r <= 5 ? polynomial(tail_numerator, r - 1.6) / polynomial(tail_denominator, r - 1.6)
             : polynomial(far_numerator, r - 5) / polynomial(far_denominator, r - 5);
  return q < 0 ? -size : size;
}

}  // namespace tune
