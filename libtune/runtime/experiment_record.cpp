#include "experiment_record.hpp"

#include <random>
#include <string_view>

namespace tune::runtime {

std::uint64_t draw_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::string draw_experiment_id() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string id;
  std::uint64_t bits = draw_seed();
  for (int i = 0; i < 16; ++i, bits >>= 4) id += digits[bits & 15];
  return id;
}

Json describe(const CheckpointOptions& options) {
  return {{"every", options.every},
          {"keep", options.keep},
          {"keep_best", options.keep_best},
          {"metric", options.metric.empty() ? Json() : Json(options.metric)},
          {"mode", options.mode ? Json(to_string(*options.mode)) : Json()},
          {"at_end", options.at_end}};
}

}  // namespace tune::runtime
