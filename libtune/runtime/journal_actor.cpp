#include "runtime/journal_actor.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "actor_faults.hpp"
#include "runtime/record_keeper.hpp"

namespace tune::runtime {
namespace {

// So much makes a transaction even if more waits: readers and callbacks want their share.
constexpr std::size_t largest_group = 4096;

double wall_clock_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Groups turns into transactions.
class JournalWriter {
 public:
  JournalWriter(JournalActor::pointer self, std::shared_ptr<store::Journal> journal,
                CallbackActor callbacks)
      : self_(self),
        journal_(std::move(journal)),
        keeper_(*journal_),
        callbacks_(std::move(callbacks)) {}

  void on(RecordTurn& turn) {
    if (!driver_) driver_ = caf::actor_cast<DriverActor>(self_->current_sender());
    guarded([&] {
      for (const Record& record : turn.records) keeper_.put(record);
    });
    waiting_records_ += turn.records.size();
    waiting_.push_back(std::move(turn));
    if (waiting_records_ > largest_group) {
      commit();
    } else if (!std::exchange(commit_is_due_, true)) {
      self_->send(self_, CommitDue{});
    }
  }

  void on(const CommitDue&) {
    commit_is_due_ = false;
    commit();
  }

  void on(RecordTurnDone& done) { self_->send(driver_, std::move(done)); }

  void on(const EndJournal& end) {
    commit();
    guarded([&] {
      journal_->end_session(wall_clock_s(), end.end);
      journal_->commit();
      journal_->finish();
    });
    self_->quit();
  }

 private:
  void commit() {
    guarded([&] { journal_->commit(); });
    waiting_records_ = 0;
    for (RecordTurn& turn : waiting_) {
      auto acknowledged = std::exchange(turn.acknowledgements, {});
      if (!error_.empty()) acknowledged.clear();
      self_->send(driver_, TurnCommitted{turn.records.size(), std::move(acknowledged), error_});
    }
    // Behind the callbacks' answer files are deleted.
    if (keeper_.take_needs_sync()) guarded([&] { journal_->sync(); });
    for (RecordTurn& turn : std::exchange(waiting_, {})) {
      if (error_.empty()) {
        self_->send(callbacks_, std::move(turn));
      } else {
        self_->send(driver_, RecordTurnDone{turn.records.size(), {}, error_});
      }
    }
  }

  template <class Call>
  void guarded(Call call) {
    if (!error_.empty()) return;
    try {
      call();
    } catch (const std::exception& error) {
      error_ = error.what();
    }
  }

  JournalActor::pointer self_;
  std::shared_ptr<store::Journal> journal_;  // with the one who opened it, until the actors begin
  RecordKeeper keeper_;
  CallbackActor callbacks_;
  DriverActor driver_;
  std::vector<RecordTurn> waiting_;
  std::size_t waiting_records_ = 0;
  bool commit_is_due_ = false;
  std::string error_;
};

}  // namespace

JournalActor::behavior_type keep_journal(JournalActor::pointer self,
                                         std::shared_ptr<store::Journal> journal,
                                         const CallbackActor& callbacks) {
  watch_for_faults(self);
  const auto writer = std::make_shared<JournalWriter>(self, std::move(journal), callbacks);
  return {
      [writer](RecordTurn& turn) { writer->on(turn); },
      [writer](const CommitDue& due) { writer->on(due); },
      [writer](RecordTurnDone& done) { writer->on(done); },
      [writer](const EndJournal& end) { writer->on(end); },
  };
}

}  // namespace tune::runtime
