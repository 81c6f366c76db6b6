#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "report/progress_renderer.hpp"

namespace tune::report {

struct WindowSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

/// Where a display writes to. Nothing that goes wrong there is anybody's fault: it is left alone.
class DisplayOutput {
 public:
  virtual ~DisplayOutput();
  /// Asked at each draw, since windows are resized.
  [[nodiscard]] virtual WindowSize size() const = 0;
  /// False if what was written before is not through, or nothing should be written now.
  [[nodiscard]] virtual bool is_ready() = 0;
  /// Never waits: what does not go through at once is written with what comes later.
  virtual void write(std::string_view text) = 0;
  /// Waits until all is through, at most `patience`.
  virtual void finish(std::chrono::milliseconds patience) = 0;
};

/// A descriptor of this process: a terminal, a pipe, a file. Writing to it cannot block, raises no
/// SIGPIPE, and ends silently once the other side is gone.
class DescriptorOutput final : public DisplayOutput {
 public:
  /// The descriptor may be closed, or used by others, at any time: a copy is made.
  explicit DescriptorOutput(int descriptor);
  ~DescriptorOutput() override;
  DescriptorOutput(const DescriptorOutput&) = delete;
  DescriptorOutput& operator=(const DescriptorOutput&) = delete;

  [[nodiscard]] bool is_terminal() const { return is_terminal_; }
  [[nodiscard]] WindowSize size() const override;
  [[nodiscard]] bool is_ready() override;
  void write(std::string_view text) override;
  void finish(std::chrono::milliseconds patience) override;

 private:
  [[nodiscard]] bool is_in_background() const;
  void flush();
  void give_up();

  int descriptor_ = -1;  // -1 once nobody is there any more
  bool is_terminal_ = false;
  bool has_own_mode_ = false;  // it is non-blocking without anybody else's being so
  std::string waiting_;
};

/// How a display looks.
struct DisplayStyle {
  bool redraws = false;  ///< In place; else it is a line now and then.
  Charset charset = Charset::ascii;
  Colors colors = Colors::off;
};

/// In place on terminals that can (`TERM` is set and not "dumb") and have somebody before them (no
/// `CI`); in colours unless there is `NO_COLOR`; in Unicode if the locale's variables say so.
/// @param variable gives an environment variable, or null.
[[nodiscard]] DisplayStyle choose_display_style(
    bool is_terminal, const std::function<const char*(const char*)>& variable);

}  // namespace tune::report
