#include "standalone_journal.hpp"

#include <utility>

#include "runtime/host.hpp"

namespace tune::runtime {
namespace {

double seconds_of_wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

StandaloneJournal::StandaloneJournal(std::unique_ptr<store::Journal> journal,
                                     const store::ExperimentRow& row, const Past& past)
    : journal_(std::move(journal)),
      keeper_(*journal_),
      begin_(std::chrono::steady_clock::now() -
             std::chrono::duration_cast<std::chrono::nanoseconds>(past.time)),
      last_event_(past.last_event) {
  journal_->set_experiment(row);
  const Host host = local_host();
  store::SessionRow session;
  session.number = past.sessions + 1;
  session.first_event = last_event_ + 1;
  session.host = host.name;
  session.pid = host.pid;
  session.started = seconds_of_wall_clock();
  journal_->begin_session(session);
}

void StandaloneJournal::add(engine::TrialMessage message, bool is_plain_result) {
  const Time time = std::chrono::steady_clock::now() - begin_;
  keeper_.put(JournalEvent{++last_event_, time, std::move(message), {}, is_plain_result});
}

void StandaloneJournal::commit() {
  journal_->commit();
  if (keeper_.take_needs_sync()) journal_->sync();
}

void StandaloneJournal::end_session(const ExperimentEnd& end) {
  journal_->end_session(seconds_of_wall_clock(), end);
  journal_->commit();
}

}  // namespace tune::runtime
