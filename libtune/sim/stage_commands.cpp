#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "stage.hpp"

namespace tune::sim {
void Stage::carry_out_all() {
  if (commands_.empty()) return;
  bool changes_state = false;
  for (engine::Command& command : commands_) {
    std::visit(
        [&](auto& c) {
          using C = std::decay_t<decltype(c)>;
          changes_state |= std::is_same_v<C, engine::RecordTrialState> ||
                           std::is_same_v<C, engine::RecordTrialStarted> ||
                           std::is_same_v<C, engine::RecordTrialAdded>;
          carry_out(c);
        },
        command);
  }
  commands_.clear();
  if (changes_state) note_state();
}

template <class C>
void Stage::carry_out(C& command) {
  if constexpr (std::is_same_v<C, engine::AskSearcher>) {
    ask(command.trial);
  } else if constexpr (std::is_same_v<C, engine::TellSearcherResult>) {
    setup_.suggestions->on_trial_result(command.trial, command.config, command.result);
  } else if constexpr (std::is_same_v<C, engine::TellSearcherCompleted>) {
    setup_.suggestions->on_trial_completed(command.trial, command.config, command.last);
  } else if constexpr (std::is_same_v<C, engine::TellSearcherFailed>) {
    setup_.suggestions->on_trial_failed(command.trial, command.config, command.infeasible);
  } else if constexpr (std::is_same_v<C, engine::Launch>) {
    launch(command);
  } else if constexpr (std::is_same_v<C, engine::Proceed>) {
    Running* trial = find(command.trial, command.incarnation);
    if (trial == nullptr) return;
    trial->launch.horizon = std::move(command.horizon);
    if (trial->phase == Phase::waiting) boundary(*trial);
  } else if constexpr (std::is_same_v<C, engine::Save> || std::is_same_v<C, engine::Pause> ||
                       std::is_same_v<C, engine::Stop>) {
    Running* trial = find(command.trial, command.incarnation);
    if (trial == nullptr) return;
    if constexpr (std::is_same_v<C, engine::Stop>) {
      trial->stop = true;
      trial->save_at_stop = command.save;
    } else if constexpr (std::is_same_v<C, engine::Pause>) {
      trial->pause = true;
    } else {
      trial->save_due = true;
    }
    if (trial->phase == Phase::waiting) boundary(*trial);
  } else if constexpr (std::is_same_v<C, engine::DeleteCheckpoint>) {
    stored_.erase(stored_key(command.checkpoint.trial_name, command.checkpoint.directory_name));
    grid_->on(command);
  } else if constexpr (std::is_same_v<C, engine::SetTimer>) {
    heap_.put(std::max(command.at.count(), now_s_), {.what = What::timer, .id = command.timer});
  } else if constexpr (std::is_same_v<C, engine::RecordResult>) {
    timeline_.see(now_s_, command.trial, command.result);
    record(command);
  } else if constexpr (std::is_same_v<C, engine::RecordTrialAdded> ||
                       std::is_same_v<C, engine::RecordTrialStarted> ||
                       std::is_same_v<C, engine::RecordTrialState> ||
                       std::is_same_v<C, engine::RecordCheckpoint>) {
    record(command);
  } else if constexpr (std::is_same_v<C, engine::RecordWarning>) {
    warn(std::move(command.text));
  } else if constexpr (std::is_same_v<C, engine::Finish>) {
    end_ = std::move(command.end);
  }
}

// The grid last: it takes what it can use.
template <class Record>
void Stage::record(Record& record) {
  if (!callbacks_.is_empty()) callbacks_.on(record);
  grid_->on(record);
}

void Stage::ask(TrialId trial) {
  engine::SuggestionReady ready{trial, Wait{}};
  try {
    std::visit([&](auto&& answer) { ready.suggestion = std::forward<decltype(answer)>(answer); },
               setup_.suggestions->suggest(trial, &ready.note));
  } catch (const std::exception& error) {
    ready.suggestion = engine::SearcherFailure{error.what()};
  } catch (...) {
    ready.suggestion = engine::SearcherFailure{"unknown exception"};
  }
  if (cluster_.suggestion_s == 0) {
    inbox_.emplace_back(std::move(ready));
    return;
  }
  answer_ = std::move(ready);
  heap_.put(now_s_ + cluster_.suggestion_s, {.what = What::suggestion});
}

Stage::Running* Stage::find(TrialId trial, std::uint32_t incarnation) {
  const auto found = place_of_.find(trial.value());
  if (found == place_of_.end()) return nullptr;
  Running& running = running_[found->second];
  return running.launch.incarnation == incarnation ? &running : nullptr;
}

// Of the whole cluster, its workers included.
double Stage::share_of(const engine::Launch& launch) const {
  ResourceAmounts granted = launch.grant.amounts;
  for (const WorkerGrant& worker : launch.workers) granted += worker.resources.amounts;
  double share = 0;
  for (const auto& [name, amount] : granted.amounts()) {
    const std::int64_t all = capacity_.amount(name);
    if (all > 0) share = std::max(share, static_cast<double>(amount) / static_cast<double>(all));
  }
  return share;
}

void Stage::launch(engine::Launch& command) {
  // The driver may not know yet that a node is gone; then it learns so at once.
  const std::uint64_t number = out_.starts++;
  if (!joinings_[command.node.value()]) return;
  auto place = static_cast<std::uint32_t>(running_.size());
  if (free_places_.empty()) {
    running_.emplace_back();
  } else {
    place = free_places_.back();
    free_places_.pop_back();
  }
  Running& trial = running_[place];
  trial = Running{.is_live = true, .generation = trial.generation, .launch = std::move(command)};
  place_of_[trial.launch.trial.value()] = place;
  trial.start = {.trial = trial.launch.trial,
                 .incarnation = trial.launch.incarnation,
                 .number = number,
                 .config = trial.launch.config,
                 .seed = trial.launch.seed,
                 .start_iteration = trial.launch.start_iteration,
                 .node = trial.launch.node,
                 .resources = trial.launch.grant,
                 .workers = trial.launch.workers};
  trial.share = share_of(trial.launch);
  in_use_ += trial.share;
  begin(trial);
}

}  // namespace tune::sim
