#include "runtime/past_experiment.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <variant>

#include "core/exploit.hpp"
#include "engine/event_json.hpp"
#include "runtime/record_keeper.hpp"
#include "searcher_order.hpp"

namespace tune::runtime {

engine::Event event_on_record(const store::RecordedEvent& recorded,
                              const engine::EngineOptions& options) {
  const store::EventRow& row = recorded.row;
  if (recorded.result) {
    Result result = recorded.result->result;
    result.done = recorded.result->reported_done;
    return engine::TrialMessage{recorded.result->trial, recorded.result->incarnation, row.sequence,
                                engine::Reported{std::move(result)}};
  }
  return engine::event_of({.kind = row.kind,
                           .trial = row.trial,
                           .incarnation = row.incarnation,
                           .sequence = row.sequence,
                           .body = engine::object_of_text(row.body)},
                          options);
}

engine::Decisions decisions_on_record(const store::RecordedEvent& recorded) {
  const std::string& text = recorded.row.decisions;
  if (text.empty()) return {};
  return engine::decisions_of(engine::object_of_text(text));
}

namespace {

/// Tells the suggestions what the engine said of trials; what was asked is on record.
struct TellSuggestions {
  engine::SuggestionSource& suggestions;

  template <class Command>
  void operator()(const Command&) const {}
  void operator()(const engine::TellSearcherResult& told) const {
    suggestions.on_trial_result(told.trial, told.config, told.result);
  }
  void operator()(const engine::TellSearcherCompleted& told) const {
    suggestions.on_trial_completed(told.trial, told.config, told.last);
  }
  void operator()(const engine::TellSearcherFailed& told) const {
    suggestions.on_trial_failed(told.trial, told.config, told.infeasible);
  }
};

/// Takes the events on record, one after the other.
class Replay {
 public:
  Replay(const store::JournalReader& reader, const engine::EngineOptions& options,
         engine::Engine& engine, engine::SuggestionSource& suggestions)
      : options_(options), engine_(engine), suggestions_(suggestions) {
    if (const auto snapshot = reader.snapshot("scheduler")) {
      engine_.restore_scheduler(engine::object_of_text(snapshot->state));
      scheduler_event_ = snapshot->event;
    }
    if (const auto snapshot = reader.snapshot("searcher")) {
      suggestions_.restore(engine::object_of_text(snapshot->state));
      searcher_event_ = snapshot->event;
    }
  }

  void take(const store::RecordedEvent& recorded) {
    const store::EventNumber number = recorded.row.number;
    const engine::Event event = event_on_record(recorded, options_);
    const auto* suggestion = std::get_if<engine::SuggestionReady>(&event);
    if (suggestion != nullptr && number > searcher_event_) {
      if (const auto* config = std::get_if<Config>(&suggestion->suggestion)) {
        suggestions_.take_suggestion(suggestion->trial, *config);
      }
    }
    const bool begins_session = std::holds_alternative<engine::SessionStarted>(event);
    if (suggestion != nullptr || begins_session) release_tells();
    const engine::Decisions decisions = decisions_on_record(recorded);
    commands_.clear();
    engine_.replay(event, Time(recorded.row.time_s), decisions, number > scheduler_event_,
                   commands_);
    if (number > searcher_event_) {
      for (const engine::Command& command : commands_) {
        order_.take(command, [this](const auto& told) { tell(told); });
      }
    }
    replayed_.time = Time(recorded.row.time_s);
    replayed_.last_event = number;
  }

  [[nodiscard]] Replayed end() {
    release_tells();
    replayed_.difference = engine_.replay_difference();
    return std::move(replayed_);
  }

 private:
  void tell(const engine::Command& command) { std::visit(TellSuggestions{suggestions_}, command); }
  void release_tells() {
    order_.answered([this](const auto& told) { tell(told); });
  }

  const engine::EngineOptions& options_;
  engine::Engine& engine_;
  engine::SuggestionSource& suggestions_;
  store::EventNumber scheduler_event_ = 0;  // the state after it was restored
  store::EventNumber searcher_event_ = 0;
  std::vector<engine::Command> commands_;
  SearcherOrder order_;
  Replayed replayed_;
};

}  // namespace

Replayed replay_journal(const store::JournalReader& reader, const std::filesystem::path& experiment,
                        const engine::EngineOptions& options, engine::KeepEnded keep,
                        engine::Engine& engine, engine::SuggestionSource& suggestions) {
  store::EventNumber number = 0;
  try {
    engine.begin_replay(std::move(keep));
    Replay replay(reader, options, engine, suggestions);
    reader.for_each_event([&](const store::RecordedEvent& recorded) {
      number = recorded.row.number;
      replay.take(recorded);
    });
    return replay.end();
  } catch (const store::JournalError&) {
    throw;
  } catch (const std::exception& error) {
    throw std::runtime_error(
        (experiment / store::journal_file).string() + ": " +
        (number == 0 ? std::string("a snapshot") : "event " + std::to_string(number)) +
        " cannot be taken up again: " + error.what());
  }
}

std::set<TrialId> reopened_trials(const store::JournalReader& reader) {
  std::set<TrialId> trials;
  for (const store::EventRow& row : reader.events_of_kind("session_started")) {
    const Json body = engine::object_of_text(row.body);
    for (const char* list : {"reopened", "restarted"}) {
      for (const Json& id : body.at(list)) trials.insert(TrialId(id.get<std::uint64_t>()));
    }
  }
  return trials;
}

report::ExploitHistory exploits_on_record(const store::JournalReader& reader) {
  report::ExploitHistory history;
  reader.for_each_message(
      [&](const store::MessageRow& message) {
        if (message.kind == exploit_message) {
          history.add(core::exploit_of(engine::object_of_text(message.text)));
        } else {
          history.drop(message.trial.value(), Json::parse(message.text).at("kept"));
        }
      },
      exploit_message);
  return history;
}

void restore_trials(const store::JournalReader& reader, const std::set<TrialId>& reopened,
                    report::CallbackHub& hub) {
  reader.for_each_trial([&](const store::TrialRow& row) {
    report::RestoredTrial trial;
    trial.trial.id = row.id;
    trial.trial.name = row.name;
    trial.trial.config = row.last_config;
    trial.trial.incarnation = row.incarnation;
    trial.state = reopened.contains(row.id) ? TrialState::pending : row.state;
    trial.reason = row.reason;
    trial.error = row.error;
    trial.last = row.last;
    trial.starts = [&reader, id = row.id] {
      std::vector<TrialInfo> starts;
      for (store::StartRow& start : reader.starts(id)) starts.push_back(std::move(start.trial));
      return starts;
    };
    trial.results = [&reader, id = row.id](const report::RestoredTrial::TakeResult& take) {
      reader.for_each_result(id, [&](const store::LineResult& line) {
        take(line.incarnation, line.result, line.checkpoint);
      });
    };
    hub.restore_trial(trial);
  });
  hub.restore_exploits(exploits_on_record(reader));
}

}  // namespace tune::runtime
