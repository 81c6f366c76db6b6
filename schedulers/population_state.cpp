// What a population scheduler keeps and says of itself.
#include "core/number_text.hpp"
#include "population_scheduler.hpp"
#include "saved_number.hpp"

namespace tune::schedulers {

Json PopulationScheduler::save_member(TrialId id, const Member& member) const {
  Json saved = {{"trial", id.value()},
                {"due", member.due},
                {"time", member.time},
                {"draws", member.draws},
                {"place", static_cast<int>(member.place)}};
  if (member.score) saved["score"] = saved_number(*member.score);
  if (member.exchange) {
    saved["exchange"] = {{"incarnation", member.exchange->incarnation},
                         {"donor", member.exchange->donor.value()},
                         {"config", member.exchange->config.json()}};
  }
  return saved;
}

Json PopulationScheduler::save() const {
  Json members = Json::array();
  for (const auto& [id, member] : members_) members.push_back(save_member(id, member));
  return {{"mode", mode_ ? Json(to_string(*mode_)) : Json()},
          {"members", std::move(members)},
          {"barrier", barrier_},
          {"exchanges", exchanges_}};
}

void PopulationScheduler::restore_member(const Json& saved) {
  const TrialId id{saved.at("trial").get<std::uint64_t>()};
  Member& member = members_[id];
  member.due = saved.at("due").get<double>();
  member.time = saved.at("time").get<double>();
  member.draws = saved.at("draws").get<std::uint64_t>();
  const int place = saved.at("place").get<int>();
  if (place < 0 || place > static_cast<int>(Place::ready)) {
    refuse("the saved state has a member in no place: " + saved.dump());
  }
  if (options_.synch) coming_.insert(id);
  set_place(id, member, static_cast<Place>(place));
  if (saved.contains("score")) {
    set_score(id, member, restored_number(saved.at("score"), options_.name));
  }
  if (saved.contains("exchange")) {
    const Json& exchange = saved.at("exchange");
    member.exchange =
        Exchange{exchange.at("incarnation").get<std::uint32_t>(),
                 TrialId{exchange.at("donor").get<std::uint64_t>()}, Config(exchange.at("config"))};
  }
}

void PopulationScheduler::restore(const Json& state) {
  members_.clear();
  ranking_.reset();
  mode_.reset();
  ready_.clear();
  waiting_.clear();
  coming_.clear();
  saving_.clear();
  if (!state.at("mode").is_null()) {
    mode_ = state.at("mode") == "min" ? Mode::min : Mode::max;
    ranking_.emplace(*mode_);
  }
  for (const Json& saved : state.at("members")) restore_member(saved);
  barrier_ = state.at("barrier").get<double>();
  exchanges_ = state.at("exchanges").get<std::uint64_t>();
}

Json PopulationScheduler::options() const {
  Json json = {{"name", options_.name},
               {"time_attr", options_.time_attr},
               {"perturbation_interval", options_.perturbation_interval},
               {"burn_in_period", options_.burn_in_period},
               {"quantile_fraction", options_.quantile_fraction},
               {"log_config", options_.log_config},
               {"synch", options_.synch}};
  if (!options_.metric.empty()) json["metric"] = options_.metric;
  if (options_.mode) json["mode"] = to_string(*options_.mode);
  return json;
}

std::string PopulationScheduler::describe() const {
  std::string text = options_.name + ": " + std::to_string(members_.size()) +
                     (members_.size() == 1 ? " member, " : " members, ") +
                     std::to_string(exchanges_) + (exchanges_ == 1 ? " exchange" : " exchanges");
  if (options_.synch) {
    text += "; " + std::to_string(waiting_.size()) + " wait at " + core::number_text(barrier_);
  }
  return text;
}

}  // namespace tune::schedulers
