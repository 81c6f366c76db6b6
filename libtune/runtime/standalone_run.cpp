#include "standalone_run.hpp"

#include <unistd.h>

#include <stdexcept>
#include <utility>

#include <tune/random.hpp>

#include "engine/commands.hpp"
#include "runtime/host.hpp"

namespace tune::runtime {
namespace {

// How long the end of the program waits for a report of another thread.
constexpr std::chrono::seconds end_patience{10};

TrialRun make_standalone_trial(const StandaloneRecords& records, const CheckpointOptions& options) {
  const ExperimentInfo& experiment = records.experiment();
  const TrialInfo& trial = records.trial();
  TrialRun run;
  run.launch.trial = trial.id;
  run.launch.incarnation = trial.incarnation;
  run.launch.trial_name = trial.name;
  run.launch.config = trial.config;
  run.launch.grant.amounts = local_machine({}).capacity;
  run.launch.start_iteration = trial.start_iteration;
  run.launch.start_time_total_s = records.start().time_total_s;
  run.launch.checkpoint = records.start().checkpoint;
  run.launch.stored_until = records.start().stored_until;
  run.launch.saves = records.start().saves;
  run.launch.seed = Random(experiment.seed, "trial", trial.id.value()).next();
  run.experiment_name = experiment.name;
  run.experiment_path = experiment.path;
  run.checkpoint = options;
  return run;
}

TrialContext begin_trial(TrialProgress& progress) {
  progress.begin();
  return progress.context();
}

}  // namespace

/// The calling thread has the run for itself as long as this lives.
class StandaloneRun::Turn {
 public:
  Turn(StandaloneRun& run, const char* caller) : run_(run) { run_.enter(caller); }
  ~Turn() { run_.leave(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  StandaloneRun& run_;
};

StandaloneRun::StandaloneRun(const track::Options& options, Clock::time_point begin)
    : records_(options),
      link_(std::make_shared<TrialLink>(
          TrialLink::Options{records_.trial().id, records_.trial().incarnation, {}, 256})),
      progress_(make_standalone_trial(records_, options.checkpoint), link_,
                /*saves_whenever_possible=*/true),
      iteration_begin_(begin),
      config_(records_.trial().config),
      context_(begin_trial(progress_)),
      process_id_(records_.trial().pid) {}

void StandaloneRun::report(const Metrics& metrics, const track::Writer& writer) {
  const Turn turn(*this, "report");
  records_.require_storage();
  const std::chrono::duration<double> elapsed = Clock::now() - iteration_begin_;
  const bool is_done = progress_.report(metrics, elapsed.count());
  write();  // the result is safe before a checkpoint is tried
  const std::exception_ptr fault = save(writer, is_done);
  iteration_begin_ = Clock::now();
  if (is_done) close(Phase::done, "reported done");
  if (fault) std::rethrow_exception(fault);
}

void StandaloneRun::log(const Metrics& metrics) {
  const Turn turn(*this, "log");
  records_.require_storage();
  progress_.log(metrics);
}

void StandaloneRun::save(const std::string& name, const Json& value, const track::Writer& writer) {
  const Turn turn(*this, "save");
  records_.require_storage();
  progress_.save_value(name, value, writer);
  write();
}

// A writer may ask while its thread has the turn.
template <class Ask>
auto StandaloneRun::ask(const char* caller, Ask question) {
  if (has_turn()) return question();
  const Turn turn(*this, caller);
  return question();
}

std::optional<track::Saved> StandaloneRun::load(const std::string& name) {
  return ask("load", [&] { return progress_.load_value(name); });
}

std::int64_t StandaloneRun::index() {
  return ask("index", [&] { return progress_.index(); });
}

void StandaloneRun::restore(std::int64_t index) {
  const Turn turn(*this, "restore");
  records_.require_storage();
  progress_.restore(index);
  write();
}

bool StandaloneRun::has_turn() const {
  const std::lock_guard lock(mutex_);
  return phase_ == Phase::open && is_taken_ && taker_ == std::this_thread::get_id();
}

// Stores the checkpoint that is due; the fault if that failed, the user's own as it was thrown.
std::exception_ptr StandaloneRun::save(const track::Writer& writer, bool is_done) {
  std::exception_ptr thrown;
  track::Writer guarded;
  if (writer) {
    guarded = [&](const std::filesystem::path& directory) {
      try {
        writer(directory);
      } catch (...) {
        thrown = std::current_exception();
        throw;
      }
    };
  }
  try {
    (void)progress_.follow_orders(guarded, is_done);
    write();
  } catch (const StartFailure& failure) {
    if (thrown) return thrown;
    return std::make_exception_ptr(std::runtime_error(failure.ended.message));
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

void StandaloneRun::write() {
  const std::vector<engine::TrialMessage> messages = link_->take();
  if (messages.empty()) return;
  link_->acknowledge(messages.back().sequence + 1);
  records_.write(messages);
}

void StandaloneRun::finish() {
  {
    const std::lock_guard lock(mutex_);
    if (phase_ == Phase::done) phase_ = Phase::finished;
    if (phase_ == Phase::finished) return;
  }
  const Turn turn(*this, "finish");
  close(Phase::finished, "finished");
}

void StandaloneRun::end_with_program() {
  if (!is_of_this_process()) return;
  std::unique_lock lock(mutex_);
  // A writer may call exit().
  const bool is_own = is_taken_ && taker_ == std::this_thread::get_id();
  if (!is_own && !free_.wait_for(lock, end_patience, [&] { return !is_taken_; })) {
    throw std::runtime_error("a report is still going on; the end is not recorded");
  }
  if (phase_ != Phase::open) return;
  is_taken_ = true;  // and is not given back
  taker_ = std::this_thread::get_id();
  lock.unlock();
  close(Phase::program_ended, "the program ended");
}

// @pre the calling thread has the turn
void StandaloneRun::close(Phase phase, const std::string& reason) {
  link_->stop(/*save=*/false);  // for should_stop()
  {
    const std::lock_guard lock(mutex_);
    phase_ = phase;
  }
  progress_.warn_of_unreported();
  records_.end(link_->take(), reason);
}

bool StandaloneRun::is_of_this_process() const { return process_id_ == ::getpid(); }

bool StandaloneRun::is_open() const {
  if (!is_of_this_process()) return false;
  const std::lock_guard lock(mutex_);
  return phase_ == Phase::open;
}

void StandaloneRun::enter(const char* caller) {
  const auto refuse = [&](const std::string& why) {
    throw std::logic_error(std::string("track::") + caller + ": " + why);
  };
  if (!is_of_this_process()) {
    refuse("run " + experiment().name + " is that of process " + std::to_string(process_id_) +
           ", from which this one was forked; track::init() starts one of its own");
  }
  const std::thread::id self = std::this_thread::get_id();
  std::unique_lock lock(mutex_);
  if (is_taken_ && taker_ == self) {
    refuse(phase_ == Phase::program_ended ? "the program has ended"
                                          : "it was called while a writer writes its files");
  }
  free_.wait(lock, [&] { return !is_taken_; });
  if (phase_ == Phase::done) throw track::Ended{};
  if (phase_ != Phase::open) {
    refuse("run " + experiment().name + " is finished; track::init() starts another");
  }
  is_taken_ = true;
  taker_ = self;
}

void StandaloneRun::leave() {
  const std::lock_guard lock(mutex_);
  is_taken_ = false;
  free_.notify_one();
}

}  // namespace tune::runtime
