#include "engine_history.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string_view>

#include <tune/schedulers/asha.hpp>
#include <tune/schedulers/fifo.hpp>

#include "random_behaviour.hpp"
#include "support/engine_world.hpp"
#include "support/random_scheduler.hpp"

namespace tune::test {
namespace {

/// Draws one setting after another.
class Dice {
 public:
  explicit Dice(std::uint64_t seed, std::string_view purpose = "history")
      : random_(seed, purpose) {}
  bool chance(double p) { return random_.uniform() < p; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low) + 1));
  }
  double real(double low, double high) { return low + random_.uniform() * (high - low); }
  /// 0 mostly, else up to `high`.
  double rare(double high) { return chance(0.6) ? 0 : real(0, high); }

 private:
  Random random_;
};

ResourceAmounts capacity(double cpu, double gpu, double license) {
  Resources offer{.cpu = cpu, .gpu = gpu};
  if (license > 0) offer.custom["license"] = license;
  return ResourceAmounts(offer);
}

ResourceAmounts draw_capacity(Dice& dice) {
  return capacity(static_cast<double>(dice.between(1, 4)), static_cast<double>(dice.between(0, 2)),
                  static_cast<double>(dice.between(0, 2)));
}

/// Big enough for every request below.
ResourceAmounts big_node() { return capacity(8, 4, 4); }

Resources draw_request(Dice& dice) {
  switch (dice.between(0, 7)) {
    case 0:
      return {.cpu = 0.5};
    case 1:
      return {.cpu = 2};
    case 2:
      return {.cpu = 0.1, .gpu = 0.3};
    case 3:
      return {.cpu = 1, .gpu = 2};
    case 4:
      return {.cpu = 1, .custom = {{"license", 1}}};
    case 5:
      return {.of = [](const Config& config) {
        const auto x = config.contains("x") ? config["x"].get<std::int64_t>() : 1;
        if (x == 7) throw std::runtime_error("the function of resources threw");
        if (x == 5) return Resources{.cpu = 0};
        return Resources{.cpu = 0.5 * static_cast<double>(1 + x % 3)};
      }};
    default:
      return {.cpu = 1};
  }
}

StopCriteria draw_stop(Dice& dice, bool has_objective) {
  StopCriteria stop;
  if (dice.chance(0.3)) {
    stop = stop | StopCriteria{{"training_iteration", static_cast<double>(dice.between(1, 9))}};
  }
  if (dice.chance(0.1)) stop = stop | StopCriteria{{"score", dice.real(0.8, 1.8)}};
  if (dice.chance(0.1)) stop = stop | below("loss", dice.real(0.3, 0.6));
  if (dice.chance(0.1)) stop = stop | StopCriteria{{"time_total_s", dice.real(1, 6)}};
  if (dice.chance(0.1)) {
    stop = stop | stop_when([](const Trial& trial, const Result& result) {
             return result.training_iteration == 2 + static_cast<std::int64_t>(trial.id().value());
           });
  }
  if (dice.chance(0.02)) {
    stop = stop | stop_when([](const Trial& trial, const Result& result) -> bool {
             if (trial.id().value() + static_cast<std::uint64_t>(result.training_iteration) < 5) {
               return false;
             }
             throw std::runtime_error("the predicate threw");
           });
  }
  if (has_objective && dice.chance(0.05)) {  // reads the metric, which may be text or missing
    stop = stop | stop_when([](const Trial&, const Result& result) {
             return result.metrics.at("score").as_double() > 1.5;
           });
  }
  if (has_objective && dice.chance(0.1)) {
    stop = stop | plateau({.std = 0.2, .num_results = 3, .grace_period = 3});
  }
  if (has_objective && dice.chance(0.05)) {
    stop = stop | experiment_plateau({.std = 0.1, .top = 3, .patience = 2});
  }
  return stop;
}

