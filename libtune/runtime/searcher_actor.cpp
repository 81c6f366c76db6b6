#include "runtime/searcher_actor.hpp"

#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <caf/all.hpp>

#include "actor_faults.hpp"

namespace tune::runtime {
namespace {

std::string searcher_fault_text(std::exception_ptr fault) {
  try {
    std::rethrow_exception(fault);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown exception";
  }
}

/// Carries out one turn of commands on the searcher.
class SearcherCall {
 public:
  explicit SearcherCall(engine::SuggestionSource& source) : source_(source) {}

  SearcherTurnDone run(const SearcherTurn& turn) {
    for (const SearcherCommand& command : turn.commands) {
      std::visit([this](const auto& c) { on(c); }, command);
    }
    done_.commands = turn.commands.size();
    if (turn.snapshot_after != 0) take_snapshot(turn.snapshot_after);
    return std::move(done_);
  }

 private:
  void on(const engine::AskSearcher& ask) {
    engine::SuggestionReady& ready = done_.suggestions.emplace_back();
    ready.trial = ask.trial;
    try {
      std::visit([&](auto&& answer) { ready.suggestion = std::forward<decltype(answer)>(answer); },
                 source_.suggest(ask.trial, &ready.note));
    } catch (...) {
      ready.suggestion = engine::SearcherFailure{searcher_fault_text(std::current_exception())};
    }
  }
  void on(const engine::TellSearcherResult& told) {
    tell("a result", told.trial,
         [&] { source_.on_trial_result(told.trial, told.config, told.result); });
  }
  void on(const engine::TellSearcherCompleted& told) {
    tell("the end", told.trial,
         [&] { source_.on_trial_completed(told.trial, told.config, told.last); });
  }
  void on(const engine::TellSearcherFailed& told) {
    tell("the failure", told.trial,
         [&] { source_.on_trial_failed(told.trial, told.config, told.infeasible); });
  }

  // A searcher without a state of its own to save is told everything again after a resume.
  void take_snapshot(store::EventNumber event) {
    try {
      Json state = source_.save();
      if (!state.is_null()) done_.snapshot = SnapshotTaken{"searcher", event, std::move(state)};
    } catch (...) {
      if (done_.fault.empty()) {
        done_.fault = "searcher failed at save(): " + searcher_fault_text(std::current_exception());
      }
    }
  }

  template <class Call>
  void tell(const char* what, TrialId trial, Call call) {
    if (!done_.fault.empty()) return;
    try {
      call();
    } catch (...) {
      done_.fault = std::string("searcher failed at ") + what + " of trial " +
                    std::to_string(trial.value()) + ": " +
                    searcher_fault_text(std::current_exception());
    }
  }

  engine::SuggestionSource& source_;
  SearcherTurnDone done_;
};

}  // namespace

SearcherActor::behavior_type serve_searcher(SearcherActor::pointer self,
                                            std::shared_ptr<engine::SuggestionSource> source) {
  watch_for_faults(self);
  return {[source = std::move(source)](const SearcherTurn& turn) {
    return SearcherCall(*source).run(turn);
  }};
}

}  // namespace tune::runtime
