#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "engine/commands.hpp"

namespace tune::runtime {

/// Tells a searcher of the past in the order in which it heard it then: it answers where it is
/// asked, though the answer is an event of its own that comes later, and hears of what happens in
/// between after that.
class SearcherOrder {
 public:
  /// A command to the searcher, or another one: `tell` gets it in its turn.
  template <class Tell>
  void take(const engine::Command& command, Tell tell) {
    if (std::holds_alternative<engine::AskSearcher>(command)) {
      is_asked_ = true;
    } else if (is_asked_) {
      held_.push_back(command);
    } else {
      tell(command);
    }
  }
  /// The answer is on record, and the searcher was told so; or none will come.
  template <class Tell>
  void answered(Tell tell) {
    is_asked_ = false;
    for (const engine::Command& command : std::exchange(held_, {})) tell(command);
  }

 private:
  bool is_asked_ = false;
  std::vector<engine::Command> held_;
};

}  // namespace tune::runtime
