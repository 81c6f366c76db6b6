#include "runtime/held_runs.hpp"

#include <algorithm>
#include <variant>

namespace tune::runtime {
namespace {

// A start that came to nothing while the driver died, since it wanted files of it, is no failure.
void excuse(engine::TrialMessage& message) {
  auto* const ended = std::get_if<engine::Ended>(&message.report);
  if (ended == nullptr || message.sequence > 0 || ended->kind != engine::EndKind::failed) return;
  ended->kind = engine::EndKind::stopped;
}

}  // namespace

void HeldRuns::launch(TrialId trial, std::uint32_t incarnation) { runs_[{trial, incarnation}]; }

void HeldRuns::keep(const std::vector<engine::TrialMessage>& messages) {
  for (const engine::TrialMessage& message : messages) {
    const auto found = runs_.find({message.trial, message.incarnation});
    if (found == runs_.end()) continue;
    found->second.has_ended |= std::holds_alternative<engine::Ended>(message.report);
    found->second.messages.push_back(message);
  }
}

void HeldRuns::acknowledge(const Acknowledgement& acknowledgement) {
  const auto found = runs_.find({acknowledgement.trial, acknowledgement.incarnation});
  if (found == runs_.end()) return;
  Run& run = found->second;
  run.acknowledged = std::max(run.acknowledged, acknowledgement.count);
  while (!run.messages.empty() && run.messages.front().sequence < acknowledgement.count) {
    run.messages.pop_front();
  }
  if (run.has_ended && run.messages.empty()) runs_.erase(found);
}

std::vector<engine::HeldRun> HeldRuns::all() const {
  std::vector<engine::HeldRun> all;
  for (const auto& [key, run] : runs_) {
    all.push_back({key.first, key.second, run.acknowledged});
  }
  return all;
}

std::vector<engine::HeldRun> HeldRuns::drop_all_but(const std::vector<engine::Adopt>& adopted) {
  std::vector<engine::HeldRun> running;
  std::erase_if(runs_, [&](const auto& entry) {
    const auto& [trial, incarnation] = entry.first;
    const bool is_adopted =
        std::any_of(adopted.begin(), adopted.end(), [&](const engine::Adopt& run) {
          return run.trial == trial && run.incarnation == incarnation;
        });
    if (!is_adopted && !entry.second.has_ended) running.push_back({trial, incarnation, 0});
    return !is_adopted;
  });
  return running;
}

std::vector<engine::TrialMessage> HeldRuns::unacknowledged() const {
  std::vector<engine::TrialMessage> all;
  for (const auto& [key, run] : runs_) {
    all.insert(all.end(), run.messages.begin(), run.messages.end());
  }
  for (engine::TrialMessage& message : all) excuse(message);
  return all;
}

}  // namespace tune::runtime
