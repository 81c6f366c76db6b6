#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include <tune/config.hpp>
#include <tune/metrics.hpp>
#include <tune/trainable.hpp>

/// The cooperative form of training code: a function that reports its results itself.
namespace tune::track {

/// Thrown by report() when the trial shall end (stop, pause, exploit). Let it pass: it is no error.
/// Not a std::exception, so that `catch (const std::exception&)` does not swallow it; if it is
/// swallowed, every later call throws it again.
class Ended {};

/// Writes a checkpoint into an empty directory.
using Writer = std::function<void(const std::filesystem::path& dir)>;

/// Reports one training iteration and returns only when the trial may go on.
///
/// `writer` is called when a checkpoint is due (CheckpointOptions) or asked for.
/// @throws Ended when the trial shall end; std::logic_error on a thread that belongs to no trial.
void report(const Metrics& metrics, const Writer& writer = {});

/// The checkpoint to go on from, at this start of the trial; empty for a fresh start.
[[nodiscard]] std::optional<std::filesystem::path> checkpoint();
/// The trial's configuration.
[[nodiscard]] const Config& config();
/// What the trial is and was given.
[[nodiscard]] const TrialContext& context();
/// True once the trial shall end.
[[nodiscard]] bool should_stop();

/// One trial's link to whoever runs it.
class Session {
 public:
  virtual ~Session();
  virtual void report(const Metrics& metrics, const Writer& writer) = 0;
  [[nodiscard]] virtual const Config& config() const = 0;
  [[nodiscard]] virtual const TrialContext& context() const = 0;
};
using Handle = std::shared_ptr<Session>;

/// The session of the calling thread, to be given to attach() on another thread.
/// @throws std::logic_error on a thread that belongs to no trial.
[[nodiscard]] Handle handle();

/// Makes the calling thread act for the trial of `handle` as long as it lives.
class [[nodiscard]] Attachment {
 public:
  explicit Attachment(Handle handle);
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

 private:
  Handle previous_;
};
[[nodiscard]] inline Attachment attach(Handle handle) { return Attachment(std::move(handle)); }

}  // namespace tune::track
