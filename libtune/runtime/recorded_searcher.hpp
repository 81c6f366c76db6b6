#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/commands.hpp"
#include "engine/events.hpp"
#include "engine/suggestion_source.hpp"
#include "searcher_order.hpp"
#include "store/journal_reader.hpp"

namespace tune::runtime {

/// The searcher of an experiment on record, told and asked once more what it was told and asked.
/// What is on record is what it has suggested, whatever it says today.
class RecordedSearcher {
 public:
  /// Made anew from the record. @throws std::invalid_argument if it is not registered.
  explicit RecordedSearcher(const store::ExperimentRow& row);

  /// Why it is not asked, or no more; empty if it is.
  [[nodiscard]] const std::string& fault() const { return fault_; }

  /// Before the engine takes an event: what the searcher says today, in words, where that is an
  /// answer of the searcher. Empty for all other events, and if it is not asked.
  struct Answer {
    std::string then;
    std::string now;
  };
  [[nodiscard]] std::optional<Answer> take(const engine::Event& event);
  /// What the engine asked of it and told it at that event.
  void carry_out(std::span<const engine::Command> commands);

 private:
  [[nodiscard]] std::string ask_again(TrialId trial);
  void tell(const engine::Command& command);
  void take_answer(const engine::SuggestionReady& recorded);
  template <class Call>
  void guarded(const std::string& what, Call call);

  std::unique_ptr<engine::SuggestionSource> source_;
  std::string fault_;
  struct Asked {
    TrialId trial;
    std::string answer;
  };
  std::optional<Asked> asked_;
  SearcherOrder order_;
};

}  // namespace tune::runtime