engine::EngineOptions draw_engine_options(Dice& dice, std::uint64_t seed) {
  engine::EngineOptions options;
  if (dice.chance(0.85)) options.objective = Objective{"score", Mode::max};
  options.strict_metric = dice.chance(0.7);
  options.searcher_wants_results = dice.chance(0.5);
  if (dice.chance(0.3)) options.max_trials = static_cast<std::uint64_t>(dice.between(1, 10));
  if (dice.chance(0.2)) options.max_infeasible = static_cast<std::uint64_t>(dice.between(1, 4));
  if (dice.chance(0.5)) options.max_concurrent = dice.between(1, 4);
  options.resources = draw_request(dice);
  options.stop = draw_stop(dice, options.objective.has_value());
  options.trainable_checkpoints = dice.chance(0.8);
  if (options.trainable_checkpoints) {
    options.checkpoint = {
        .every = dice.between(0, 3), .keep = dice.between(1, 3), .at_end = dice.chance(0.3)};
  }
  options.max_failures = std::array<std::int64_t, 3>{0, 2, -1}[dice.between(0, 2)];
  options.seed = seed;
  if (dice.chance(0.1)) options.time_budget = Time(dice.real(0, 20));
  options.fixed_cluster = dice.chance(0.4);
  options.infeasible_timeout = Time(std::numeric_limits<double>::infinity());  // it would interrupt
  return options;
}

void draw_failure_options(Dice& dice, engine::EngineOptions& options) {
  if (dice.chance(0.5)) {
    options.retry_pause = Time(dice.real(0.1, 5));
    options.max_retry_pause = Time(dice.real(0, 20));
  }
  if (dice.chance(0.1)) options.max_experiment_failures = dice.between(0, 4);
  options.fail_fast = dice.chance(0.05);
}

void draw_kept_checkpoints(Dice& dice, engine::EngineOptions& options) {
  if (dice.chance(0.5)) return;
  options.checkpoint.keep_best = dice.between(1, 3);
  if (options.objective && dice.chance(0.5)) return;
  options.checkpoint.metric = "loss";
  options.checkpoint.mode = Mode::min;
}

NetworkOptions draw_network(Dice& dice) {
  if (dice.chance(0.3)) return {};
  return {.min_delay_s = 0.001,
          .max_delay_s = dice.chance(0.5) ? 0.1 : 2,
          .duplicate_chance = dice.rare(0.5),
          .late_chance = dice.real(0, 1),
          .late_s = dice.real(0, 10)};
}

RandomBehaviourOptions draw_behaviour(Dice& dice, const engine::EngineOptions& engine,
                                      std::uint64_t seed) {
  RandomBehaviourOptions options;
  options.seed = seed;
  options.setup_failure = dice.rare(0.3);
  options.load_failure = dice.rare(0.3);
  options.step_failure = dice.rare(0.2);
  options.invalid = dice.rare(0.4);
  options.invalid_step = dice.rare(0.05);
  options.not_finite = dice.rare(0.5);
  options.nan_epoch = dice.rare(0.3);
  options.missing = dice.rare(0.3);
  options.text = dice.rare(0.1);
  options.never_stops = dice.rare(0.1);
  options.dies_waiting = dice.rare(0.1);
  options.max_slowness = static_cast<int>(dice.between(0, 3));
  if (engine.trainable_checkpoints) {
    options.save_failure = dice.rare(0.2);
    options.own_save = dice.rare(0.5);
  }
  return options;
}

RandomSchedulerOptions draw_scheduler(Dice& dice, bool has_checkpoints) {
  RandomSchedulerOptions options;
  options.stop = dice.rare(0.3);
  options.promise = dice.rare(0.9);
  if (dice.chance(0.2)) options.time_attr = "epoch";
  options.stop_other = dice.rare(0.1);
  options.unpause = dice.rare(0.5);
  options.hold = dice.rare(0.5);
  options.choose = dice.real(0, 1);
  options.set_resources = dice.rare(0.2);
  options.throws = dice.chance(0.1) ? 0.01 : 0;
  options.choose_wrong = dice.chance(0.05) ? 0.02 : 0;
  if (has_checkpoints) {
    options.pause = dice.rare(0.4);
    options.pause_other = dice.rare(0.2);
    options.save = dice.rare(0.3);
    options.exploit = dice.rare(0.3);
  }
  return options;
}

