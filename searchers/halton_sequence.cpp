#include <algorithm>
#include <cmath>
#include <utility>

#include <tune/random.hpp>

#include "digital_sequences.hpp"

namespace tune::searchers {
namespace {

std::vector<std::uint64_t> first_primes(std::size_t count) {
  std::vector<std::uint64_t> primes;
  for (std::uint64_t number = 2; primes.size() < count; ++number) {
    const bool is_prime = std::none_of(primes.begin(), primes.end(), [&](std::uint64_t prime) {
      return prime * prime <= number && number % prime == 0;
    });
    if (is_prime) primes.push_back(number);
  }
  return primes;
}

}  // namespace

HaltonSequence::HaltonSequence(std::vector<std::uint64_t> keys)
    : keys_(std::move(keys)), primes_(first_primes(keys_.size())) {}

double HaltonSequence::coordinate(std::uint64_t index, std::size_t d) const {
  const std::uint64_t base = primes_[d];
  std::uint64_t before = 1;  // hash of the digits before
  double place = 0;
  double unit = 1;
  for (std::uint64_t depth = 0; unit > 0x1p-53; ++depth) {
    Random of_depth(keys_[d] ^ ~depth);
    Random of_node(keys_[d] ^ before);
    const std::uint64_t digit = index % base;
    const std::uint64_t factor = 1 + of_depth.below(base - 1);
    unit /= static_cast<double>(base);
    place += unit * static_cast<double>((factor * digit + of_node.below(base)) % base);
    before = Random(before + digit).next();
    index /= base;
  }
  return std::min(place, 1 - 0x1p-53);
}

}  // namespace tune::searchers
