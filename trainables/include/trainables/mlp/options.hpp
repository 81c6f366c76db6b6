#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <tune/config.hpp>

#include "trainables/mlp/optimizer.hpp"

namespace tune::trainables {

/// A configuration of Mlp, checked. The keys and their meaning stand at Mlp.
struct MlpOptions {
  std::filesystem::path data;
  std::vector<std::int64_t> hidden;
  OptimizerOptions optimizer;
  std::int64_t batch_size = 0;
  double dropout = 0;
  std::int64_t validation_images = 0;
};

/// @throws InvalidConfig naming a key that is unknown or of the wrong type, or a value out of
/// range.
[[nodiscard]] MlpOptions mlp_options(const Config& config);

}  // namespace tune::trainables
