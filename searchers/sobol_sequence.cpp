#include <algorithm>
#include <boost/random/sobol.hpp>
#include <utility>

#include <tune/random.hpp>

#include "digital_sequences.hpp"

namespace tune::searchers {
namespace {

constexpr unsigned index_bits = 32;
using Engine = boost::random::sobol_engine<std::uint32_t, index_bits>;

// The draws at a node of the tree of all points: by the first `depth` bits of the unscrambled one.
std::uint64_t draws_at(std::uint64_t key, unsigned depth, std::uint32_t first_bits) {
  return Random(key ^ (std::uint64_t{depth} << 32U | first_bits)).next();
}

}  // namespace

SobolSequence::SobolSequence(std::vector<std::uint64_t> keys)
    : keys_(std::move(keys)), tabled_(std::min(keys_.size(), most_dimensions)) {
  if (tabled_ == 0) return;
  Engine engine(tabled_);
  for (unsigned bit = 0; bit < index_bits; ++bit) {
    // Boost numbers its points in Gray code, from 1 on: this one has a single bit.
    engine.seed(static_cast<std::uint32_t>((std::uint64_t{1} << (bit + 1)) - 2));
    for (std::size_t d = 0; d < tabled_; ++d) directions_.push_back(engine());
  }
}

double SobolSequence::coordinate(std::uint64_t index, std::size_t d) const {
  if (d >= tabled_) return Random(keys_[d] ^ Random(index).next()).uniform();
  std::uint32_t point = 0;
  for (unsigned bit = 0; bit < index_bits; ++bit) {
    if ((index >> bit & 1U) != 0) point ^= directions_[bit * tabled_ + d];
  }
  std::uint32_t flips = 0;
  for (unsigned depth = 0; depth < index_bits; ++depth) {
    const std::uint32_t before = depth == 0 ? 0 : point >> (index_bits - depth);
    const auto flip = static_cast<std::uint32_t>(draws_at(keys_[d], depth, before) >> 63U);
    flips |= flip << (index_bits - 1 - depth);
  }
  // Below its last bit a point is random.
  const std::uint64_t rest = draws_at(keys_[d], index_bits, point) >> 43U;
  return static_cast<double>(std::uint64_t{point ^ flips} << 21U | rest) * 0x1p-53;
}

}  // namespace tune::searchers
