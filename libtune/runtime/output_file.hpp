#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/output_pump.hpp"

namespace tune::runtime {

/// One stream of a trial: its file, the tail kept beside it, and the lines shown.
class OutputFile {
 public:
  /// Appends to `path`, once there is something to write: what an earlier start of the trial wrote
  /// stays. `label` goes before each line that is shown.
  OutputFile(std::filesystem::path path, std::string label, const OutputPump::Options& options);
  void write(std::string_view bytes);
  /// Writes the rest and closes the file.
  void close();
  /// The last lines that came, at most OutputPump::max_lines.
  [[nodiscard]] std::string last_lines() const;

 private:
  void open();
  void show(std::string_view bytes);

  const OutputPump::Options& options_;
  const std::filesystem::path path_;
  const std::string label_;
  bool is_opened_ = false;
  std::ofstream file_;
  std::uint64_t head_room_;
  std::uint64_t beyond_head_ = 0;  // bytes that came and did not go into the file
  std::string tail_;               // the last bytes that came
  std::string line_;               // shown once it ends
};

}  // namespace tune::runtime
