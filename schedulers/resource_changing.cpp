#include <tune/schedulers/resource_changing.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/resource_shares.hpp"

namespace tune {
namespace {

using schedulers::equal_share;
using schedulers::fits_somewhere;
using schedulers::multiplied;
using schedulers::request_for;

bool may_add_trials(const SchedulerContext& context) {
  return context.new_trials() != NewTrials::none;
}

Json json_of_amounts(const ResourceAmounts& amounts) { return amounts.amounts(); }

ResourceAmounts amounts_of_json(const Json& json) {
  ResourceAmounts amounts;
  for (const auto& [name, amount] : json.items()) amounts.set(name, amount.get<std::int64_t>());
  return amounts;
}

template <class Id>
Json json_of_all(const std::map<Id, ResourceAmounts>& all) {
  Json json = Json::array();
  for (const auto& [id, amounts] : all) json.push_back({id.value(), json_of_amounts(amounts)});
  return json;
}

template <class Id>
std::map<Id, ResourceAmounts> all_of_json(const Json& json) {
  std::map<Id, ResourceAmounts> all;
  for (const Json& entry : json) {
    all[Id{entry.at(0).get<std::uint64_t>()}] = amounts_of_json(entry.at(1));
  }
  return all;
}

class ResourceChangingScheduler final : public TrialScheduler {
 public:
  ResourceChangingScheduler(std::unique_ptr<TrialScheduler> base, ResourceChangingOptions options)
      : base_(std::move(base)), options_(std::move(options)) {
    if (!base_) throw std::invalid_argument("resource_changing: base must be a scheduler, is none");
    if (options_.increase_by_times < -1) {
      throw std::invalid_argument("resource_changing: increase_by_times must be at least -1, is " +
                                  std::to_string(options_.increase_by_times));
    }
  }

  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    // One that goes on after all may have ended with more than it asks for.
    const auto request = requests_.find(trial.id());
    if (request != requests_.end()) give(context, trial.id(), request->second);
    base_->on_trial_added(context, trial);
    share_out(context);
  }

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    const Decision decision = base_->on_trial_result(context, trial, result);
    share_out(context);
    return decision;
  }

  void on_trial_completed(SchedulerContext& context, const Trial& trial,
                          const Result& last) override {
    base_->on_trial_completed(context, trial, last);
    forget(trial.id());
    share_out(context);
  }

  void on_trial_failed(SchedulerContext& context, const Trial& trial) override {
    base_->on_trial_failed(context, trial);
    forget(trial.id());
    share_out(context);
  }

  std::optional<TrialId> choose_trial_to_run(SchedulerContext& context) override {
    const std::optional<TrialId> chosen = base_->choose_trial_to_run(context);
    share_out(context, chosen);
    return chosen;
  }

  [[nodiscard]] bool needs_checkpoints() const override { return true; }
  [[nodiscard]] std::string time_attr() const override { return base_->time_attr(); }
  [[nodiscard]] std::optional<Objective> objective() const override { return base_->objective(); }
  [[nodiscard]] bool needs_metric() const override { return base_->needs_metric(); }

  [[nodiscard]] Json save() const override {
    Json base = base_->save();
    if (base.is_null()) return nullptr;  // it is rebuilt by replay, and so is this
    return {{"base", std::move(base)},
            {"requests", json_of_all(requests_)},
            {"given", json_of_all(given_)},
            {"seen",
             {{"may_add", seen_.may_add},
              {"trials", seen_.trials},
              {"nodes", json_of_all(seen_.nodes)},
              {"knows_all", seen_.knows_all}}}};
  }

  void restore(const Json& state) override {
    if (state.is_null()) return base_->restore(state);
    base_->restore(state.at("base"));
    requests_ = all_of_json<TrialId>(state.at("requests"));
    given_ = all_of_json<TrialId>(state.at("given"));
    const Json& seen = state.at("seen");
    seen_ = {.may_add = seen.at("may_add").get<bool>(),
             .trials = seen.at("trials").get<std::size_t>(),
             .nodes = all_of_json<NodeId>(seen.at("nodes")),
             .knows_all = seen.at("knows_all").get<bool>()};
  }

  [[nodiscard]] Json options() const override {
    Json json = {{"name", "resource_changing"},
                 {"base", base_->options()},
                 {"increase_by_times", options_.increase_by_times}};
    if (options_.resources_allocation_function) json["resources_allocation_function"] = "custom";
    return json;
  }

  [[nodiscard]] std::string describe() const override {
    return base_->describe() + "; " + std::to_string(given_.size()) +
           (given_.size() == 1 ? " trial has" : " trials have") + " other resources";
  }

 private:
  // By what the shares are reckoned.
  struct Seen {
    bool may_add = true;
    std::size_t trials = 0;
    std::map<NodeId, ResourceAmounts> nodes = {};
    bool knows_all = true;  // what each trial had at its first start
  };

