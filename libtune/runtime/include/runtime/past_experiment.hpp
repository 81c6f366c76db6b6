#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "engine/suggestion_source.hpp"
#include "report/callback_hub.hpp"
#include "report/exploit_history.hpp"
#include "store/journal_reader.hpp"

namespace tune::runtime {

/// What the engine saw, and what was decided then, as they stand in the journal. `options`: see
/// engine::event_of(). @throws std::runtime_error if they cannot be read.
[[nodiscard]] engine::Event event_on_record(const store::RecordedEvent& recorded,
                                            const engine::EngineOptions& options);
[[nodiscard]] engine::Decisions decisions_on_record(const store::RecordedEvent& recorded);

/// Where the events on record have brought an experiment.
struct Replayed {
  Time time{0};                       ///< Of the last event.
  store::EventNumber last_event = 0;  ///< Its number.
  std::string difference;             ///< See Engine::replay_difference().
};

/// Brings engine, scheduler and suggestions to where the journal ends: the engine through all
/// events, scheduler and searcher from their last snapshot on, if there is one.
/// @throws std::runtime_error naming the journal, and the event that does not fit.
[[nodiscard]] Replayed replay_journal(const store::JournalReader& reader,
                                      const std::filesystem::path& experiment,
                                      const engine::EngineOptions& options, engine::KeepEnded keep,
                                      engine::Engine& engine,
                                      engine::SuggestionSource& suggestions);

/// The trials that a session named, to go on though they had ended.
[[nodiscard]] std::set<TrialId> reopened_trials(const store::JournalReader& reader);

/// Who took over from whom. @throws std::runtime_error if it cannot be read.
[[nodiscard]] report::ExploitHistory exploits_on_record(const store::JournalReader& reader);

/// Tells the hub of all trials on record, and of what one took over from another. Those in
/// `reopened` go on though they had ended.
void restore_trials(const store::JournalReader& reader, const std::set<TrialId>& reopened,
                    report::CallbackHub& hub);

}  // namespace tune::runtime
