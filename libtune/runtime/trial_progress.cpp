#include "trial_progress.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include <tune/result.hpp>

#include "runtime/worker_team.hpp"

namespace tune::runtime {
namespace {

constexpr std::string_view done_name = "done";

bool is_true(const MetricValue& done) {
  if (!done.is_number()) throw std::invalid_argument("metric done must be a boolean, is text");
  return done.as_double() != 0;
}

/// Takes out what the framework fills itself, and returns the names.
std::string remove_reserved_names(Metrics& metrics) {
  std::vector<std::string> names;
  std::string listed;
  for (const auto& [name, value] : metrics) {
    if (!is_reserved_field(name)) continue;
    names.push_back(name);
    listed += (listed.empty() ? "" : ", ") + name;
  }
  for (const std::string& name : names) metrics.erase(name);
  return listed;
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Ends the start as `damaged` if that is the error.
template <class T>
void require(const Expected<T>& expected, const std::string& phase) {
  if (expected) return;
  const Error& error = expected.error();
  if (error.code == ErrorCode::damaged) {
    throw StartFailure{{engine::EndKind::damaged, error.message}};
  }
  throw StartFailure{{engine::EndKind::failed, phase + ": " + error.message}};
}

core::SharedManifest share(Expected<core::CheckpointManifest> manifest) {
  return std::make_shared<const core::CheckpointManifest>(std::move(manifest).value());
}

}  // namespace

engine::Ended describe_current_exception(const std::string& phase) {
  try {
    throw;
  } catch (const InvalidConfig& error) {
    return {engine::EndKind::invalid, phase + ": " + error.what()};
  } catch (const std::exception& error) {
    return {engine::EndKind::failed, phase + ": " + error.what()};
  } catch (...) {
    return {engine::EndKind::failed, phase + ": unknown exception"};
  }
}

TrialProgress::TrialProgress(TrialRun run, std::shared_ptr<TrialLink> link,
                             bool saves_whenever_possible)
    : run_(std::move(run)),
      link_(std::move(link)),
      saves_whenever_possible_(saves_whenever_possible),
      store_(run_.experiment_path),
      iteration_(run_.launch.start_iteration),
      time_total_s_(run_.launch.start_time_total_s),
      saved_(run_.launch, run_.checkpoint.keep),
      warns_of_reserved_names_(run_.warns_of_reserved_names) {}

void TrialProgress::begin() {
  link_->tell(engine::Started{});
  const engine::Launch& launch = run_.launch;
  const std::filesystem::path directory = run_.experiment_path / launch.trial_name;
  std::error_code error;
  const bool is_new = std::filesystem::create_directory(directory, error);
  if (error) std::filesystem::create_directories(directory, error);
  if (error) {
    throw StartFailure{
        {engine::EndKind::failed, "cannot make " + directory.string() + ": " + error.message()}};
  }
  if (!is_new) saved_.clean(store_);
  if (launch.checkpoint) {
    fetch_checkpoint(*launch.checkpoint);
  } else if (!run_.initial_checkpoint.empty()) {
    start_checkpoint_ = run_.initial_checkpoint;
  }
}

// User code gets to see only what is as it was stored.
void TrialProgress::fetch_checkpoint(const engine::CheckpointLocation& source) {
  const std::string phase = "load_checkpoint";
  const engine::Launch& launch = run_.launch;
  const core::CheckpointManifest* files = launch.checkpoint_files.get();
  if (launch.adopt_as) {
    const std::string& name = *launch.adopt_as;
    auto made =
        store_.adopt(source.trial_name, source.directory_name, files, launch.trial_name, name);
    require(made, phase);
    start_checkpoint_ = store_.path(launch.trial_name, name);
    link_->tell(engine::CheckpointStored{name, iteration_, time_total_s_, share(std::move(made))});
  } else {
    require(files == nullptr ? store_.require_directory(source.trial_name, source.directory_name)
                             : store_.verify(source.trial_name, source.directory_name, *files),
            phase);
    start_checkpoint_ = store_.path(source.trial_name, source.directory_name);
  }
  saved_iteration_ = iteration_;
}

TrialContext TrialProgress::context() const {
  const engine::Launch& launch = run_.launch;
  TrialContext context;
  context.trial_id = launch.trial;
  context.trial_name = launch.trial_name;
  context.trial_dir = run_.experiment_path / launch.trial_name;
  context.experiment_name = run_.experiment_name;
  context.resources = launch.grant;
  context.seed = launch.seed;
  context.incarnation = launch.incarnation;
  context.checkpoint = start_checkpoint_;
  context.start_iteration = launch.start_iteration;
  context.stop_flag = link_->stop_flag();
  context.worker_group = run_.team;
  return context;
}

void TrialProgress::log(const Metrics& metrics) {
  for (const auto& [name, value] : metrics) logged_.set(name, value);
}

void TrialProgress::warn_of_unreported() {
  if (!logged_.empty()) warn("logged, but no report followed: " + logged_.names());
}

bool TrialProgress::report(const Metrics& metrics, double seconds) {
  Result result;
  result.metrics = std::exchange(logged_, {});
  for (const auto& [name, value] : metrics) result.metrics.set(name, value);
  if (const MetricValue* done = result.metrics.find(done_name)) {
    result.done = is_true(*done);
    result.metrics.erase(done_name);
  }
  const std::string reserved = remove_reserved_names(result.metrics);
  if (!reserved.empty() && warns_of_reserved_names_) {
    warns_of_reserved_names_ = false;
    link_->tell(engine::Warned{"metrics with reserved names are ignored: " + reserved, true});
  }
  if (result.done && result.metrics.empty()) return true;

  ++iteration_;
  time_total_s_ += seconds;
  result.training_iteration = iteration_;
  result.time_this_iter_s = seconds;
  result.time_total_s = time_total_s_;
  result.timestamp = seconds_since_1970();
  const bool is_done = result.done;
  link_->report(std::move(result));
  return is_done;
}

std::optional<engine::EndKind> TrialProgress::follow_orders(const track::Writer& writer,
                                                            bool is_done) {
  const bool can_save = static_cast<bool>(writer);
  if (can_save && is_due()) save(writer);
  if (is_done) {
    if (run_.checkpoint.at_end) save_at_end(writer);
    return engine::EndKind::finished;
  }
  while (true) {
    switch (link_->next_order(can_save)) {
      case TrialLink::Order::proceed:
        return std::nullopt;
      case TrialLink::Order::save:
        save(writer);
        break;
      case TrialLink::Order::pause:
        save(writer);
        return engine::EndKind::paused;
      case TrialLink::Order::stop:
        if (link_->saves_at_stop()) save_at_end(writer);
        return engine::EndKind::stopped;
      case TrialLink::Order::end:
        if (run_.checkpoint.at_end) save_at_end(writer);
        return engine::EndKind::stopped;
    }
  }
}

bool TrialProgress::is_due() const {
  const std::int64_t every = run_.checkpoint.every;
  if (every == 0) return saves_whenever_possible_;
  // A train function may offer no writer at the very multiple: then the next chance counts.
  return iteration_ / every > saved_iteration_.value_or(run_.launch.start_iteration) / every;
}

void TrialProgress::save(const track::Writer& writer) {
  if (is_saved()) return;
  if (run_.checkpoints_travel) link_->wait_for_checkpoint();
  const std::string phase = "save_checkpoint";  // no static: a run may end after those are gone
  const std::string name = engine::own_checkpoint_name(run_.launch, iteration_, went_back_);
  auto pending = store_.begin(run_.launch.trial_name, name);
  require(pending, phase);
  run_phase(phase, [&] { writer(pending->path()); });
  if (link_->has_ended()) return;  // abandoned meanwhile: its checkpoints count no more
  auto files = pending->commit();
  require(files, phase);
  saved_iteration_ = iteration_;
  saved_.note_checkpoint(iteration_);
  link_->tell(engine::CheckpointStored{name, iteration_, time_total_s_, share(std::move(files))});
}

void TrialProgress::save_value(const std::string& name, const Json& value,
                               const track::Writer& writer) {
  // Large ones are few at a time, on their way to the journal.
  constexpr std::uint64_t large_bytes = std::uint64_t{1} << 16U;
  constexpr std::uint64_t large_on_their_way = 8;
  engine::SavedValue saved = saved_.save(name, value, iteration_, writer, store_);
  const std::uint64_t on_their_way = saved.size_bytes > large_bytes
                                         ? large_on_their_way
                                         : std::numeric_limits<std::uint64_t>::max();
  link_->tell_in_turn(engine::Saved{std::move(saved)}, on_their_way);
}

void TrialProgress::restore(std::int64_t index) {
  if (index < 0 || index > iteration_) {
    throw std::invalid_argument("track::restore: index " + std::to_string(index) +
                                ": must be from 0 to the present one, " +
                                std::to_string(iteration_));
  }
  if (index == iteration_) {
    saved_.go_back(index);
    return;
  }
  // From now on the checkpoints have other names: those of before may still be about to be deleted.
  ++went_back_;
  run_.launch.stored_until = std::max(run_.launch.stored_until, iteration_);
  run_.launch.start_iteration = std::min(run_.launch.start_iteration, index);
  iteration_ = index;
  if (saved_iteration_ && *saved_iteration_ > index) saved_iteration_.reset();
  saved_.go_back(index);
  link_->tell(engine::WentBack{index});
}

void TrialProgress::save_at_end(const track::Writer& writer) {
  if (!writer) return;
  try {
    save(writer);
  } catch (const StartFailure& failure) {
    // The trial has ended well all the same.
    link_->tell(engine::CheckpointFailed{iteration_, failure.ended.message});
  }
}

}  // namespace tune::runtime
