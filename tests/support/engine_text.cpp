#include "support/engine_text.hpp"

#include <array>
#include <charconv>
#include <sstream>
#include <type_traits>
#include <variant>

namespace tune::test {
namespace {

using namespace engine;

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;  // clang 14 deduces none for aggregates

/// "name key=value key=value", built up from left to right.
class Line {
 public:
  explicit Line(std::string name) : text_(std::move(name)) {}

  Line& add(std::string_view key, const std::string& value) {
    text_.append(" ").append(key).append("=").append(value);
    return *this;
  }
  Line& add(std::string_view key, const char* value) { return add(key, std::string(value)); }
  Line& add(std::string_view key, double value) { return add(key, describe(value)); }
  Line& add(std::string_view key, bool value) { return add(key, value ? "yes" : "no"); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) Line& add(std::string_view key, T value) {
    return add(key, std::to_string(value));
  }
  template <class Tag>
  Line& add(std::string_view key, Id<Tag> id) {
    return add(key, id.value());
  }
  Line& quote(std::string_view key, const std::string& value) {
    return add(key, "\"" + value + "\"");
  }
  Line& add(const Result& result) {
    add("iteration", result.training_iteration).add("target", result.target());
    add("total_s", result.time_total_s).add("done", result.done);
    for (const auto& [name, value] : result.metrics) {
      add(name, value.is_number() ? describe(value.as_double()) : value.json().dump());
    }
    return *this;
  }
  [[nodiscard]] std::string text() const { return text_; }

 private:
  std::string text_;
};

Line describe_saved(std::string what, const SavedValue& saved) {
  Line line(std::move(what));
  line.add("name", saved.name).add("index", saved.index).add("value", saved.value->dump());
  if (!saved.directory_name.empty()) line.add("directory", saved.directory_name);
  return line;
}

std::string describe_report(const TrialReport& report) {
  return std::visit(
      Overloaded{[](const Started&) { return std::string("started"); },
                 [](const Reported& r) { return Line("reported").add(r.result).text(); },
                 [](const CheckpointStored& c) {
                   return Line("checkpoint_stored")
                       .add("directory", c.directory_name)
                       .add("iteration", c.training_iteration)
                       .add("total_s", c.time_total_s)
                       .text();
                 },
                 [](const CheckpointFailed& c) {
                   return Line("checkpoint_failed")
                       .add("iteration", c.training_iteration)
                       .quote("message", c.message)
                       .text();
                 },
                 [](const Warned& w) { return Line("warned").quote("text", w.text).text(); },
                 [](const Ended& e) {
                   static constexpr std::array kinds = {"finished", "stopped",   "paused", "failed",
                                                        "invalid",  "abandoned", "damaged"};
                   return Line("ended")
                       .add("kind", kinds.at(static_cast<std::size_t>(e.kind)))
                       .quote("message", e.message)
                       .text();
                 },
                 [](const Saved& s) { return describe_saved("saved", s.saved).text(); },
                 [](const WentBack& w) {
                   return Line("went_back").add("iteration", w.training_iteration).text();
                 }},
      report);
}

std::string describe_suggestion(const SuggestionReady& ready) {
  return std::visit(Overloaded{[](const Config& config) { return config.dump(); },
                               [](const Wait&) { return std::string("wait"); },
                               [](const Exhausted&) { return std::string("exhausted"); },
                               [](const SearcherFailure& failure) {
                                 return "failure \"" + failure.message + "\"";
                               }},
                    ready.suggestion);
}

std::string describe_launch(const Launch& launch) {
  Line line("launch");
  line.add("trial", launch.trial).add("incarnation", launch.incarnation).add("node", launch.node);
  line.add("name", launch.trial_name).add("config", launch.config.dump());
  line.quote("grant", launch.grant.amounts.describe());
  for (const int gpu : launch.grant.gpu_ids) line.add("gpu_id", gpu);
  line.add("seed", launch.seed).add("start", launch.start_iteration);
  line.add("start_total_s", launch.start_time_total_s);
  if (launch.checkpoint) {
    line.add(launch.adopt_as ? "adopt" : "checkpoint",
             launch.checkpoint->trial_name + "/" + launch.checkpoint->directory_name);
    if (launch.adopt_as) line.add("adopt_as", *launch.adopt_as);
  }
  for (const SavedValue& saved : launch.saves) {
    line.add("saved", "(" + describe_saved("value", saved).text() + ")");
  }
  return line.text() + " " + describe(launch.horizon);
}

/// Commands that name a running trial and little else.
template <class T>
Line to_trial(std::string name, const T& command) {
  return Line(std::move(name))
      .add("trial", command.trial)
      .add("incarnation", command.incarnation)
      .add("node", command.node);
}

std::string describe_record(const RecordTrialState& record) {
  return Line("record_state")
      .add("trial", record.trial)
      .add("incarnation", record.incarnation)
      .add("state", std::string(to_string(record.state)))
      .quote("reason", record.reason)
      .quote("error", record.error)
      .text();
}

std::string describe_started(const TrialStart& start) {
  return Line("record_started")
      .add("trial", start.trial)
      .add("name", start.name)
      .add("config", start.config.dump())
      .add("incarnation", start.incarnation)
      .add("start", start.start_iteration)
      .add("node", start.node)
      .text();
}

std::string describe_end(const ExperimentEnd& end) {
  return Line("finish")
      .add("terminated", end.terminated_trials)
      .add("failed", end.failed_trials)
      .add("unfinished", end.unfinished_trials)
      .quote("reason", end.reason)
      .quote("error", end.error)
      .add("interrupted", end.interrupted)
      .text();
}

}  // namespace

std::string describe(double value) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end);
}

