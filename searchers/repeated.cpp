#include <tune/searchers/repeated.hpp>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/saved_number.hpp"

namespace tune {
namespace {

class Repeated final : public Searcher {
 public:
  Repeated(std::unique_ptr<Searcher> searcher, std::int64_t repeats)
      : searcher_(std::move(searcher)), repeats_(repeats) {
    if (!searcher_) throw std::invalid_argument("repeated: searcher must be a searcher, is none");
    if (repeats < 1) {
      throw std::invalid_argument("repeated: repeats must be at least 1, is " +
                                  std::to_string(repeats));
    }
  }

  void setup(const SearcherSetup& setup) override {
    space_ = setup.space;
    groups_.clear();
    group_of_.clear();
    next_group_ = 0;
    SearcherSetup as_groups = setup;
    if (setup.trials) as_groups.trials = *setup.trials / static_cast<std::uint64_t>(repeats_);
    searcher_->setup(as_groups);
  }

  Suggestion suggest(const SuggestionRequest& request) override {
    is_repetition_ = false;
    for (const auto& [number, group] : groups_) {
      if (group.left == 0 || !agrees(group.values, request.fixed.json())) continue;
      is_repetition_ = true;
      return Config(group.values);
    }
    SuggestionRequest as_group = request;
    as_group.trial = TrialId(next_group_);
    return searcher_->suggest(as_group);
  }

  [[nodiscard]] bool is_repetition() const override {
    return is_repetition_ || searcher_->is_repetition();
  }

  void on_trial_added(TrialId id, const Config& config) override {
    const Json values = chosen_values(config.json());
    const auto open = std::find_if(groups_.begin(), groups_.end(), [&](const auto& entry) {
      return entry.second.left > 0 && is_identical(entry.second.values, values);
    });
    if (open != groups_.end()) {
      --open->second.left;
      group_of_[id] = open->first;
      return;
    }
    const std::uint64_t number = next_group_++;
    groups_[number] = {.values = values, .config = config.json(), .left = repeats_ - 1};
    group_of_[id] = number;
    searcher_->on_trial_added(TrialId(number), config);
  }

  void on_trial_completed(TrialId id, const Config&, const Result& last) override {
    if (last.training_iteration == 0) return end(id, {.kind = Outcome::Kind::failed});
    const bool is_stopped = last.stopped_by_scheduler;
    end(id, {.kind = is_stopped ? Outcome::Kind::stopped : Outcome::Kind::completed,
             .value = last.target(),
             .iteration = last.training_iteration});
  }

  void on_trial_failed(TrialId id, const Config&, bool infeasible) override {
    end(id, {.kind = infeasible ? Outcome::Kind::infeasible : Outcome::Kind::failed});
  }

  [[nodiscard]] bool wants_results() const override { return false; }
  [[nodiscard]] std::string take_note() override { return searcher_->take_note(); }
  [[nodiscard]] std::optional<Objective> objective() const override {
    return searcher_->objective();
  }
  [[nodiscard]] bool needs_metric() const override { return searcher_->needs_metric(); }
  // What enumerates everything runs it num_samples times, and has nothing to learn from a mean.
  [[nodiscard]] bool enumerates() const override { return searcher_->enumerates(); }

  [[nodiscard]] Json save() const override {
    Json searcher = searcher_->save();
    if (searcher.is_null()) return nullptr;  // it is rebuilt from the record, and so is this
    Json groups = Json::array();
    for (const auto& [number, group] : groups_) {
      Json ended = Json::array();
      for (const Outcome& outcome : group.ended) {
        ended.push_back(
            {static_cast<int>(outcome.kind), core::saved_number(outcome.value), outcome.iteration});
      }
      groups.push_back({number, group.values, group.config, group.left, std::move(ended)});
    }
    Json members = Json::array();
    for (const auto& [id, number] : group_of_) members.push_back({id.value(), number});
    return {{"searcher", std::move(searcher)},
            {"next", next_group_},
            {"groups", std::move(groups)},
            {"members", std::move(members)}};
  }