std::unique_ptr<TrialScheduler> draw_scheduler(Dice& dice, SchedulerKind kind,
                                               const engine::EngineOptions& options) {
  switch (kind) {
    case SchedulerKind::fifo:
      return fifo();
    case SchedulerKind::asha:
      return asha({.max_t = static_cast<double>(dice.between(5, 12)),
                   .grace_period = 1,
                   .reduction_factor = dice.real(1.5, 4),
                   .brackets = dice.between(1, 2)});
    case SchedulerKind::random:
      return random_scheduler(draw_scheduler(dice, options.trainable_checkpoints));
  }
  throw std::logic_error("no such scheduler");
}

SearcherModel draw_searcher(Dice& dice, History& history) {
  const std::int64_t trials = dice.between(0, 12);
  const std::int64_t failing = dice.chance(0.05) ? dice.between(0, 5) : -1;
  const std::int64_t waiting = dice.chance(0.05) ? dice.between(0, 5) : trials;
  history.expected_trials = static_cast<std::uint64_t>(trials);
  history.may_end_early = failing >= 0 || waiting < trials;
  SearcherModel searcher;
  searcher.max_delay_s = dice.chance(0.5) ? 0.001 : 3;
  searcher.wait_chance = dice.rare(0.5);
  searcher.suggest = [=](TrialId id) -> SearcherModel::Answer {
    const auto index = static_cast<std::int64_t>(id.value());
    if (index == failing) return engine::SearcherFailure{"the searcher threw"};
    if (index >= trials) return Exhausted{};
    if (index >= waiting) return Wait{};  // for ever
    return Config(Json{{"x", index}});
  };
  return searcher;
}

/// Nodes that come and go in the first half minute, under old ids and new.
void draw_membership(Dice& dice, EngineWorld& world, std::int64_t nodes) {
  const std::int64_t changes = dice.between(0, 8);
  for (std::int64_t i = 0; i < changes; ++i) {
    const NodeId node{static_cast<std::uint64_t>(dice.between(0, nodes))};
    const ResourceAmounts offer = draw_capacity(dice);
    world.at(dice.real(0, 30), [&world, node, offer] {
      if (world.engine().is_finished()) return;
      if (world.is_present(node)) {
        world.leave(node);
      } else if (!world.books().resources().is_present(node)) {  // its leaving was heard of
        world.join(node, "node" + std::to_string(node.value()), offer);
      }
    });
  }
}

/// How the history of a seed differs by its scheduler.
struct SchedulerOfHistory {
  bool needs_metric = false;
  bool needs_checkpoints = false;
  std::function<std::unique_ptr<TrialScheduler>(Dice&, const engine::EngineOptions&)> draw;
};

