#include "benchmarks/engine_crowd.hpp"

#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

#include <tune/random.hpp>

namespace tune::bench {
namespace {

engine::EngineOptions crowd_options(std::int64_t size, Newcomers newcomers) {
  engine::EngineOptions options;
  if (newcomers == Newcomers::none) options.max_trials = static_cast<std::uint64_t>(size);
  options.objective = Objective{"loss", Mode::min};
  options.trainable_checkpoints = true;
  options.seed = 1;
  return options;
}

}  // namespace

EngineCrowd::EngineCrowd(std::unique_ptr<TrialScheduler> scheduler, std::int64_t size,
                         Newcomers newcomers)
    : engine_(crowd_options(size, newcomers), std::move(scheduler)) {
  ResourceAmounts capacity;
  capacity.set("cpu", 1000 * size);
  handle(engine::NodeJoined{NodeId{0}, "crowd", capacity});
}

void EngineCrowd::step() {
  for (std::size_t looked_at = 0; looked_at < running_.size(); ++looked_at) {
    next_ = (next_ + 1) % running_.size();
    Running* trial = running_[next_].get();
    if (trial == nullptr || trial->waits) continue;
    if (trial->stops || trial->pauses) {  // of what another one reported
      boundary(*trial);
      continue;
    }
    report(*trial);
    boundary(*trial);
    return;
  }
  throw std::logic_error("all trials of the crowd wait");
}

void EngineCrowd::report(Running& trial) {
  ++trial.iteration;
  now_s_ += 1e-6;
  Result result;
  result.metrics = {{"loss", trial.level + 1 / static_cast<double>(trial.iteration)}};
  result.training_iteration = trial.iteration;
  result.time_this_iter_s = 1;
  result.time_total_s = static_cast<double>(trial.iteration);
  result.timestamp = now_s_;
  trial.waits = trial.launch.horizon.is_reached(result);
  if (trial.waits) trial.last = result;
  tell(trial, engine::Reported{std::move(result)});
}

void EngineCrowd::tell(Running& trial, engine::TrialReport report) {
  handle(engine::TrialMessage{trial.launch.trial, trial.launch.incarnation, trial.sequence++,
                              std::move(report)});
}

void EngineCrowd::handle(engine::Event event) {
  inbox_.push_back(std::move(event));
  while (!inbox_.empty()) {
    engine::Event next = std::move(inbox_.front());
    inbox_.pop_front();
    engine_.handle(std::move(next), Time(now_s_), commands_);
    carry_out();
  }
}

void EngineCrowd::boundary(Running& trial) {
  if (trial.saves || trial.pauses) {
    trial.saves = false;
    tell(trial, engine::CheckpointStored{engine::own_checkpoint_name(trial.launch, trial.iteration),
                                         trial.iteration, static_cast<double>(trial.iteration)});
  }
  if (trial.stops || trial.pauses) {
    end(trial, trial.stops ? engine::EndKind::stopped : engine::EndKind::paused);
  }
}

void EngineCrowd::end(Running& trial, engine::EndKind kind) {
  engine::TrialMessage message{trial.launch.trial, trial.launch.incarnation, trial.sequence,
                               engine::Ended{kind, {}}};
  const auto place = place_of_.find(trial.launch.trial.value());
  running_[place->second].reset();
  free_places_.push_back(place->second);
  place_of_.erase(place);
  handle(std::move(message));
}

EngineCrowd::Running* EngineCrowd::find(TrialId trial, std::uint32_t incarnation) {
  const auto place = place_of_.find(trial.value());
  if (place == place_of_.end()) return nullptr;
  Running* found = running_[place->second].get();
  return found->launch.incarnation == incarnation ? found : nullptr;
}

void EngineCrowd::launch(engine::Launch& command) {
  ++starts_;
  auto trial = std::make_unique<Running>();
  trial->level = command.config["x"].get<double>();
  trial->iteration = command.start_iteration;
  const TrialId id = command.trial;
  const std::uint32_t incarnation = command.incarnation;
  inbox_.emplace_back(engine::TrialMessage{id, incarnation, trial->sequence++, engine::Started{}});
  if (command.adopt_as) {
    inbox_.emplace_back(
        engine::TrialMessage{id, incarnation, trial->sequence++,
                             engine::CheckpointStored{*command.adopt_as, command.start_iteration,
                                                      command.start_time_total_s}});
  }
  trial->launch = std::move(command);
  std::size_t place = running_.size();
  if (free_places_.empty()) {
    running_.emplace_back();
  } else {
    place = free_places_.back();
    free_places_.pop_back();
  }
  running_[place] = std::move(trial);
  place_of_[id.value()] = place;
}

void EngineCrowd::carry_out() {
  for (engine::Command& command : std::exchange(commands_, {})) {
    std::visit(
        [&](auto& c) {
          using C = std::decay_t<decltype(c)>;
          if constexpr (std::is_same_v<C, engine::AskSearcher>) {
            const double x = Random(1, "crowd", c.trial.value()).uniform();
            inbox_.emplace_back(engine::SuggestionReady{c.trial, Config(Json{{"x", x}})});
          } else if constexpr (std::is_same_v<C, engine::Launch>) {
            launch(c);
          } else if constexpr (std::is_same_v<C, engine::Proceed>) {
            if (Running* trial = find(c.trial, c.incarnation)) {
              trial->launch.horizon = std::move(c.horizon);
              trial->waits = trial->waits && trial->launch.horizon.is_reached(trial->last);
            }
          } else if constexpr (std::is_same_v<C, engine::Save>) {
            if (Running* trial = find(c.trial, c.incarnation)) trial->saves = true;
          } else if constexpr (std::is_same_v<C, engine::Pause>) {
            if (Running* trial = find(c.trial, c.incarnation)) {
              trial->pauses = true;
              trial->waits = false;
            }
          } else if constexpr (std::is_same_v<C, engine::Stop>) {
            if (Running* trial = find(c.trial, c.incarnation)) {
              trial->stops = true;
              trial->saves |= c.save;
              trial->waits = false;
            }
          } else if constexpr (std::is_same_v<C, engine::Finish>) {
            throw std::logic_error("the crowd has come to its end: " + c.end.error);
          }
        },
        command);
  }
}

}  // namespace tune::bench
