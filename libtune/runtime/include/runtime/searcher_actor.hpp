#pragma once

#include <memory>

#include "engine/suggestion_source.hpp"
#include "runtime/messages.hpp"

namespace tune::runtime {

/// The body of the searcher actor: asks and tells the searcher, in the order of the commands, and
/// answers each turn. It may think long: spawn it detached. What the searcher throws is part of the
/// answer.
SearcherActor::behavior_type serve_searcher(SearcherActor::pointer self,
                                            std::shared_ptr<engine::SuggestionSource> source);

}  // namespace tune::runtime
