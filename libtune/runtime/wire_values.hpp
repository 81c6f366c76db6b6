#pragma once

#include <tune/json.hpp>

#include "runtime/messages.hpp"

/// The parts of messages that go to workers and to other machines alike.
namespace tune::runtime {

[[nodiscard]] Json to_json(const engine::Launch& launch);
[[nodiscard]] Json to_json(const TrialOrder& order);
[[nodiscard]] Json to_json(const engine::TrialMessage& message);
[[nodiscard]] Json to_json(const ResourceGrant& grant);
/// Null for a manifest that is not known.
[[nodiscard]] Json manifest_to_json(const core::SharedManifest& files);

// They throw what Json throws, or std::invalid_argument, for what is none.

[[nodiscard]] engine::Launch launch_from_json(const Json& json);
[[nodiscard]] TrialOrder order_from_json(const Json& json);
[[nodiscard]] engine::TrialMessage trial_message_from_json(const Json& json);
[[nodiscard]] ResourceGrant grant_from_json(const Json& json);
[[nodiscard]] core::SharedManifest manifest_from_json(const Json& json);

}  // namespace tune::runtime
