#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tune/json.hpp>

namespace tune::report {

// The records of a TensorBoard event file: the part of tensorflow's event.proto, summary.proto and
// of the hparams plugin's plugin_data.proto that is needed, encoded by hand (protocol buffers wire
// format). Each function appends one whole record: length, masked CRC of it, event, masked CRC of
// it.

/// How the hparams plugin sees the end of a trial.
enum class SessionStatus : std::uint8_t { success = 1, failure = 2 };

/// The first record of a file.
void append_file_version(std::string& out, double wall_time_s);
/// TensorBoard then forgets all events with this step or a later one.
void append_session_start(std::string& out, double wall_time_s, std::int64_t step);
/// `_hparams_/session_start_info`: the configuration's parameters, nested ones by their path too.
/// Numbers and booleans are such; arrays, objects and null are JSON text.
void append_hyperparameters(std::string& out, double wall_time_s, const Json& config);
/// `_hparams_/session_end_info`.
void append_session_end(std::string& out, double wall_time_s, SessionStatus status);

/// A record of any number of scalars at one step.
class ScalarRecord {
 public:
  void begin(double wall_time_s, std::int64_t step);
  /// Kept as a float, as TensorBoard does; beyond its range it is infinite.
  void add(std::string_view tag, double value);
  void append_to(std::string& out) const;

 private:
  double wall_time_s_ = 0;
  std::int64_t step_ = 0;
  std::string summary_;
  std::string value_;  // reused
};

}  // namespace tune::report
