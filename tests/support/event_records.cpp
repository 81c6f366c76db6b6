#include "support/event_records.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

namespace tune::test {
namespace {

constexpr std::size_t frame_bytes = 16;

std::int64_t step_of(const std::string& event) {
  std::int64_t step = 0;
  for (std::size_t i = 10; i < event.size(); ++i) {  // behind the wall time and the field's key
    const auto byte = static_cast<unsigned char>(event[i]);
    step |= std::int64_t{byte & 0x7F} << (7 * (i - 10));
    if (byte < 0x80) return step;
  }
  throw std::runtime_error("an event without a step");
}

bool is_session_start(const std::string& event) {
  return event.ends_with(std::string_view("\x3A\x02\x08\x01", 4));
}

}  // namespace

std::vector<std::filesystem::path> event_files(const std::filesystem::path& trial) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(trial)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> event_records(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::string> events;
  for (std::string_view rest = text; !rest.empty();) {
    std::uint64_t length = 0;
    std::memcpy(&length, rest.data(), std::min(sizeof(length), rest.size()));
    if (rest.size() < frame_bytes || rest.size() - frame_bytes < length) {
      throw std::runtime_error("a cut record in " + file.string());
    }
    events.emplace_back(rest.substr(12, length));
    rest.remove_prefix(frame_bytes + length);
  }
  return events;
}

ShownEvents shown_events(const std::filesystem::path& trial) {
  ShownEvents shown;
  for (const std::filesystem::path& file : event_files(trial)) {
    for (const std::string& event : event_records(file)) {
      if (event.find("session_start_info") != std::string::npos) {
        // Its time is at its beginning, and once more before the two bytes of the last field.
        shown.parameters = event.substr(9, event.size() - 9 - 10);
      } else if (event.find("session_end_info") != std::string::npos) {
        ++shown.ends;
      } else if (is_session_start(event)) {
        std::erase_if(shown.scalars,
                      [&](const auto& scalars) { return scalars.step >= step_of(event); });
      } else if (event.find("ray/tune/") != std::string::npos) {
        shown.scalars.push_back({step_of(event), event});
      }
    }
  }
  return shown;
}

std::vector<std::int64_t> steps(const ShownEvents& shown) {
  std::vector<std::int64_t> steps;
  for (const auto& scalars : shown.scalars) steps.push_back(scalars.step);
  return steps;
}

}  // namespace tune::test