  // With `chosen`, which the base lets run and which may be paused still.
  void share_out(SchedulerContext& context, std::optional<TrialId> chosen = std::nullopt) {
    if (may_add_trials(context) && given_.empty() && !options_.resources_allocation_function) {
      seen_.may_add = true;  // each has what it asks for, and that is right
      return;
    }
    if (chosen && !is_active(context, *chosen)) {
      share_out_to(context, *chosen);
      return;
    }
    const std::size_t trials = context.running_trials().size() + context.pending_trials().size() +
                               context.aside_trials().size();
    if (seen_.knows_all && seen_.trials == trials && seen_.may_add == may_add_trials(context) &&
        seen_.nodes == context.nodes()) {
      return;
    }
    share_out_to(context, chosen);
  }

  static bool is_active(const SchedulerContext& context, TrialId id) {
    return context.running_trials().contains(id) || context.pending_trials().contains(id) ||
           context.aside_trials().contains(id);
  }

  void share_out_to(SchedulerContext& context, std::optional<TrialId> chosen) {
    std::set<TrialId> active = context.running_trials();
    active.insert(context.pending_trials().begin(), context.pending_trials().end());
    active.insert(context.aside_trials().begin(), context.aside_trials().end());
    if (chosen && context.find(*chosen) != nullptr) active.insert(*chosen);
    seen_ = {.may_add = may_add_trials(context),
             .trials = active.size(),
             .nodes = context.nodes(),
             .knows_all = true};
    std::map<TrialId, ResourceAmounts> base;
    for (const TrialId id : active) learn_request(context, id, base);
    if (options_.resources_allocation_function) {
      for (const auto& [id, request] : options_.resources_allocation_function(context, base)) {
        if (base.contains(id)) give(context, id, plain_amounts(request));
      }
      return;
    }
    // Where those stand that need certain nodes is not known: then nobody gets more.
    const bool has_others = std::any_of(active.begin(), active.end(), [&](TrialId id) {
      return !context.find(id)->request().is_plain();
    });
    const std::int64_t share = has_others ? 1 : share_of(context, base);
    for (const auto& [id, request] : base) give(context, id, multiplied(request, share));
  }

  static ResourceAmounts plain_amounts(const Resources& resources) {
    const ResourceRequest request(resources);
    if (!request.is_plain()) {
      throw std::invalid_argument("resource_changing: labels and workers cannot be changed, got " +
                                  request.describe());
    }
    return request.own.amounts;
  }

  // A trial that was never given anything but what it asks for tells what that is. One with labels
  // or workers keeps what it has.
  void learn_request(const SchedulerContext& context, TrialId id,
                     std::map<TrialId, ResourceAmounts>& base) {
    if (!context.find(id)->request().is_plain()) return;
    const ResourceAmounts& granted = context.find(id)->granted();
    if (!requests_.contains(id)) {
      if (context.find(id)->incarnation() == 0) {
        seen_.knows_all = false;
        return;
      }
      requests_[id] = granted;
    }
    base[id] = requests_.at(id);
  }

  [[nodiscard]] std::int64_t share_of(const SchedulerContext& context,
                                      const std::map<TrialId, ResourceAmounts>& base) const {
    if (may_add_trials(context)) return 1;
    std::vector<ResourceAmounts> requests;
    std::size_t too_big = 0;  // these wait for another node
    for (const auto& [id, request] : base) {
      if (fits_somewhere(context.nodes(), request)) {
        requests.push_back(request);
      } else {
        ++too_big;
      }
    }
    if (requests.empty()) return 1;
    // Those that have not started are taken to be like the others.
    while (requests.size() + too_big < seen_.trials) requests.push_back(requests.front());
    const std::int64_t most = options_.increase_by_times < 0
                                  ? std::numeric_limits<std::int64_t>::max()
                                  : options_.increase_by_times + 1;
    return equal_share(context.nodes(), requests, most);
  }

  void give(SchedulerContext& context, TrialId id, const ResourceAmounts& amounts) {
    const auto request = requests_.find(id);
    const auto given = given_.find(id);
    const ResourceAmounts* now = given != given_.end()        ? &given->second
                                 : request != requests_.end() ? &request->second
                                                              : nullptr;
    if (now != nullptr && *now == amounts) return;
    context.set_resources(id, request_for(amounts));
    context.explain(id, "gets " + amounts.describe() + ": " + std::to_string(seen_.trials) +
                            (seen_.trials == 1 ? " trial runs or waits" : " trials run or wait") +
                            (may_add_trials(context) ? "" : ", and none can be added"));
    if (request != requests_.end() && request->second == amounts) {
      given_.erase(id);
    } else {
      given_[id] = amounts;
    }
  }

  void forget(TrialId id) {
    // What it asked for is kept where it had more, in case it goes on in a later session.
    if (given_.contains(id)) return;
    requests_.erase(id);
  }

  std::unique_ptr<TrialScheduler> base_;
  ResourceChangingOptions options_;
  std::map<TrialId, ResourceAmounts> requests_;  // what each trial had at its first start
  std::map<TrialId, ResourceAmounts> given_;     // what it has instead, where that differs
  Seen seen_;
};

}  // namespace

std::unique_ptr<TrialScheduler> resource_changing(std::unique_ptr<TrialScheduler> base,
                                                  ResourceChangingOptions options) {
  return std::make_unique<ResourceChangingScheduler>(std::move(base), std::move(options));
}

}  // namespace tune
