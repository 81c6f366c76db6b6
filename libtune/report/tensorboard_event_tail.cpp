#include "tensorboard_event_tail.hpp"

#include "crc32c.hpp"
#include "file_tail.hpp"

namespace tune::report {
namespace {

constexpr std::size_t length_bytes = 8;
constexpr std::size_t crc_bytes = 4;
constexpr std::size_t frame_bytes = length_bytes + 2 * crc_bytes;

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

bool is_record(std::string_view text) {
  const std::string_view length = text.substr(0, length_bytes);
  if (little_endian(length) != text.size() - frame_bytes) return false;
  const std::string_view event = text.substr(length_bytes + crc_bytes, text.size() - frame_bytes);
  return little_endian(text.substr(length_bytes, crc_bytes)) == masked_crc32c(length) &&
         little_endian(text.substr(text.size() - crc_bytes)) == masked_crc32c(event);
}

// The record at the end of `text`, with its frame; empty if there is none. A record has no mark at
// its end, so each place is tried where it may begin.
std::string_view last_record(std::string_view text) {
  for (std::size_t size = frame_bytes; size <= text.size(); ++size) {
    const std::string_view candidate = text.substr(text.size() - size);
    if (is_record(candidate)) return candidate;
  }
  return {};
}

}  // namespace

std::vector<std::string> last_events(const std::filesystem::path& file, std::size_t count) {
  FileTail tail(file);
  std::vector<std::string> events;
  for (std::size_t size_bytes = 4096; tail.read(size_bytes); size_bytes *= 4) {
    events.clear();
    std::string_view text = tail.text();
    while (events.size() < count) {
      const std::string_view record = last_record(text);
      if (record.empty()) break;
      events.emplace_back(record.substr(length_bytes + crc_bytes, record.size() - frame_bytes));
      text.remove_suffix(record.size());
    }
    if (events.size() == count || tail.is_all()) break;
  }
  return events;
}

std::optional<std::int64_t> step_of_event(std::string_view event) {
  constexpr std::size_t step_begin = 1 + 8;  // behind the wall time, a double with its key
  constexpr char step_key = 0x10;
  if (event.size() <= step_begin || event[step_begin] != step_key) return std::nullopt;
  std::uint64_t step = 0;
  unsigned shift = 0;
  for (const char byte : event.substr(step_begin + 1)) {
    const auto bits = static_cast<unsigned char>(byte);
    if (shift < 64) step |= std::uint64_t{bits & 0x7FU} << shift;
    if (bits < 0x80) return static_cast<std::int64_t>(step);
    shift += 7;
  }
  return std::nullopt;
}

bool is_session_end(std::string_view event) {
  return event.find("_hparams_/session_end_info") != std::string_view::npos;
}

}  // namespace tune::report
