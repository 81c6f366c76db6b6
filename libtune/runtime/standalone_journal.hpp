#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <tune/callback.hpp>

#include "engine/events.hpp"
#include "runtime/messages.hpp"
#include "runtime/record_keeper.hpp"
#include "store/journal.hpp"

namespace tune::runtime {

/// The journal of a run outside an experiment: what its one trial told, each time that it ran. Not
/// for several threads. @throws store::JournalError, each call, and each one after it
class StandaloneJournal {
 public:
  /// What is on record before this session.
  struct Past {
    std::int64_t sessions = 0;
    store::EventNumber last_event = 0;
    Time time{0};  ///< Of that event; goes on from there.
  };
  /// Begins a session in `journal`, of a run that is described by `row` from now on.
  StandaloneJournal(std::unique_ptr<store::Journal> journal, const store::ExperimentRow& row,
                    const Past& past);

  /// Adds an event; the records that come of it follow.
  void add(engine::TrialMessage message, bool is_plain_result);
  void add(const Record& record) { keeper_.put(record); }
  /// Safe from the death of this process; from that of the machine as well if files go now.
  void commit();
  /// How the session ended; commits.
  void end_session(const ExperimentEnd& end);
  /// Nobody writes for a while.
  void finish() { journal_->finish(); }

 private:
  std::unique_ptr<store::Journal> journal_;
  RecordKeeper keeper_;
  const std::chrono::steady_clock::time_point begin_;  // of engine time 0
  store::EventNumber last_event_;
};

}  // namespace tune::runtime
