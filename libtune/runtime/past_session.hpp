#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <tune/callback.hpp>
#include <tune/experiment.hpp>

#include "definition_change.hpp"
#include "engine/engine.hpp"
#include "engine/suggestion_source.hpp"
#include "runtime/driver_actor.hpp"
#include "store/journal_reader.hpp"

namespace tune::runtime {

/// An experiment on record, and what is to become of it in another session.
class PastSession {
 public:
  /// `now`: how the experiment is defined this time.
  /// @throws std::invalid_argument naming each field by which it would be another experiment;
  /// store::JournalError
  PastSession(const ExperimentInfo& now, const Experiment& experiment, Json definition);

  /// The experiment, as it is from now on: what is on record, with the new definition.
  [[nodiscard]] const ExperimentInfo& info() const { return info_; }
  /// Brings the objects to where the journal ends, and finds out what is to be done.
  /// @throws std::runtime_error
  void replay(const engine::EngineOptions& options, engine::Engine& engine,
              engine::SuggestionSource& suggestions);

  // After replay().

  [[nodiscard]] bool is_complete() const { return is_complete_; }
  /// `event.options` is left to the caller.
  [[nodiscard]] const SessionBegin& begin() const { return begin_; }
  [[nodiscard]] const std::set<TrialId>& reopened() const { return reopened_; }
  [[nodiscard]] std::int64_t next_session() const;
  /// What the user should know.
  [[nodiscard]] const std::string& greeting() const { return greeting_; }
  /// What the log should have beside it.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] std::shared_ptr<const store::JournalReader> reader() const { return reader_; }

 private:
  void refuse_changes(bool accepts_new_space) const;
  [[nodiscard]] engine::KeepEnded what_may_go_on() const;
  void choose_reopened(const engine::Reopenable& reopenable);
  void describe(const engine::Engine& engine);

  ExperimentInfo info_;
  Resume resume_;
  std::shared_ptr<const store::JournalReader> reader_;  // with the callbacks' actor
  std::vector<store::SessionRow> sessions_;
  DefinitionChange change_;
  bool is_complete_ = false;
  SessionBegin begin_;
  std::set<TrialId> reopened_;
  std::string greeting_;
  std::vector<std::string> notes_;
};

}  // namespace tune::runtime
