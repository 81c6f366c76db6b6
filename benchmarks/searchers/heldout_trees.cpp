#include "heldout_trees.hpp"

#include <cmath>
#include <string>

#include "problem_parts.hpp"

namespace tune::bench {
namespace {

double log10_of(const Config& config, const char* name) { return std::log10(number(config, name)); }

double linear_value(const Config& config) {
  if (text(config, "penalty") == "l1") return 0.35 + 0.03 * square(log10_of(config, "alpha") + 3);
  return 0.30 + 0.03 * square(log10_of(config, "alpha") + 1);
}

double conv_value(const Config& config) {
  const double kernel = number(config, "kernel");
  return 0.08 + 0.02 * square(number(config, "depth") - 3) +
         0.06 * square(log10_of(config, "lr") + 2) + 0.015 * (kernel - 3);
}

double dense_value(const Config& config) {
  const double w = std::log2(number(config, "width")) - 8;
  const double sum = 0.02 * square(number(config, "depth") - 2) + 0.01 * w * w +
                     0.05 * square(log10_of(config, "lr") + 3.5 + 0.3 * w);
  if (text(config, "optimizer") == "sgd") {
    return sum + 0.04 + 0.3 * square(number(config, "momentum") - 0.9);
  }
  return sum + 0.02 * square(log10_of(config, "decay") + 4);
}

SearchSpace deep_tree_space() {
  const Domain alpha = loguniform(1e-5, 10);
  const Domain lr = loguniform(1e-5, 1);
  const SearchSpace linear = {
      {"penalty", branch({{"l1", {{"alpha", alpha}}}, {"l2", {{"alpha", alpha}}}})}};
  const SearchSpace conv = {{"lr", lr}, {"kernel", choice({3, 5, 7})}};
  const SearchSpace dense = {
      {"lr", lr},
      {"width", lograndint(16, 1025)},
      {"optimizer", branch({{"sgd", {{"momentum", uniform(0, 0.99)}}},
                            {"adam", {{"decay", loguniform(1e-6, 1e-1)}}}})}};
  const SearchSpace net = {{"depth", randint(1, 7)},
                           {"body", branch({{"conv", conv}, {"dense", dense}})}};
  return {{"model", branch({{"linear", linear}, {"net", net}})}};
}

double preparation_value(const Config& config) {
  const std::string preparation = text(config, "preparation");
  if (preparation == "none") return 0.12;
  if (preparation == "pca") return 0.02 * square(std::log2(number(config, "components")) - 4);
  return 0.05 + 0.3 * square(number(config, "share") - 0.3);
}

double knn_value(const Config& config) {
  return 0.10 + 0.05 * square(std::log2(number(config, "k")) - 3) +
         (text(config, "weights") == "uniform" ? 0.04 : 0) +
         (text(config, "preparation") == "pca" ? 0 : 0.10);
}

double forest_value(const Config& config) {
  return 0.06 + 0.004 * square(number(config, "max_depth") - 10) +
         0.05 * square(std::log10(number(config, "trees") / 300)) -
         (text(config, "preparation") == "none" ? 0.08 : 0);
}

double logistic_value(const Config& config) {
  const double c = log10_of(config, "C") - 1;
  const std::string preparation = text(config, "preparation");
  if (preparation != "select") return (preparation == "pca" ? 0.15 : 0.10) + 0.04 * c * c;
  return 0.08 * square(c + 2 * (number(config, "share") - 0.3));
}

}  // namespace

Problem deep_tree() {
  return {.name = "deep_tree",
          .about = "a tree of 4 levels; one name in two branches, twice",
          .space = deep_tree_space(),
          .value =
              [](const Config& config) {
                if (text(config, "model") == "linear") return linear_value(config);
                return text(config, "body") == "conv" ? conv_value(config) : dense_value(config);
              },
          .optimum = 0,
          .optimum_at = {{"model", "net"},
                         {"depth", 2},
                         {"body", "dense"},
                         {"lr", std::pow(10, -3.5)},
                         {"width", 256},
                         {"optimizer", "adam"},
                         {"decay", 1e-4}}};
}

Problem twin_tree() {
  return {
      .name = "twin_tree",
      .about = "two choices with parameters each, which depend on each other",
      .space = {{"preparation", branch({{"none", {}},
                                        {"pca", {{"components", lograndint(2, 65)}}},
                                        {"select", {{"share", uniform(0.05, 1)}}}})},
                {"model",
                 branch(
                     {{"knn",
                       {{"k", lograndint(1, 101)}, {"weights", choice({"uniform", "distance"})}}},
                      {"forest", {{"trees", qrandint(50, 500, 50)}, {"max_depth", randint(2, 21)}}},
                      {"logistic", {{"C", loguniform(1e-4, 1e4)}}}})}},
      .value =
          [](const Config& config) {
            const std::string model = text(config, "model");
            const double own = model == "knn"      ? knn_value(config)
                               : model == "forest" ? forest_value(config)
                                                   : logistic_value(config);
            return preparation_value(config) + own;
          },
      .optimum = 0.05,
      .optimum_at = {
          {"preparation", "select"}, {"share", 0.3}, {"model", "logistic"}, {"C", 10.0}}};
}

}  // namespace tune::bench