History run(std::uint64_t seed, const SchedulerOfHistory& chosen,
            const std::function<void(const std::string&)>& trace) {
  Dice dice(seed);
  History history;
  WorldOptions options;
  options.seed = seed;
  options.engine = draw_engine_options(dice, seed);
  Dice failure_dice(seed, "failures");
  draw_failure_options(failure_dice, options.engine);
  Dice checkpoint_dice(seed, "checkpoints");
  draw_kept_checkpoints(checkpoint_dice, options.engine);
  if (chosen.needs_metric) options.engine.objective = Objective{"score", Mode::max};
  if (chosen.needs_checkpoints) options.engine.trainable_checkpoints = true;
  options.network = draw_network(dice);
  options.searcher = draw_searcher(dice, history);
  options.saves_before_it_waits = dice.chance(0.5);
  options.trace = trace;
  std::unique_ptr<TrialScheduler> scheduler = chosen.draw(dice, options.engine);
  RandomBehaviourOptions behaviour = draw_behaviour(dice, options.engine, seed);
  behaviour.damage = checkpoint_dice.chance(0.5) ? checkpoint_dice.real(0, 0.9) : 0;
  EngineWorld world(options, std::move(scheduler), random_behaviour(behaviour));
  const std::int64_t nodes = dice.between(1, 5);
  for (std::int64_t i = 0; i < nodes; ++i) {
    const ResourceAmounts offer = draw_capacity(dice);
    const double time = options.engine.fixed_cluster || i == 0 ? 0 : dice.real(0, 10);
    world.at(time, [&world, i, offer] {
      const NodeId node{static_cast<std::uint64_t>(i)};
      if (world.engine().is_finished() || world.books().resources().is_present(node)) return;
      world.join(node, "node" + std::to_string(i), offer);
    });
  }
  if (!options.engine.fixed_cluster) draw_membership(dice, world, nodes);
  if (dice.chance(0.15)) {
    history.may_end_early = true;
    world.at(dice.real(0, 25), [&world] {
      if (!world.engine().is_finished()) world.request_stop("somebody wants it");
    });
  }
  if (failure_dice.chance(0.15)) {
    history.may_end_early = true;
    world.at(failure_dice.real(0, 25), [&world] {
      if (!world.engine().is_finished()) world.request_interrupt("somebody presses a key");
    });
  }
  std::uint64_t next_node = 100;
  world.on_standstill([&] {
    if (options.engine.fixed_cluster || next_node == 120) return false;
    if (world.engine().waiting_reason().empty()) return false;
    const NodeId node{next_node++};
    world.at(world.now().count() + 1, [&world, node] {
      world.join(node, "late" + std::to_string(node.value()), big_node());
    });
    return true;
  });
  const engine::EngineOptions& engine = options.engine;
  if (engine.time_budget || engine.max_infeasible > 0 || engine.fail_fast ||
      engine.max_experiment_failures >= 0) {
    history.may_end_early = true;
  }
  for (const StopCriteria::Rule& rule : options.engine.stop.rules()) {
    if (std::holds_alternative<ExperimentPlateauOptions>(rule)) history.may_end_early = true;
    if (std::holds_alternative<StopCriteria::Predicate>(rule)) history.may_end_early = true;
  }
  if (options.engine.max_trials) {
    history.expected_trials = std::min(history.expected_trials, *options.engine.max_trials);
  }
  world.run();
  if (world.books().has_lost_slots()) history.may_end_early = true;
  history.trials = world.books().trials();
  history.end = *world.books().end();
  return history;
}

}  // namespace

History run_history(std::uint64_t seed, SchedulerKind kind,
                    const std::function<void(const std::string&)>& trace) {
  const SchedulerOfHistory chosen{.needs_metric = kind == SchedulerKind::asha,
                                  .draw = [kind](Dice& dice, const engine::EngineOptions& options) {
                                    return draw_scheduler(dice, kind, options);
                                  }};
  return run(seed, chosen, trace);
}

History run_history(std::uint64_t seed, const SchedulerMaker& make,
                    const std::function<void(const std::string&)>& trace) {
  const std::unique_ptr<TrialScheduler> example = make();
  const SchedulerOfHistory chosen{
      .needs_metric = example->needs_metric(),
      .needs_checkpoints = example->needs_checkpoints(),
      .draw = [&make](Dice&, const engine::EngineOptions&) { return make(); }};
  return run(seed, chosen, trace);
}

History run_calm(std::uint64_t seed, std::int64_t slots) {
  WorldOptions options;
  options.seed = seed;
  options.engine.objective = Objective{"score", Mode::max};
  options.engine.max_concurrent = slots;
  options.engine.stop = StopCriteria{{"training_iteration", 8}, {"score", 1.5}};
  options.engine.trainable_checkpoints = true;
  options.engine.checkpoint = {.every = 2};
  options.engine.max_failures = -1;
  options.engine.seed = seed;
  options.searcher.suggest = [](TrialId id) -> SearcherModel::Answer {
    if (id.value() >= 12) return Exhausted{};
    return Config(Json{{"x", id.value()}});
  };
  EngineWorld world(options, fifo(),
                    random_behaviour({.seed = seed, .step_failure = 0.1, .not_finite = 0.1}));
  world.at(0, [&world] { world.join(NodeId{0}, "node", capacity(12, 0, 0)); });
  world.run();
  return {.trials = world.books().trials(), .end = *world.books().end()};
}

}  // namespace tune::test
