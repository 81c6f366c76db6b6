#include "runtime/team_messages.hpp"

#include <stdexcept>

namespace tune::runtime {
namespace {

struct OrderJson {
  Json operator()(const TeamCall& c) const {
    return {{"call", c.call}, {"function", c.function}, {"argument", c.argument}};
  }
  Json operator()(const TeamRelease& r) const {
    return {{"call", r.call}, {"error", r.error}, {"values", r.values}};
  }
};

struct WordJson {
  Json operator()(const TeamAnswer& a) const { return {{"call", a.call}, {"answer", a.answer}}; }
  Json operator()(const TeamFault& f) const { return {{"call", f.call}, {"fault", f.text}}; }
  Json operator()(const TeamArrival& a) const {
    Json json = {{"call", a.call}, {"values", a.values}};
    if (a.is_reduction) json["reduction"] = static_cast<int>(a.reduction);
    return json;
  }
};

Reduction reduction_from(const Json& json) {
  const int kind = json.get<int>();
  if (kind < 0 || kind > static_cast<int>(Reduction::max)) {
    throw std::invalid_argument("a reduction of unknown kind " + std::to_string(kind));
  }
  return static_cast<Reduction>(kind);
}

}  // namespace

Json to_json(const TeamOrder& order) { return std::visit(OrderJson{}, order); }
Json to_json(const TeamWord& word) { return std::visit(WordJson{}, word); }

TeamOrder team_order_from_json(const Json& json) {
  const auto call = json.at("call").get<std::uint64_t>();
  if (json.contains("function")) return TeamCall{call, json.at("function"), json.at("argument")};
  return TeamRelease{call, json.at("error"), json.at("values").get<std::vector<double>>()};
}

TeamWord team_word_from_json(const Json& json) {
  const auto call = json.at("call").get<std::uint64_t>();
  if (json.contains("answer")) return TeamAnswer{call, json.at("answer")};
  if (json.contains("fault")) return TeamFault{call, json.at("fault")};
  TeamArrival arrival{.call = call, .values = json.at("values").get<std::vector<double>>()};
  if (json.contains("reduction")) {
    arrival.is_reduction = true;
    arrival.reduction = reduction_from(json.at("reduction"));
  }
  return arrival;
}

}  // namespace tune::runtime
