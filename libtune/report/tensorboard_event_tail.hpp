#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune::report {

/// The last `count` events of an event file, newest first; fewer if there are no more, none if the
/// file does not end with a whole record. Reads no more than its end.
[[nodiscard]] std::vector<std::string> last_events(const std::filesystem::path& file,
                                                   std::size_t count);
/// Empty if it is no event of ours.
[[nodiscard]] std::optional<std::int64_t> step_of_event(std::string_view event);
/// True of what append_session_end() makes.
[[nodiscard]] bool is_session_end(std::string_view event);

}  // namespace tune::report
