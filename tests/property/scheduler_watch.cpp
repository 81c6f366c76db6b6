#include "scheduler_watch.hpp"

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <tune/random.hpp>

namespace tune::test {
namespace {

std::string text_of(const Resources& resources) { return ResourceAmounts(resources).describe(); }

// The kind, whom it is about and what it says.
std::string text_of(const SchedulerRequest& request) {
  const std::string kind = std::to_string(request.index()) + ' ';
  return kind + std::visit(
                    [](const auto& r) -> std::string {
                      using Request = std::decay_t<decltype(r)>;
                      if constexpr (std::is_same_v<Request, ExploitTrial>) {
                        return std::to_string(r.target.value()) + " from " +
                               std::to_string(r.source.value()) + ' ' + r.config.json().dump();
                      } else {
                        const std::string trial = std::to_string(r.trial.value()) + ' ';
                        if constexpr (std::is_same_v<Request, ChangeResources>) {
                          return trial + text_of(r.resources);
                        } else if constexpr (std::is_same_v<Request, DecisionHorizon>) {
                          return trial + Json(r.time).dump();
                        } else if constexpr (std::is_same_v<Request, Explanation>) {
                          return trial + r.reason;
                        } else {
                          return trial;
                        }
                      }
                    },
                    request);
}

std::string text_of(const std::vector<SchedulerRequest>& requests) {
  std::string text;
  for (const SchedulerRequest& request : requests) text += "; " + text_of(request);
  return text;
}

class WatchedScheduler final : public TrialScheduler {
 public:
  WatchedScheduler(std::function<std::unique_ptr<TrialScheduler>()> make, RungRule rungs,
                   std::uint64_t seed, Faults& faults)
      : make_(std::move(make)), rule_(rungs), seed_(seed), faults_(faults), inner_(make_()) {
    Json options = inner_->options();
    if (options.contains("base")) options = Json(options.at("base"));
    rung_options_ = options;
    if (options.contains("max_t")) max_t_ = options.at("max_t").get<double>();
  }

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    const TrialId id = trial.id();
    Decision decision = Decision::proceed;
    both(context, [&](TrialScheduler& scheduler, SchedulerContext& own) {
      decision = scheduler.on_trial_result(own, *own.find(id), result);
      return std::string(to_string(decision));
    });
    const double time = *result.number(time_attr());
    if (max_t_ && time >= *max_t_ && decision != Decision::stop) {
      fault(id, "goes on at " + std::to_string(time) + ", beyond its max_t");
    }
    if (RungModel* model = rungs(context)) {
      fault(id, model->on_result(id, time, result.target(), decision));
    }
    return decision;
  }

  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    both(context, [&](TrialScheduler& scheduler, SchedulerContext& own) {
      scheduler.on_trial_added(own, *own.find(trial.id()));
      return std::string();
    });
  }

  void on_trial_completed(SchedulerContext& context, const Trial& trial,
                          const Result& last) override {
    both(context, [&](TrialScheduler& scheduler, SchedulerContext& own) {
      scheduler.on_trial_completed(own, *own.find(trial.id()), last);
      return std::string();
    });
    if (RungModel* model = rungs(context)) model->on_ended(trial.id());
  }

  void on_trial_failed(SchedulerContext& context, const Trial& trial) override {
    both(context, [&](TrialScheduler& scheduler, SchedulerContext& own) {
      scheduler.on_trial_failed(own, *own.find(trial.id()));
      return std::string();
    });
    if (RungModel* model = rungs(context)) model->on_ended(trial.id());
  }

  std::optional<TrialId> choose_trial_to_run(SchedulerContext& context) override {
    std::optional<TrialId> chosen;
    both(context, [&](TrialScheduler& scheduler, SchedulerContext& own) {
      chosen = scheduler.choose_trial_to_run(own);
      return chosen ? std::to_string(chosen->value()) : std::string("nobody");
    });
    RungModel* model = rungs(context);
    if (model == nullptr || rule_ != RungRule::promotes) return chosen;
    if (!chosen) {
      fault(TrialId{0}, model->on_nobody(context));
    } else if (context.find(*chosen)->state() == TrialState::paused) {
      fault(*chosen, model->on_promoted(*chosen));
    }
    return chosen;
  }

  [[nodiscard]] bool needs_checkpoints() const override { return inner_->needs_checkpoints(); }
  [[nodiscard]] std::string time_attr() const override { return inner_->time_attr(); }
  [[nodiscard]] std::optional<Objective> objective() const override { return inner_->objective(); }
  [[nodiscard]] bool needs_metric() const override { return inner_->needs_metric(); }
  [[nodiscard]] Json options() const override { return inner_->options(); }

 private:
  // Calls the scheduler, and the restored one with a context like it. The answer of the scheduler
  // itself is the last that `call` gives.
  template <class Call>
  void both(SchedulerContext& context, Call call) {
    restore_now_and_then();
    std::string other;
    if (restored_) {
      SchedulerContext own = context;
      (void)own.take_requests();
      other = call(*restored_, own);
      other += text_of(own.take_requests());
    }
    const std::size_t before = context.request_count();
    std::string answer = call(*inner_, context);
    if (!restored_) return;
    std::vector<SchedulerRequest> requests = context.take_requests_from(before);
    answer += text_of(requests);
    context.put_requests(std::move(requests));
    if (answer != other) {
      faults_.push_back("restored it says \"" + other + "\", not \"" + answer + '"');
    }
  }

  void restore_now_and_then() {
    Random random(seed_, "restore", calls_++);
    if (random.uniform() >= 0.1) return;
    const Json state = inner_->save();
    if (state.is_null()) return;
    restored_ = make_();
    restored_->restore(Json::parse(state.dump()));
    if (restored_->save() != state) faults_.emplace_back("restored it saves another state");
  }

  RungModel* rungs(const SchedulerContext& context) {
    if (rule_ == RungRule::none) return nullptr;
    if (!model_) model_.emplace(rule_, rung_options_, context.mode());
    return &*model_;
  }

  void fault(TrialId id, const std::string& text) {
    if (!text.empty()) faults_.push_back("trial " + std::to_string(id.value()) + ": " + text);
  }

  std::function<std::unique_ptr<TrialScheduler>()> make_;
  RungRule rule_;
  std::uint64_t seed_;
  Faults& faults_;
  std::unique_ptr<TrialScheduler> inner_;
  std::unique_ptr<TrialScheduler> restored_;
  Json rung_options_;
  std::optional<double> max_t_;
  std::optional<RungModel> model_;
  std::uint64_t calls_ = 0;
};

}  // namespace

std::unique_ptr<TrialScheduler> watched(
    const std::function<std::unique_ptr<TrialScheduler>()>& make, RungRule rungs,
    std::uint64_t seed, Faults& faults) {
  return std::make_unique<WatchedScheduler>(make, rungs, seed, faults);
}

}  // namespace tune::test
