#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine/decisions.hpp"

namespace tune::engine {

/// Stands between the engine and the code outside that it asks: keeps the answers while events are
/// handled, and gives them again when the events are replayed.
class DecisionTape {
 public:
  /// The next questions are those of a new event.
  void record();
  /// The next questions are those of an event of the past, with these answers. `asks`: the code
  /// outside is asked as well, and where it says otherwise that is noted.
  void replay(const Decisions& recorded, bool asks);
  /// After the last question of that event: lets go of `recorded`.
  void end_replay() { recorded_ = nullptr; }

  /// Asks one question, or takes the recorded answer, which wins. `Answer` is what nothing on
  /// record means; `always_asks`: the one who is asked learns from the question.
  /// @throws std::runtime_error if the recorded answer is to another question.
  template <class Answer, class Ask>
  OutsideAnswer settle(Ask ask, bool always_asks = false) {
    const std::uint32_t call = next_call_++;
    if (recorded_ == nullptr) {
      OutsideAnswer answer = ask();
      if (!says_nothing(answer)) taken_.push_back({call, answer});
      return answer;
    }
    const OutsideAnswer* const found = find(call);
    OutsideAnswer told = found != nullptr ? *found : OutsideAnswer(Answer{});
    check_kind(told, OutsideAnswer(Answer{}).index());
    if (asks_) {
      OutsideAnswer live = ask();
      compare(live, told);
      if constexpr (std::is_same_v<Answer, SchedulerAnswer>) {
        taken_.push_back({call, std::move(live)});
      }
    } else if (always_asks) {
      (void)ask();
    }
    return told;
  }

  /// What was answered while the last event was handled. In a replay that asks: what the scheduler
  /// says today to each question, also where that is nothing.
  [[nodiscard]] Decisions take() { return std::exchange(taken_, {}); }
  /// The first answer in a replay that differed from the recorded one; empty if none did.
  [[nodiscard]] const std::string& difference() const { return difference_; }
  [[nodiscard]] bool is_replaying() const { return recorded_ != nullptr; }

 private:
  [[nodiscard]] static bool says_nothing(const OutsideAnswer& answer);
  static void check_kind(const OutsideAnswer& answer, std::size_t kind);
  [[nodiscard]] const OutsideAnswer* find(std::uint32_t call) const;
  void compare(const OutsideAnswer& live, const OutsideAnswer& told);

  const Decisions* recorded_ = nullptr;  // null: a new event
  bool asks_ = false;
  std::uint32_t next_call_ = 0;
  Decisions taken_;
  std::string difference_;
};

}  // namespace tune::engine
