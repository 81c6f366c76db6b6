#include "core/resources_json.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "core/number_text.hpp"
#include "core/option_reader.hpp"

namespace tune::core {
namespace {

template <class Request>
Json plain_json(const Request& request) {
  Json json = {{"cpu", request.cpu},
               {"gpu", request.gpu},
               {"memory", request.memory},
               {"custom", request.custom}};
  if (!request.labels.empty()) json["labels"] = request.labels;
  return json;
}

[[noreturn]] void refuse_member(const std::string& owner, const char* key, const Json& value,
                                const char* wanted) {
  throw std::invalid_argument(owner + ": " + key + " is " + value_text(value) + ", want " + wanted);
}

template <class Request>
void read_plain(OptionReader& reader, const std::string& owner, Request& request) {
  reader.read("cpu", request.cpu);
  reader.read("gpu", request.gpu);
  std::int64_t memory = 0;
  reader.read("memory", memory);
  if (memory < 0) refuse_member(owner, "memory", memory, "bytes from 0");
  request.memory = static_cast<std::uint64_t>(memory);
  Json custom = Json::object();
  reader.read("custom", custom);
  const bool are_numbers =
      custom.is_object() && std::all_of(custom.begin(), custom.end(),
                                        [](const Json& value) { return value.is_number(); });
  if (!are_numbers) refuse_member(owner, "custom", custom, "an object of numbers");
  for (const auto& [name, value] : custom.items()) request.custom[name] = value;
  Json labels = Json::object();
  reader.read("labels", labels);
  const bool are_texts =
      labels.is_object() && std::all_of(labels.begin(), labels.end(),
                                        [](const Json& value) { return value.is_string(); });
  if (!are_texts) refuse_member(owner, "labels", labels, "an object of texts");
  for (const auto& [name, value] : labels.items()) request.labels[name] = value;
}

Json bundle_json(const BundleRequest& bundle) {
  Json json = {{"amounts", bundle.amounts.amounts()}};
  if (!bundle.labels.empty()) json["labels"] = bundle.labels;
  return json;
}

BundleRequest bundle_from_json(const Json& json) {
  BundleRequest bundle{amounts_from_json(json.at("amounts"))};
  if (json.contains("labels")) json.at("labels").get_to(bundle.labels);
  return bundle;
}

}  // namespace

Json to_json(const Resources& resources) {
  if (resources.of) {
    throw std::invalid_argument(
        "resources: a function of the configuration cannot be recorded; give plain amounts");
  }
  Json json = plain_json(resources);
  if (resources.workers.empty()) return json;
  for (const Bundle& worker : resources.workers) json["workers"].push_back(plain_json(worker));
  json["strategy"] = to_string(resources.strategy);
  return json;
}

Resources resources_from_json(const Json& json) {
  Resources resources;
  OptionReader reader("resources", json);
  read_plain(reader, "resources", resources);
  Json workers = Json::array();
  reader.read("workers", workers);
  if (!workers.is_array()) refuse_member("resources", "workers", workers, "a list of bundles");
  for (const Json& worker : workers) {
    const std::string owner = "resources.workers[" + std::to_string(resources.workers.size()) + "]";
    OptionReader bundle_reader(owner, worker);
    read_plain(bundle_reader, owner, resources.workers.emplace_back());
    bundle_reader.finish();
  }
  std::string strategy(to_string(resources.strategy));
  reader.read("strategy", strategy);
  resources.strategy = gang_strategy_from_string(strategy);
  reader.finish();
  return resources;
}

Json to_json(const ResourceAmounts& amounts) { return amounts.amounts(); }

ResourceAmounts amounts_from_json(const Json& json) {
  ResourceAmounts amounts;
  for (const auto& [name, amount] : json.items()) amounts.set(name, amount.get<std::int64_t>());
  return amounts;
}

Json to_json(const ResourceRequest& request) {
  Json json = bundle_json(request.own);
  if (!request.is_gang()) return json;
  for (const BundleRequest& worker : request.workers)
    json["workers"].push_back(bundle_json(worker));
  json["strategy"] = to_string(request.strategy);
  return json;
}

ResourceRequest request_from_json(const Json& json) {
  ResourceRequest request;
  request.own = bundle_from_json(json);
  if (!json.contains("workers")) return request;
  for (const Json& worker : json.at("workers")) request.workers.push_back(bundle_from_json(worker));
  request.strategy = gang_strategy_from_string(json.at("strategy").get<std::string>());
  return request;
}

std::string describe(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) text += (text.empty() ? "" : ", ") + name + "=" + value;
  return text;
}

bool has_labels(const Labels& labels, const Labels& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
    const auto found = labels.find(label.first);
    return found != labels.end() && found->second == label.second;
  });
}

}  // namespace tune::core
