#pragma once

#include <memory>

#include "runtime/messages.hpp"
#include "store/journal.hpp"

namespace tune::runtime {

/// The body of the journal actor: what the mailbox holds becomes one transaction, then the driver
/// is told and the callbacks get the records. It waits for the disk: spawn it detached. Ends after
/// EndJournal; until then nobody else writes the journal.
JournalActor::behavior_type keep_journal(JournalActor::pointer self,
                                         std::shared_ptr<store::Journal> journal,
                                         const CallbackActor& callbacks);

}  // namespace tune::runtime
