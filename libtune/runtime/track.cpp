#include <tune/track.hpp>

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/experiment_presence.hpp"
#include "standalone_run.hpp"

namespace tune {
namespace {

namespace fs = std::filesystem;
using runtime::StandaloneRun;

/// In the Attachment of a thread that works for a trial; null without one. Needs no destructor, so
/// that objects destroyed late may still report.
thread_local const track::Handle* attached = nullptr;

/// Null if the thread works for no trial.
track::Handle attached_session() { return attached != nullptr ? *attached : nullptr; }

/// What the threads of this process without a session share.
struct ProcessTrack {
  std::mutex mutex;  // guards what follows
  int experiments = 0;
  std::shared_ptr<StandaloneRun> run;  // with handles of it; stays when it has ended
  bool program_has_ended = false;
  std::vector<std::shared_ptr<StandaloneRun>> inherited;  // through fork(): their files are others'
  std::atomic<pid_t> run_owner{0};  // the process that started the newest run; not guarded
};

/// Never destroyed: threads may outlive main().
ProcessTrack& process_track() {
  static auto& track = *new ProcessTrack;
  return track;
}

/// Made when the library is loaded, so that it is destroyed when the objects of the program are:
/// those may report until then.
class ProgramSpan {
 public:
  ~ProgramSpan() {
    ProcessTrack& process = process_track();
    const pid_t owner = process.run_owner;
    if (owner != 0 && owner != ::getpid()) return;  // a forked child: the mutex may be locked
    std::shared_ptr<StandaloneRun> run;
    {
      const std::lock_guard lock(process.mutex);
      process.program_has_ended = true;
      run = process.run;
    }
    if (!run) return;
    try {
      run->end_with_program();
    } catch (const std::exception& error) {
      std::cerr << "tune: run " << run->experiment().name << ": " << error.what() << std::endl;
    }
  }
  const StandaloneRun::Clock::time_point begin = StandaloneRun::Clock::now();
};
const ProgramSpan program;

// @pre process.mutex is locked
bool is_in_experiment(const ProcessTrack& process) {
  const track::Handle session = attached_session();
  return process.experiments > 0 || (session && session != process.run);
}

[[noreturn]] void refuse(const char* caller, const std::string& why) {
  throw std::logic_error(std::string("track::") + caller + ": " + why);
}

// @pre process.mutex is locked
void start_run(ProcessTrack& process, const track::Options& options,
               StandaloneRun::Clock::time_point begin) {
  auto run = std::make_shared<StandaloneRun>(options, begin);
  const ExperimentInfo& experiment = run->experiment();
  const TrialContext& context = run->context();
  if (experiment.has_default_name || context.incarnation > 1) {
    std::clog << "tune: run " << experiment.name << " in " << experiment.path.string();
    if (context.incarnation > 1) {
      std::clog << " goes on after iteration " << context.start_iteration;
    }
    std::clog << std::endl;
  }
  if (process.run && !process.run->is_of_this_process()) {
    process.inherited.push_back(std::move(process.run));  // it must not write what it still holds
  }
  process.run = std::move(run);
  process.run_owner = ::getpid();
}

/// The session of the calling thread: its trial's, else the process's own run, started if need be.
track::Handle session_of_thread(const char* caller) {
  if (track::Handle session = attached_session()) return session;
  ProcessTrack& process = process_track();
  const std::lock_guard lock(process.mutex);
  if (process.experiments > 0) {
    refuse(caller,
           "this thread belongs to no trial; while an experiment runs, a thread that a train "
           "function starts must first track::attach() the function's track::handle()");
  }
  if (!process.run) {
    if (process.program_has_ended) refuse(caller, "the program has ended");
    start_run(process, {}, program.begin);
  }
  return process.run;
}

[[noreturn]] void refuse_artifact(const fs::path& path, const std::string& why) {
  throw std::invalid_argument("track::artifact: " + path.string() + ": " + why);
}

}  // namespace

namespace runtime {

ExperimentPresence::ExperimentPresence() {
  ProcessTrack& process = process_track();
  const std::lock_guard lock(process.mutex);
  ++process.experiments;
}

ExperimentPresence::~ExperimentPresence() {
  ProcessTrack& process = process_track();
  const std::lock_guard lock(process.mutex);
  --process.experiments;
}

}  // namespace runtime

namespace track {

Session::~Session() = default;

void init(const Options& options) {
  ProcessTrack& process = process_track();
  const std::lock_guard lock(process.mutex);
  if (is_in_experiment(process)) {
    refuse("init", "an experiment runs here: name, path and configuration of a trial are its own");
  }
  if (process.run && process.run->is_open()) {
    const ExperimentInfo& open = process.run->experiment();
    refuse("init", "run " + open.name + " in " + open.path.string() +
                       " is open already; call it once, before all other track functions or "
                       "after track::finish()");
  }
  if (process.program_has_ended) refuse("init", "the program has ended");
  start_run(process, options, StandaloneRun::Clock::now());
}

void finish() {
  std::shared_ptr<StandaloneRun> run;
  {
    ProcessTrack& process = process_track();
    const std::lock_guard lock(process.mutex);
    if (is_in_experiment(process)) return;
    run = process.run;
  }
  if (run) run->finish();
}

void report(const Metrics& metrics, const Writer& writer) {
  session_of_thread("report")->report(metrics, writer);
}

void log(const Metrics& metrics) { session_of_thread("log")->log(metrics); }

std::int64_t index() { return session_of_thread("index")->index(); }

void save(const std::string& name, const Json& value, const Writer& writer) {
  session_of_thread("save")->save(name, value, writer);
}

void artifact(const fs::path& path, const std::string& name) {
  std::error_code unreadable;
  const fs::file_status status = fs::status(path, unreadable);
  if (!fs::is_regular_file(status) && !fs::is_directory(status)) {
    refuse_artifact(path, unreadable ? unreadable.message() : "must be a file or a directory");
  }
  // "results/" has no last part.
  const fs::path last = path.has_filename() ? path.filename() : path.parent_path().filename();
  save(name.empty() ? last.string() : name, nullptr, [&](const fs::path& directory) {
    if (!fs::is_directory(status)) {
      fs::copy_file(path, directory / last);
      return;
    }
    const std::string inside = fs::relative(directory, path).string();
    if (!inside.starts_with("..")) refuse_artifact(path, "its copy would lie within it");
    fs::copy(path, directory, fs::copy_options::recursive);
  });
}

std::optional<Saved> load(const std::string& name) { return session_of_thread("load")->load(name); }

void restore(std::int64_t index) { session_of_thread("restore")->restore(index); }

std::optional<std::filesystem::path> checkpoint() {
  return session_of_thread("checkpoint")->context().checkpoint;
}

// The session of the thread or process stays when the handle goes.
const Config& config() { return session_of_thread("config")->config(); }

const TrialContext& context() { return session_of_thread("context")->context(); }

bool should_stop() {
  const Handle session = session_of_thread("should_stop");
  try {
    return session->context().should_stop();
  } catch (const Ended&) {
    return true;  // so that a loop that asks ends by itself
  }
}

Handle handle() { return session_of_thread("handle"); }

Attachment::Attachment(Handle handle)
    : handle_(std::move(handle)), previous_(std::exchange(attached, &handle_)) {}

Attachment::~Attachment() { attached = previous_; }

}  // namespace track
}  // namespace tune
