#include <tune/track.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace tune::track {
namespace {

thread_local Handle current_session;

Session& session_of_thread(const char* caller) {
  if (!current_session) {
    throw std::logic_error(std::string("track::") + caller +
                           ": this thread belongs to no trial; a thread that a train function "
                           "starts must first track::attach() the function's track::handle()");
  }
  return *current_session;
}

}  // namespace

Session::~Session() = default;

void report(const Metrics& metrics, const Writer& writer) {
  session_of_thread("report").report(metrics, writer);
}

std::optional<std::filesystem::path> checkpoint() {
  return session_of_thread("checkpoint").context().checkpoint;
}

const Config& config() { return session_of_thread("config").config(); }

const TrialContext& context() { return session_of_thread("context").context(); }

bool should_stop() {
  const Session& session = session_of_thread("should_stop");
  try {
    return session.context().should_stop();
  } catch (const Ended&) {
    return true;  // so that a loop that asks ends by itself
  }
}

Handle handle() {
  session_of_thread("handle");
  return current_session;
}

Attachment::Attachment(Handle handle)
    : previous_(std::exchange(current_session, std::move(handle))) {}

Attachment::~Attachment() { current_session = std::move(previous_); }

}  // namespace tune::track
