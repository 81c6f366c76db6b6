#include "trainables/mlp/options.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include <tune/error.hpp>
#include <tune/trainables/mlp.hpp>

namespace tune::trainables {
namespace {

template <class T>
T value_or(const Config& config, std::string_view key, T fallback) {
  return config.contains(key) ? config[key].template get<T>() : fallback;
}

[[noreturn]] void refuse(const std::string& key, const std::string& value,
                         const std::string& allowed) {
  throw InvalidConfig("mlp: " + key + " is " + value + ", allowed is " + allowed);
}

// Bounds the number of parameters too: no product of two widths comes near an overflow.
constexpr std::int64_t largest_width = 65536;

std::int64_t at_least_one(const std::string& key, std::int64_t value) {
  if (value < 1) refuse(key, std::to_string(value), "at least 1");
  return value;
}

void check_keys(const Config& config, const std::string& optimizer) {
  static constexpr std::array always = {"data",       "hidden",  "optimizer",        "lr",
                                        "batch_size", "dropout", "validation_images"};
  static constexpr std::array sgd_only = {"momentum"};
  static constexpr std::array adam_only = {"beta1", "beta2", "epsilon"};
  const auto is_among = [](const auto& keys, const std::string& key) {
    return std::ranges::find(keys, key) != keys.end();
  };
  for (const auto& item : config.json().items()) {
    if (is_among(always, item.key())) continue;
    const bool is_sgd = is_among(sgd_only, item.key());
    const bool is_adam = is_among(adam_only, item.key());
    if (!is_sgd && !is_adam) {
      throw InvalidConfig("mlp: unknown key " + item.key() +
                          ", known are data, hidden, optimizer, lr, momentum, beta1, beta2, "
                          "epsilon, batch_size, dropout, validation_images");
    }
    if (is_sgd != (optimizer == "sgd")) {
      throw InvalidConfig("mlp: key " + item.key() + " does not belong to optimizer " + optimizer);
    }
  }
}

OptimizerOptions optimizer_options(const Config& config, const std::string& optimizer) {
  if (optimizer == "sgd") {
    SgdOptions options;
    options.lr = value_or(config, "lr", options.lr);
    options.momentum = value_or(config, "momentum", options.momentum);
    return options;
  }
  AdamOptions options;
  options.lr = value_or(config, "lr", options.lr);
  options.beta1 = value_or(config, "beta1", options.beta1);
  options.beta2 = value_or(config, "beta2", options.beta2);
  options.epsilon = value_or(config, "epsilon", options.epsilon);
  return options;
}

std::vector<std::int64_t> hidden_sizes(const Config& config) {
  if (!config.contains("hidden")) return {128};
  const ConfigValue hidden = config["hidden"];
  auto sizes = hidden.json().is_array() ? hidden.get<std::vector<std::int64_t>>()
                                        : std::vector{hidden.get<std::int64_t>()};
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > largest_width) {
      refuse("hidden", std::to_string(size), "1 to " + std::to_string(largest_width));
    }
  }
  return sizes;
}

}  // namespace

MlpOptions mlp_options(const Config& config) try {
  MlpOptions options;
  const auto optimizer = value_or<std::string>(config, "optimizer", "adam");
  if (optimizer != "sgd" && optimizer != "adam") {
    refuse("optimizer", optimizer, "sgd or adam");
  }
  check_keys(config, optimizer);
  options.optimizer = optimizer_options(config, optimizer);
  (void)make_optimizer<float>(options.optimizer, 0);  // checks the values
  options.data = value_or(config, "data", std::string(fashion_mnist_folder));
  options.hidden = hidden_sizes(config);
  options.batch_size =
      at_least_one("batch_size", value_or<std::int64_t>(config, "batch_size", 128));
  options.validation_images =
      at_least_one("validation_images", value_or<std::int64_t>(config, "validation_images", 5000));
  options.dropout = value_or(config, "dropout", 0.0);
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    refuse("dropout", config["dropout"].json().dump(), "[0, 1)");
  }
  return options;
} catch (const std::invalid_argument& error) {
  throw InvalidConfig(std::string("mlp: ") + error.what());
}

}  // namespace tune::trainables
