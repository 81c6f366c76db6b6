#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>

#include <tune/resources.hpp>
#include <tune/trial.hpp>

#include "core/number_text.hpp"
#include "core/resources_json.hpp"

namespace tune {
namespace {

constexpr std::array<std::string_view, 4> strategy_names = {"pack", "spread", "strict_pack",
                                                            "strict_spread"};
constexpr std::size_t most_workers = 1024;

void check_labels(const std::string& place, const Labels& labels) {
  if (!labels.contains("")) return;
  throw std::invalid_argument(place + "labels: a label needs a name, the one of value " +
                              core::value_text(labels.at("")) + " has none");
}

std::string describe_bundle(const BundleRequest& bundle) {
  std::string text = bundle.amounts.describe();
  if (!bundle.labels.empty()) text += " with " + core::describe(bundle.labels);
  return text;
}

}  // namespace

std::string_view to_string(GangStrategy strategy) {
  return strategy_names.at(static_cast<std::size_t>(strategy));
}

GangStrategy gang_strategy_from_string(std::string_view text) {
  for (std::size_t i = 0; i < strategy_names.size(); ++i) {
    if (text == strategy_names[i]) return static_cast<GangStrategy>(i);
  }
  throw std::invalid_argument("strategy is " + core::value_text(std::string(text)) +
                              ", want pack, spread, strict_pack or strict_spread");
}

ResourceRequest::ResourceRequest(const Resources& resources)
    : own{ResourceAmounts(resources), resources.labels}, strategy(resources.strategy) {
  check_labels("resource ", resources.labels);
  if (resources.workers.size() > most_workers) {
    throw std::invalid_argument("resource workers: " + std::to_string(resources.workers.size()) +
                                " of them, want at most " + std::to_string(most_workers));
  }
  for (const Bundle& bundle : resources.workers) {
    const std::string place = "resource workers[" + std::to_string(workers.size()) + "].";
    check_labels(place, bundle.labels);
    Labels labels = bundle.labels;
    labels.insert(resources.labels.begin(), resources.labels.end());  // its own come first
    workers.push_back({ResourceAmounts(bundle, place), std::move(labels)});
  }
}

ResourceAmounts ResourceRequest::total() const {
  ResourceAmounts sum = own.amounts;
  for (const BundleRequest& worker : workers) sum += worker.amounts;
  return sum;
}

std::string ResourceRequest::describe() const {
  std::string text = describe_bundle(own);
  for (std::size_t i = 0; i < workers.size();) {
    std::size_t end = i;
    while (end < workers.size() && workers[end] == workers[i]) ++end;
    text += (i == 0 ? " and " : ", ") + std::to_string(end - i) +
            (end - i == 1 ? " worker of " : " workers of ") + describe_bundle(workers[i]);
    i = end;
  }
  if (is_gang()) text += " (" + std::string(to_string(strategy)) + ")";
  return text;
}

const ResourceRequest& Trial::request() const {
  static const ResourceRequest none;
  return request_ ? *request_ : none;
}

}  // namespace tune
