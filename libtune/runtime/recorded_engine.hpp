#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/engine.hpp"
#include "store/journal_reader.hpp"

namespace tune::runtime {

/// Makes the searcher that a definition names. @throws std::invalid_argument if it is not
/// registered.
[[nodiscard]] std::unique_ptr<Searcher> recorded_searcher(const Json& definition);

/// An engine that goes through the events of an experiment once more, with a scheduler made from
/// the record. The experiment's search space, stop criteria and functions are not needed: what they
/// said is on record.
class RecordedEngine {
 public:
  /// @throws std::invalid_argument if scheduler or searcher are not registered in this program.
  explicit RecordedEngine(const store::JournalReader& reader);

  /// Takes the next event, with the decisions on record of it; see Engine::replay(). The commands
  /// are valid until the next call.
  /// @throws std::runtime_error naming the event if it does not fit.
  std::span<const engine::Command> replay(const store::RecordedEvent& recorded,
                                          const engine::Decisions& decisions, bool asks_scheduler);
  /// What the scheduler would decide today, if it was asked.
  [[nodiscard]] engine::Decisions take_decisions() { return engine_->take_decisions(); }
  /// For event_on_record().
  [[nodiscard]] const engine::EngineOptions& options() const { return options_; }

 private:
  engine::EngineOptions options_;
  std::unique_ptr<engine::Engine> engine_;
  std::vector<engine::Command> commands_;
};

}  // namespace tune::runtime
