#include "fsck_journal.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "engine/engine.hpp"
#include "engine/event_json.hpp"
#include "past_run.hpp"
#include "runtime/past_experiment.hpp"

namespace tune::runtime {
namespace {

using store::EventNumber;

/// Looks at one event after the other.
class EventCheck {
 public:
  EventCheck(JournalFacts& facts, FsckFindings& findings)
      : facts_(facts), findings_(findings), where_(findings.directory() / store::journal_file) {}

  void take(const store::RecordedEvent& recorded) {
    const store::EventRow& row = recorded.row;
    if (row.number != last_ + 1) {
      findings_.fault(where_, "event " + std::to_string(last_ + 1) + " is missing: after " +
                                  std::to_string(last_) + " comes " + std::to_string(row.number));
    }
    if (row.time_s < time_s_) {
      findings_.fault(where_,
                      "event " + std::to_string(row.number) + " is earlier than that before it");
    }
    last_ = row.number;
    time_s_ = row.time_s;
    ++findings_.report().events;
    findings_.guarded(where_, [&] { note(recorded); });
  }

  [[nodiscard]] EventNumber last() const { return last_; }
  [[nodiscard]] const std::vector<EventNumber>& session_starts() const { return session_starts_; }

 private:
  void note(const store::RecordedEvent& recorded) {
    const store::EventRow& row = recorded.row;
    if (row.kind == "session_started") session_starts_.push_back(row.number);
    const bool is_plain_result = row.body.empty() && recorded.result;
    if (row.kind == engine::result_kind && row.body.empty() && !recorded.result) {
      findings_.fault(
          where_, "event " + std::to_string(row.number) + ": the result of this number is missing");
      return;
    }
    if (!is_plain_result && row.body.empty() && !row.trial) return;
    const engine::Event event = event_on_record(recorded, options_);
    if (const auto* suggestion = std::get_if<engine::SuggestionReady>(&event)) {
      if (std::holds_alternative<Config>(suggestion->suggestion)) {
        facts_.suggested.insert(suggestion->trial);
      }
    } else if (const auto* message = std::get_if<engine::TrialMessage>(&event)) {
      note(*message, row.number);
    }
  }

  void note(const engine::TrialMessage& message, EventNumber number) {
    if (const auto* reported = std::get_if<engine::Reported>(&message.report)) {
      facts_.reported[message.trial].push_back(
          {message.incarnation, reported->result.training_iteration, number});
    } else if (const auto* stored = std::get_if<engine::CheckpointStored>(&message.report)) {
      note_files(message.trial, stored->directory_name, stored->files);
    } else if (const auto* saved = std::get_if<engine::Saved>(&message.report)) {
      note_files(message.trial, saved->saved.directory_name, saved->saved.files);
    } else if (const auto* back = std::get_if<engine::WentBack>(&message.report)) {
      const auto [smallest, is_first] = facts_.went_back.try_emplace(
          {message.trial, message.incarnation}, back->training_iteration);
      smallest->second = std::min(smallest->second, back->training_iteration);
    }
  }

  void note_files(TrialId trial, const std::string& directory, const core::SharedManifest& files) {
    const auto kept = facts_.manifests.find({trial, directory});
    if (kept != facts_.manifests.end()) kept->second = files;
  }

  JournalFacts& facts_;
  FsckFindings& findings_;
  const std::filesystem::path where_;
  const engine::EngineOptions options_;  // what sessions have of their own is not looked at
  EventNumber last_ = 0;
  double time_s_ = 0;
  std::vector<EventNumber> session_starts_;
};

void check_sessions(const std::vector<store::SessionRow>& sessions, bool is_run,
                    const EventCheck& events, FsckFindings& findings) {
  const auto where = findings.directory() / store::journal_file;
  std::set<EventNumber> starts;
  std::int64_t number = 0;
  EventNumber before = 1;
  for (const store::SessionRow& session : sessions) {
    const std::string text = "session " + std::to_string(session.number);
    if (session.number != ++number)
      findings.fault(where, text + ": want " + std::to_string(number));
    if (session.first_event < before || session.first_event > events.last() + 1) {
      findings.fault(where, text + " begins at event " + std::to_string(session.first_event) +
                                ", want " + std::to_string(before) + " to " +
                                std::to_string(events.last() + 1));
    }
    before = session.first_event;
    starts.insert(session.first_event);
  }
  for (const EventNumber start : events.session_starts()) {
    if (starts.contains(start)) continue;
    findings.fault(where,
                   "event " + std::to_string(start) + " begins a session that is not on record");
  }
  if (is_run) return;  // its sessions have no event of their own
  const auto begun = static_cast<std::ptrdiff_t>(events.session_starts().size());
  const auto with_events = std::count_if(starts.begin(), starts.end(),
                                         [&](EventNumber start) { return start <= events.last(); });
  if (begun < with_events) findings.fault(where, "a session does not begin with its event");
}

}  // namespace

store::EventNumber JournalFacts::event_of(TrialId trial, std::uint32_t incarnation,
                                          std::int64_t training_iteration) const {
  const auto of_trial = reported.find(trial);
  if (of_trial == reported.end()) return 0;
  constexpr auto last_event = std::numeric_limits<store::EventNumber>::max();
  const auto behind = std::upper_bound(of_trial->second.begin(), of_trial->second.end(),
                                       ReportedResult{incarnation, training_iteration, last_event});
  if (behind == of_trial->second.begin()) return 0;
  const ReportedResult& found = *std::prev(behind);
  const bool is_it =
      found.incarnation == incarnation && found.training_iteration == training_iteration;
  return is_it ? found.event : 0;
}

JournalFacts check_events(const store::JournalReader& reader, FsckFindings& findings) {
  const auto where = findings.directory() / store::journal_file;
  JournalFacts facts;
  findings.guarded(where, [&] {
    facts.is_run = is_run_by_itself(reader.experiment());
    for (const TrialId id : reader.trial_ids()) {
      for (const store::CheckpointRow& row : reader.checkpoints(id)) {
        if (row.is_kept) facts.manifests.emplace(std::pair(id, row.directory), nullptr);
      }
      for (const store::SavedRow& row : reader.saves(id)) {
        if (!row.directory.empty()) facts.manifests.emplace(std::pair(id, row.directory), nullptr);
      }
    }
    EventCheck check(facts, findings);
    reader.for_each_event([&](const store::RecordedEvent& recorded) { check.take(recorded); });
    for (auto& [id, results] : facts.reported) std::sort(results.begin(), results.end());
    facts.reopened = reopened_trials(reader);
    check_sessions(reader.sessions(), facts.is_run, check, findings);
  });
  return facts;
}

}  // namespace tune::runtime
