#include "exchange_chain.hpp"

#include <cstddef>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>

#include <tune/schedulers/pbt_replay.hpp>

#include "core/number_text.hpp"

namespace tune {
namespace schedulers {
namespace {

// The newest exchange of `trial` up to `step`, of those before `end`.
std::optional<std::size_t> last_exchange(const std::vector<LoggedExchange>& exchanges,
                                         std::size_t end, const std::string& trial,
                                         std::int64_t step) {
  for (std::size_t i = end; i-- > 0;) {
    if (exchanges[i].trial == trial && exchanges[i].step <= step) return i;
  }
  return std::nullopt;
}

// Exchanges from the newest back to the first.
std::vector<std::size_t> exchanges_behind(const std::vector<LoggedExchange>& exchanges,
                                          std::string trial) {
  std::vector<std::size_t> chain;
  std::int64_t step = std::numeric_limits<std::int64_t>::max();
  std::size_t end = exchanges.size();
  while (const auto index = last_exchange(exchanges, end, trial, step)) {
    chain.push_back(*index);
    trial = exchanges[*index].donor;
    step = exchanges[*index].checkpoint;
    end = *index;
  }
  return chain;
}

void append_configuration(Json& policy, std::int64_t step, const Json& config) {
  if (!policy.empty() && policy.back().at("step") == step) policy.erase(policy.size() - 1);
  policy.push_back({{"step", step}, {"config", config}});
}

std::optional<LoggedExchange> exchange_of_line(const std::string& line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const bool is_exchange = json.is_array() && json.size() == 6 && json[0].is_string() &&
                           json[1].is_string() && json[2].is_number_integer() &&
                           json[3].is_number_integer() && json[4].is_object() &&
                           json[5].is_object();
  if (!is_exchange) return std::nullopt;
  return LoggedExchange{.trial = json[0].get<std::string>(),
                        .donor = json[1].get<std::string>(),
                        .step = json[2].get<std::int64_t>(),
                        .checkpoint = json[3].get<std::int64_t>(),
                        .donor_config = json[4],
                        .config = json[5]};
}

}  // namespace

Json policy_behind(const std::vector<LoggedExchange>& exchanges, const std::string& trial) {
  Json policy = Json::array();
  std::int64_t age = 0;       // iterations that the weights were trained
  std::int64_t taken_at = 0;  // the counter of the trial when it got the weights followed here
  const std::vector<std::size_t> chain = exchanges_behind(exchanges, trial);
  for (auto place = chain.rbegin(); place != chain.rend(); ++place) {
    const LoggedExchange& exchange = exchanges[*place];
    if (policy.empty()) append_configuration(policy, 0, exchange.donor_config);
    age += exchange.checkpoint - taken_at;
    append_configuration(policy, age, exchange.config);
    taken_at = exchange.step;
  }
  return policy;
}

Json policy_of_log(const std::string& text, const std::string& place) {
  std::vector<LoggedExchange> exchanges;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) continue;
    std::optional<LoggedExchange> exchange = exchange_of_line(line);
    if (!exchange) {
      throw std::invalid_argument(place + ", line " + std::to_string(number) + " is " +
                                  core::value_text(line) +
                                  ", want [trial, donor, step, step of the donor, {...}, {...}]");
    }
    exchanges.push_back(*std::move(exchange));
  }
  if (exchanges.empty()) throw std::invalid_argument(place + " has no lines, want one at least");
  return policy_behind(exchanges, exchanges.back().trial);
}

}  // namespace schedulers

Json pbt_policy(const Json& records, TrialId trial) {
  if (!records.is_array()) {
    throw std::invalid_argument("pbt_policy: records is " + core::value_text(records) +
                                ", want a list of exchanges");
  }
  std::vector<schedulers::LoggedExchange> exchanges;
  for (const Json& record : records) {
    if (!record.is_object() || !record.contains("donor")) continue;
    try {
      exchanges.push_back({.trial = std::to_string(record.at("trial").get<std::uint64_t>()),
                           .donor = std::to_string(record.at("donor").get<std::uint64_t>()),
                           .step = record.at("step").get<std::int64_t>(),
                           .checkpoint = record.at("checkpoint").get<std::int64_t>(),
                           .donor_config = record.at("donor_config"),
                           .config = record.at("config")});
    } catch (const Json::exception& error) {
      throw std::invalid_argument("pbt_policy: a record is " + core::value_text(record) + ": " +
                                  error.what());
    }
  }
  return schedulers::policy_behind(exchanges, std::to_string(trial.value()));
}

}  // namespace tune
