#include "tensorboard_events.hpp"

#include <bit>
#include <cstddef>
#include <limits>

#include "core/json_text.hpp"
#include "crc32c.hpp"
#include "report/config_parameters.hpp"

namespace tune::report {
namespace {

// Field numbers.
namespace event_field {
constexpr std::uint32_t wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7;
}
namespace summary_field {
constexpr std::uint32_t value = 1;
}
namespace value_field {
constexpr std::uint32_t tag = 1, simple_value = 2, tensor = 8, metadata = 9;
}
namespace metadata_field {
constexpr std::uint32_t plugin_data = 1, data_class = 4;
}
namespace plugin_field {
constexpr std::uint32_t name = 1, content = 2;
}
namespace hparams_field {
constexpr std::uint32_t session_start = 3, session_end = 4;
constexpr std::uint32_t start_hparams = 1, start_time = 5;
constexpr std::uint32_t end_status = 1, end_time = 2;
}  // namespace hparams_field
namespace protobuf_value_field {
constexpr std::uint32_t number = 2, text = 3, boolean = 4;
}

enum WireType : std::uint32_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80U);
    value >>= 7U;
  }
  out += static_cast<char>(value);
}

template <class Unsigned>
void put_fixed(std::string& out, Unsigned value) {
  for (std::size_t i = 0; i < sizeof(value); ++i) {
    out += static_cast<char>(value & 0xFFU);
    value >>= 8U;
  }
}

void put_key(std::string& out, std::uint32_t field, WireType type) {
  put_varint(out, field << 3U | type);
}

void put_number_field(std::string& out, std::uint32_t field, std::uint64_t value) {
  put_key(out, field, varint);
  put_varint(out, value);
}

void put_double_field(std::string& out, std::uint32_t field, double value) {
  put_key(out, field, fixed64);
  put_fixed(out, std::bit_cast<std::uint64_t>(value));
}

void put_float_field(std::string& out, std::uint32_t field, float value) {
  put_key(out, field, fixed32);
  put_fixed(out, std::bit_cast<std::uint32_t>(value));
}

// Text, bytes or a message.
void put_bytes_field(std::string& out, std::uint32_t field, std::string_view value) {
  put_key(out, field, bytes);
  put_varint(out, value.size());
  out += value;
}

void put_text_field(std::string& out, std::uint32_t field, std::string_view text) {
  std::string scratch;
  put_bytes_field(out, field, core::as_utf8(text, scratch));  // readers refuse anything else
}

void put_record(std::string& out, std::string_view event) {
  std::string length;
  put_fixed(length, static_cast<std::uint64_t>(event.size()));
  out += length;
  put_fixed(out, masked_crc32c(length));
  out += event;
  put_fixed(out, masked_crc32c(event));
}

std::string begin_event(double wall_time_s, std::int64_t step) {
  std::string event;
  put_double_field(event, event_field::wall_time, wall_time_s);
  put_number_field(event, event_field::step, static_cast<std::uint64_t>(step));
  return event;
}

float to_float(double value) {
  using Float = std::numeric_limits<float>;
  // The conversion of what a float cannot hold has no defined value.
  if (value > Float::max()) return Float::infinity();
  if (value < Float::lowest()) return -Float::infinity();
  return static_cast<float>(value);
}

// An empty float vector: the tensor of a summary whose message is its metadata.
std::string null_tensor() {
  std::string dimension;
  put_number_field(dimension, 1, 0);
  std::string shape;
  put_bytes_field(shape, 2, dimension);
  std::string tensor;
  put_number_field(tensor, 1, 1);  // DT_FLOAT
  put_bytes_field(tensor, 2, shape);
  return tensor;
}

void append_hparams_record(std::string& out, double wall_time_s, std::string_view tag,
                           std::uint32_t field, std::string_view message) {
  std::string content;  // its version is 0, the default
  put_bytes_field(content, field, message);
  std::string plugin;
  put_bytes_field(plugin, plugin_field::name, "hparams");
  put_bytes_field(plugin, plugin_field::content, content);
  std::string metadata;
  put_bytes_field(metadata, metadata_field::plugin_data, plugin);
  put_number_field(metadata, metadata_field::data_class, 2);  // DATA_CLASS_TENSOR
  std::string value;
  put_bytes_field(value, value_field::tag, tag);
  put_bytes_field(value, value_field::tensor, null_tensor());
  put_bytes_field(value, value_field::metadata, metadata);
  std::string summary;
  put_bytes_field(summary, summary_field::value, value);
  std::string event = begin_event(wall_time_s, 0);
  put_bytes_field(event, event_field::summary, summary);
  put_record(out, event);
}

// google.protobuf.Value.
std::string hyperparameter_value(const Json& parameter) {
  std::string value;
  if (parameter.is_boolean()) {
    put_number_field(value, protobuf_value_field::boolean, parameter.get<bool>() ? 1 : 0);
  } else if (parameter.is_number()) {
    put_double_field(value, protobuf_value_field::number, parameter.get<double>());
  } else if (parameter.is_string()) {
    put_text_field(value, protobuf_value_field::text, parameter.get_ref<const std::string&>());
  } else {
    put_text_field(value, protobuf_value_field::text,
                   parameter.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return value;
}

void put_hyperparameter(std::string& message, std::string_view name, const Json& parameter) {
  std::string entry;
  put_text_field(entry, 1, name);
  put_bytes_field(entry, 2, hyperparameter_value(parameter));
  put_bytes_field(message, hparams_field::start_hparams, entry);
}

}  // namespace

void append_file_version(std::string& out, double wall_time_s) {
  std::string event = begin_event(wall_time_s, 0);
  put_bytes_field(event, event_field::file_version, "brain.Event:2");
  put_record(out, event);
}

void append_session_start(std::string& out, double wall_time_s, std::int64_t step) {
  std::string log;
  put_number_field(log, 1, 1);  // status: START
  std::string event = begin_event(wall_time_s, step);
  put_bytes_field(event, event_field::session_log, log);
  put_record(out, event);
}

void append_hyperparameters(std::string& out, double wall_time_s, const Json& config) {
  std::string message;
  for (const auto& [path, parameter] : flat_parameters(config)) {
    put_hyperparameter(message, path, *parameter);
  }
  for (const auto& [name, parameter] : config.items()) {
    if (parameter.is_object() && !parameter.empty()) put_hyperparameter(message, name, parameter);
  }
  put_double_field(message, hparams_field::start_time, wall_time_s);
  append_hparams_record(out, wall_time_s, "_hparams_/session_start_info",
                        hparams_field::session_start, message);
}

void append_session_end(std::string& out, double wall_time_s, SessionStatus status) {
  std::string message;
  put_number_field(message, hparams_field::end_status, static_cast<std::uint64_t>(status));
  put_double_field(message, hparams_field::end_time, wall_time_s);
  append_hparams_record(out, wall_time_s, "_hparams_/session_end_info", hparams_field::session_end,
                        message);
}

void ScalarRecord::begin(double wall_time_s, std::int64_t step) {
  wall_time_s_ = wall_time_s;
  step_ = step;
  summary_.clear();
}

void ScalarRecord::add(std::string_view tag, double value) {
  value_.clear();
  put_text_field(value_, value_field::tag, tag);
  put_float_field(value_, value_field::simple_value, to_float(value));
  put_bytes_field(summary_, summary_field::value, value_);
}

void ScalarRecord::append_to(std::string& out) const {
  std::string event = begin_event(wall_time_s_, step_);
  put_bytes_field(event, event_field::summary, summary_);
  put_record(out, event);
}

}  // namespace tune::report
