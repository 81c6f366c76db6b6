#pragma once

#include <memory>

#include <tune/callback.hpp>

#include "report/callback_hub.hpp"
#include "runtime/messages.hpp"

namespace tune::runtime {

/// The body of the callback actor: passes records on to the hub, in order, and answers each turn.
/// Callbacks may be slow: spawn it detached. Ends after EndRecords; until then nobody else touches
/// the hub.
CallbackActor::behavior_type serve_callbacks(CallbackActor::pointer self,
                                             std::shared_ptr<report::CallbackHub> hub,
                                             ExperimentInfo experiment);

}  // namespace tune::runtime