std::string describe(const Horizon& horizon) {
  std::ostringstream out;
  out << "until={";
  if (horizon.every_result) out << "every result";
  for (const Horizon::Bound& bound : horizon.bounds) {
    out << ' ' << bound.field << (bound.below ? "<=" : ">=") << describe(bound.value);
  }
  out << " decided=" << horizon.decided_until << '}';
  return out.str();
}

std::string describe(const Event& event) {
  return std::visit(
      Overloaded{[](const NodeJoined& e) {
                   return Line("node_joined")
                       .add("node", e.node)
                       .add("name", e.name)
                       .quote("capacity", e.capacity.describe())
                       .text();
                 },
                 [](const NodeLeft& e) { return Line("node_left").add("node", e.node).text(); },
                 [](const SuggestionReady& e) {
                   return Line("suggestion").add("trial", e.trial).text() + " " +
                          describe_suggestion(e);
                 },
                 [](const TrialMessage& e) {
                   return Line("message")
                              .add("trial", e.trial)
                              .add("incarnation", e.incarnation)
                              .add("sequence", e.sequence)
                              .text() +
                          " " + describe_report(e.report);
                 },
                 [](const SessionStarted& e) {
                   return Line("session_started")
                       .add("reopened", e.reopened.size())
                       .add("restarted", e.restarted.size())
                       .text();
                 },
                 [](const TimerFired& e) { return Line("timer").add("timer", e.timer).text(); },
                 [](const StopRequested& e) {
                   return Line(e.interrupts ? "interrupt_requested" : "stop_requested")
                       .quote("reason", e.reason)
                       .text();
                 }},
      event);
}

std::string describe(const Command& command) {
  return std::visit(
      Overloaded{
          [](const AskSearcher& c) { return Line("ask").add("trial", c.trial).text(); },
          [](const TellSearcherResult& c) {
            return Line("tell_result")
                .add("trial", c.trial)
                .add("config", c.config.dump())
                .add(c.result)
                .text();
          },
          [](const TellSearcherCompleted& c) {
            return Line("tell_completed")
                .add("trial", c.trial)
                .add("config", c.config.dump())
                .add(c.last)
                .text();
          },
          [](const TellSearcherFailed& c) {
            return Line("tell_failed")
                .add("trial", c.trial)
                .add("config", c.config.dump())
                .add("infeasible", c.infeasible)
                .text();
          },
          [](const Launch& c) { return describe_launch(c); },
          [](const Proceed& c) {
            return to_trial("proceed", c).text() + " " + describe(c.horizon);
          },
          [](const Save& c) { return to_trial("save", c).text(); },
          [](const Pause& c) { return to_trial("pause", c).text(); },
          [](const Stop& c) { return to_trial("stop", c).add("save", c.save).text(); },
          [](const Adopt& c) { return to_trial("adopt", c).add("next", c.next).text(); },
          [](const DeleteCheckpoint& c) {
            return Line("delete")
                .add("checkpoint", c.checkpoint.trial_name + "/" + c.checkpoint.directory_name)
                .text();
          },
          [](const SetTimer& c) {
            return Line("set_timer").add("timer", c.timer).add("at", c.at.count()).text();
          },
          [](const RecordTrialAdded& c) {
            return Line("record_added")
                .add("trial", c.trial)
                .add("name", c.name)
                .add("config", c.config.dump())
                .text();
          },
          [](const RecordTrialStarted& c) { return describe_started(c.start); },
          [](const RecordTrialAdopted& c) { return "adopted: " + describe_started(c.start); },
          [](const RecordResult& c) {
            return Line("record_result")
                .add("trial", c.trial)
                .add("incarnation", c.incarnation)
                .add(c.result)
                .text();
          },
          [](const RecordCheckpoint& c) {
            return Line("record_checkpoint")
                .add("trial", c.trial)
                .add("incarnation", c.incarnation)
                .add("directory", c.directory_name)
                .add("iteration", c.training_iteration)
                .text();
          },
          [](const RecordCheckpointDamaged& c) {
            return Line("record_damaged")
                .add("trial", c.trial)
                .add("directory", c.directory_name)
                .text();
          },
          [](const RecordTrialState& c) { return describe_record(c); },
          [](const RecordSaved& c) {
            return describe_saved("record_saved", c.saved)
                .add("trial", c.trial)
                .add("incarnation", c.incarnation)
                .text();
          },
          [](const RecordSavedDropped& c) {
            return Line("record_saved_dropped")
                .add("trial", c.trial)
                .add("name", c.name)
                .add("index", c.index)
                .text();
          },
          [](const RecordRestarted& c) { return Line("restarted").add("trial", c.trial).text(); },
          [](const RecordExploit& c) {
            return Line("record_exploit")
                .add("trial", c.exploit->trial)
                .add("number", c.exploit->number)
                .add("incarnation", c.exploit->incarnation)
                .add("donor", c.exploit->donor)
                .text();
          },
          [](const RecordExploitsDropped& c) {
            return Line("exploits_dropped").add("trial", c.trial).add("kept", c.kept).text();
          },
          [](const RecordExplanation& c) {
            return Line("explain").add("trial", c.trial).quote("reason", c.reason).text();
          },
          [](const RecordWarning& c) {
            Line line("warning");
            if (c.trial) line.add("trial", *c.trial);
            return line.quote("text", c.text).text();
          },
          [](const Finish& c) { return describe_end(c.end); }},
      command);
}

}  // namespace tune::test