  void restore(const Json& state) override {
    if (state.is_null()) return searcher_->restore(state);
    searcher_->restore(state.at("searcher"));
    next_group_ = state.at("next").get<std::uint64_t>();
    groups_.clear();
    for (const Json& entry : state.at("groups")) {
      Group& group = groups_[entry.at(0).get<std::uint64_t>()];
      group.values = entry.at(1);
      group.config = entry.at(2);
      group.left = entry.at(3).get<std::int64_t>();
      for (const Json& outcome : entry.at(4)) {
        group.ended.push_back({.kind = static_cast<Outcome::Kind>(outcome.at(0).get<int>()),
                               .value = core::restored_number(outcome.at(1), "repeated"),
                               .iteration = outcome.at(2).get<std::int64_t>()});
      }
    }
    group_of_.clear();
    for (const Json& entry : state.at("members")) {
      group_of_[TrialId{entry.at(0).get<std::uint64_t>()}] = entry.at(1).get<std::uint64_t>();
    }
  }

  [[nodiscard]] Json options() const override {
    return {{"name", "repeated"}, {"searcher", searcher_->options()}, {"repeats", repeats_}};
  }

 private:
  struct Outcome {
    enum class Kind { completed, stopped, failed, infeasible };
    Kind kind = Kind::failed;
    double value = 0;
    std::int64_t iteration = 0;
  };
  // The trials of one configuration.
  struct Group {
    Json values;            // what was chosen for it
    Json config;            // its first trial's, functions included
    std::int64_t left = 0;  // trials that are still to come
    std::vector<Outcome> ended = {};
  };

  // A function may give each trial another value.
  [[nodiscard]] Json chosen_values(const Json& config) const {
    Json values = Json::object();
    for (const SearchSpace::Parameter& parameter : space_->parameters()) {
      const Domain::Kind kind = parameter.domain.kind();
      if (kind == Domain::Kind::constant || kind == Domain::Kind::sample_from) continue;
      const Json* value = find_path(config, parameter.names);
      if (value != nullptr) set_path(values, parameter.names, *value);
    }
    return values;
  }

  [[nodiscard]] bool agrees(const Json& values, const Json& fixed) const {
    for (const SearchSpace::Parameter& parameter : space_->parameters()) {
      const Json* wanted = find_path(fixed, parameter.names);
      const Json* value = find_path(values, parameter.names);
      const bool is_constant = parameter.domain.kind() == Domain::Kind::constant;
      if (wanted == nullptr || is_constant) continue;
      if (value == nullptr || !is_identical(*value, *wanted)) return false;
    }
    return true;
  }

  void end(TrialId id, const Outcome& outcome) {
    const auto member = group_of_.find(id);
    if (member == group_of_.end()) return;
    const std::uint64_t number = member->second;
    group_of_.erase(member);
    Group& group = groups_.at(number);
    group.ended.push_back(outcome);
    if (std::cmp_less(group.ended.size(), repeats_)) return;
    tell(TrialId(number), group);
    groups_.erase(number);
  }

  void tell(TrialId number, const Group& group) {
    for (const Outcome::Kind kind : {Outcome::Kind::completed, Outcome::Kind::stopped}) {
      double sum = 0;
      std::int64_t count = 0;
      std::int64_t iteration = 0;
      for (const Outcome& outcome : group.ended) {
        if (outcome.kind != kind) continue;
        sum += outcome.value;
        ++count;
        iteration = std::max(iteration, outcome.iteration);
      }
      if (count == 0) continue;
      Result mean(sum / static_cast<double>(count), iteration);
      mean.stopped_by_scheduler = kind == Outcome::Kind::stopped;
      return searcher_->on_trial_completed(number, Config(group.config), mean);
    }
    const bool infeasible = std::all_of(
        group.ended.begin(), group.ended.end(),
        [](const Outcome& outcome) { return outcome.kind == Outcome::Kind::infeasible; });
    searcher_->on_trial_failed(number, Config(group.config), infeasible);
  }

  std::unique_ptr<Searcher> searcher_;
  std::int64_t repeats_;
  const SearchSpace* space_ = nullptr;
  bool is_repetition_ = false;  // of the last answer alone, so no state
  std::uint64_t next_group_ = 0;
  std::map<std::uint64_t, Group> groups_;  // not all of whose trials have ended
  std::map<TrialId, std::uint64_t> group_of_;
};

}  // namespace

std::unique_ptr<Searcher> repeated(std::unique_ptr<Searcher> searcher, std::int64_t repeats) {
  return std::make_unique<Repeated>(std::move(searcher), repeats);
}

}  // namespace tune
