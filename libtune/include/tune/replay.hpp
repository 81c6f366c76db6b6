#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <tune/ids.hpp>

namespace tune {

/// What the scheduler decided at one event of an experiment on record.
struct ReplayedDecision {
  std::int64_t event = 0;             ///< Its number in the journal.
  double time_s = 0;                  ///< Engine time.
  std::string event_kind = {};        ///< "result", "suggestion", ...
  std::optional<TrialId> trial = {};  ///< Whose event it was.
  std::int64_t iteration = 0;         ///< Of its result; 0: it was none.
  /// "stop", "run trial 3", "exploit trial 2: go on from trial 5, with {...}", ...
  std::vector<std::string> decided = {};
  std::vector<std::string> explanations = {};  ///< What the scheduler said of it: "trial 3: ...".
  /// What differs today: "recorded is ..., today it would be ..."; empty if nothing does.
  std::string difference = {};

  /// One line: "event 12, 3.1 s, result 9 of trial 4: stop (trial 4: rung 2: ...)".
  void print(std::ostream& out) const;
};

struct ReplayOptions {
  std::optional<std::int64_t> until = {};  ///< The last event to go through; none: all.
  bool asks_searcher = true;               ///< False: the scheduler alone is asked.
  /// Told of each event at which the scheduler decided something, or would today.
  std::function<void(const ReplayedDecision&)> on_decision = {};
};

/// What became of a replay.
struct ReplayReport {
  std::int64_t events = 0;             ///< That were gone through.
  std::int64_t decisions = 0;          ///< Events at which the scheduler decided something.
  std::int64_t differences = 0;        ///< Events at which it would decide otherwise today.
  std::int64_t suggestions = 0;        ///< For which the searcher was asked once more.
  std::int64_t other_suggestions = 0;  ///< To which it would give another answer today.
  /// Why the searcher was not asked, or no more from some event on; empty if it was.
  std::string searcher_not_asked = {};
  /// The first difference of either. Later ones may follow from it.
  std::optional<ReplayedDecision> first_difference = {};

  [[nodiscard]] bool is_same() const { return differences + other_suggestions == 0; }
  void print(std::ostream& out) const;
};

/// Takes the events of an experiment that has ended, was killed or runs through the engine once
/// more, asks the scheduler anew at each, and compares what it says with what is on record. What is
/// on record counts: so one difference does not turn all that follows into another search, and the
/// events go on fitting. Reads the journal alone, and writes nothing.
///
/// So it is with the searcher: it is told what it was told, and asked where it was asked, and what
/// is on record is what it has suggested. One that throws is asked no more, and the report says so.
///
/// Scheduler and searcher are made from the recorded definition. Both must be registered in this
/// program: load their plugins before. They keep to the record if they are functions of what they
/// are told, as they must be. The searcher of a space with functions (`sample_from`, constraints)
/// is not asked: functions are not on record.
///
/// Takes time in proportion to the events, and memory to the trials.
/// @throws std::invalid_argument if scheduler or searcher are not registered, or it is no
/// experiment; std::runtime_error if the journal cannot be read, or an event does not fit.
ReplayReport replay(const std::filesystem::path& experiment, const ReplayOptions& options = {});

}  // namespace tune
