#pragma once

#include <memory>
#include <set>

#include <tune/callback.hpp>

#include "report/callback_hub.hpp"
#include "runtime/messages.hpp"
#include "store/journal_reader.hpp"

namespace tune::runtime {

/// What the callbacks have to know of an experiment that begins.
struct CallbackSetup {
  ExperimentInfo experiment;
  std::shared_ptr<const store::JournalReader> past;  ///< With the one who sets up; null: it is new.
  std::set<TrialId> reopened = {};                   ///< See restore_trials().
};

/// Tells the hub of one record; may take it apart.
void pass_on(Record& record, report::CallbackHub& hub);

/// The body of the callback actor: passes records on to the hub, in order, and answers each turn.
/// Callbacks may be slow: spawn it detached. Ends after EndRecords; until then nobody else touches
/// the hub.
CallbackActor::behavior_type serve_callbacks(CallbackActor::pointer self,
                                             std::shared_ptr<report::CallbackHub> hub,
                                             CallbackSetup setup);

}  // namespace tune::runtime
