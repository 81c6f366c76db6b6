#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "fsck_exports.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view event_file_start = "events.out.tfevents.";

std::uint32_t crc32c_bit_by_bit(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) * 0x82F63B78U);
  }
  return ~crc;
}

std::uint64_t read_little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

bool has_masked_crc(std::string_view data, std::string_view crc) {
  return std::rotr(crc32c_bit_by_bit(data), 15) + 0xA282EAD8U == read_little_endian(crc);
}

/// The events of a file: each is a record of length, CRC of it, event, CRC of that.
class EventRecords {
 public:
  explicit EventRecords(std::string_view text) : text_(text) {}

  /// Empty at the end, and if what is left is cut. @throws std::runtime_error if a CRC is wrong.
  std::optional<std::string_view> next() {
    constexpr std::size_t header_bytes = 12;
    constexpr std::size_t crc_bytes = 4;
    if (text_.size() < header_bytes) return std::nullopt;
    if (!has_masked_crc(text_.substr(0, 8), text_.substr(8, crc_bytes))) throw_wrong("length");
    const std::uint64_t length = read_little_endian(text_.substr(0, 8));
    if (text_.size() - header_bytes < length + crc_bytes) return std::nullopt;
    const std::string_view event = text_.substr(header_bytes, length);
    if (!has_masked_crc(event, text_.substr(header_bytes + length, crc_bytes))) {
      throw_wrong("content");
    }
    text_.remove_prefix(header_bytes + length + crc_bytes);
    ++records_;
    return event;
  }
  [[nodiscard]] bool has_more() const { return !text_.empty(); }

 private:
  [[noreturn]] void throw_wrong(const char* what) const {
    throw std::runtime_error("record " + std::to_string(records_ + 1) + ": wrong CRC of its " +
                             what);
  }
  std::string_view text_;
  std::size_t records_ = 0;
};

/// The fields of a message in the wire format of protocol buffers.
class MessageFields {
 public:
  explicit MessageFields(std::string_view text) : text_(text) {}

  /// False at the end. @throws std::runtime_error if it is no message.
  bool next() {
    if (text_.empty()) return false;
    const std::uint64_t key = take_varint();
    number = key >> 3U;
    bytes = {};
    switch (key & 7U) {
      case 0:
        value = take_varint();
        return true;
      case 1:
        bytes = take(8);
        return true;
      case 2:
        bytes = take(take_varint());
        return true;
      case 5:
        bytes = take(4);
        return true;
      default:
        throw std::runtime_error("an event with a field of unknown type");
    }
  }

  std::uint64_t number = 0;
  std::uint64_t value = 0;  // of a number
  std::string_view bytes;   // of all else

 private:
  std::uint64_t take_varint() {
    std::uint64_t taken = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto bits = static_cast<unsigned char>(take(1).front());
      taken |= std::uint64_t{bits & 0x7FU} << shift;
      if (bits < 0x80) break;
    }
    return taken;
  }
  std::string_view take(std::uint64_t size) {
    if (size > text_.size()) throw std::runtime_error("an event that is cut");
    const std::string_view taken = text_.substr(0, size);
    text_.remove_prefix(size);
    return taken;
  }
  std::string_view text_;
};

/// What of an event matters here.
struct ReadEvent {
  std::int64_t step = 0;
  bool starts_session = false;
  std::vector<std::string> scalars;
};

void read_summary(std::string_view summary, ReadEvent& event) {
  for (MessageFields values(summary); values.next();) {
    if (values.number != 1) continue;
    std::string tag;
    bool is_scalar = false;
    for (MessageFields value(values.bytes); value.next();) {
      if (value.number == 1) tag = value.bytes;
      if (value.number == 2) is_scalar = true;
    }
    if (is_scalar) event.scalars.push_back(std::move(tag));
  }
}

ReadEvent read_event_message(std::string_view text) {
  ReadEvent event;
  for (MessageFields fields(text); fields.next();) {
    if (fields.number == 2) event.step = static_cast<std::int64_t>(fields.value);
    if (fields.number == 5) read_summary(fields.bytes, event);
    if (fields.number != 7) continue;
    for (MessageFields log(fields.bytes); log.next();) {
      if (log.number == 1 && log.value == 1) event.starts_session = true;
    }
  }
  return event;
}

/// Ours end in five digits behind a dot; those of training code in something else.
bool is_own_event_file(const std::string& name) {
  const std::string_view number = std::string_view(name).substr(name.rfind('.') + 1);
  return name.starts_with(event_file_start) && number.size() == 5 &&
         number.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<fs::path> own_event_files(const fs::path& trial) {
  std::vector<fs::path> paths;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(trial, absent)) {
    if (is_own_event_file(entry.path().filename().string())) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());  // so does TensorBoard
  return paths;
}

void take_event(ReadEvent event, std::vector<ExportRow>& rows) {
  if (event.starts_session) {
    std::erase_if(rows, [&](const ExportRow& row) { return row.training_iteration >= event.step; });
  }
  if (event.scalars.empty()) return;
  ExportRow& row = rows.emplace_back();
  row.training_iteration = event.step;
  for (std::string& tag : event.scalars) row.values.emplace(std::move(tag), "");
}

}  // namespace

ExportRow events_export_row(const Result& result) {
  const std::string prefix = "ray/tune/";
  ExportRow row{result.training_iteration, {}};
  for (const auto& [name, value] : result.metrics) {
    if (value.is_number()) row.values.emplace(prefix + name, "");
  }
  for (const char* name :
       {"done", "time_this_iter_s", "time_since_restore", "iterations_since_restore"}) {
    row.values.emplace(prefix + name, "");
  }
  return row;
}

ExportedRows read_exported_events(const fs::path& trial) {
  ExportedRows read;
  const std::vector<fs::path> paths = own_event_files(trial);
  read.is_there = !paths.empty();
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    ++read.files;
    try {
      EventRecords records(text);
      while (const auto event = records.next()) take_event(read_event_message(*event), read.rows);
      read.is_cut = read.is_cut || records.has_more();
    } catch (const std::runtime_error& error) {
      read.damage = path.filename().string() + ": " + error.what();
      return read;
    }
  }
  return read;
}

}  // namespace tune::runtime
