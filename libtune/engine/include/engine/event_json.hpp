#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tune/json.hpp>

#include "engine/decisions.hpp"
#include "engine/engine.hpp"
#include "engine/events.hpp"

namespace tune::engine {

// Events and decisions as text, for the journal. What is not finite survives: see object_text().

/// An event taken apart. What is not in `body` is in the other fields.
struct EventRecord {
  std::string kind;  ///< "result", "suggestion", ...
  std::optional<TrialId> trial = {};
  std::uint32_t incarnation = 0;  ///< Of a TrialMessage,
  std::uint64_t sequence = 0;     ///< and its number.
  Json body = Json::object();
};
[[nodiscard]] EventRecord record_of(const Event& event);
/// The inverse. `options` is the current definition, from which an event that begins a session
/// takes what no text can hold. @throws std::runtime_error naming the kind, if it is none.
[[nodiscard]] Event event_of(const EventRecord& record, const EngineOptions& options);

/// The kind of a Reported message, the most frequent of all.
inline constexpr std::string_view result_kind = "result";

[[nodiscard]] Json to_json(const OutsideAnswer& answer);
[[nodiscard]] Json to_json(const Decisions& decisions);
/// @throws std::runtime_error if it is no such JSON.
[[nodiscard]] Decisions decisions_of(const Json& json);

/// What of the options may differ from one session of an experiment to the next.
[[nodiscard]] Json session_json(const EngineOptions& options);
/// `options` with what session_json() gave.
[[nodiscard]] EngineOptions with_session(EngineOptions options, const Json& session);

/// JSON text of an object or array that keeps values which are not finite: they are null, and in
/// [value, places] beside it.
[[nodiscard]] std::string object_text(const Json& object);
/// The inverse. @throws std::runtime_error
[[nodiscard]] Json object_of_text(std::string_view text);

}  // namespace tune::engine
