#pragma once

#include <string>

#include <tune/json.hpp>
#include <tune/resources.hpp>

namespace tune::core {

/// As definitions and journals hold them: of labels, workers and strategy only what is asked for.
/// @throws std::invalid_argument for a function of the configuration, which cannot be written down.
[[nodiscard]] Json to_json(const Resources& resources);
/// @throws std::invalid_argument naming an unknown key, or a value of the wrong type. What is
/// absent has its default.
[[nodiscard]] Resources resources_from_json(const Json& json);

[[nodiscard]] Json to_json(const ResourceAmounts& amounts);
[[nodiscard]] ResourceAmounts amounts_from_json(const Json& json);
[[nodiscard]] Json to_json(const ResourceRequest& request);
[[nodiscard]] ResourceRequest request_from_json(const Json& json);

/// For people: "zone=a, disk=ssd".
[[nodiscard]] std::string describe(const Labels& labels);
/// True if `labels` has all that `wanted` asks for.
[[nodiscard]] bool has_labels(const Labels& labels, const Labels& wanted);

}  // namespace tune::core
