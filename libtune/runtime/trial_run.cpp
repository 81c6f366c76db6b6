#include "runtime/trial_run.hpp"

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <tune/track.hpp>

#include "runtime/worker_team.hpp"
#include "trial_progress.hpp"

namespace tune::runtime {
namespace {

using Seconds = std::chrono::duration<double>;

/// A new object, set up.
std::unique_ptr<Trainable> make_trainable(const TrainableSpec& trainable, const Config& config,
                                          TrialContext context) {
  auto object = run_phase("constructor", [&] { return trainable.make(); });
  if (!object) {
    throw StartFailure{{engine::EndKind::failed, trainable.name + ": make gave no object"}};
  }
  object->set_context(std::move(context));
  run_phase("setup", [&] { object->setup(config); });
  return object;
}

/// The kept object with the new configuration, or a new one if it does not take it.
std::unique_ptr<Trainable> reset_or_make(const TrainableSpec& trainable, TrialProgress& progress,
                                         KeptTrainable& kept) {
  const Config& config = progress.run().launch.config;
  if (kept.object) {
    KeptTrainable used = std::exchange(kept, {});
    used.object->set_context(progress.context());
    if (run_phase("reset_config", [&] { return used.object->reset_config(config); })) {
      return std::move(used.object);
    }
    if (auto fault = discard(used)) progress.warn(*fault);
  }
  return make_trainable(trainable, config, progress.context());
}

/// Keeps the object for the thread's next trial, or cleans up.
void put_away(const TrainableSpec& trainable, TrialProgress& progress,
              std::unique_ptr<Trainable> object, KeptTrainable& kept) {
  KeptTrainable used{std::move(object), progress.run().launch.trial_name};
  if (trainable.reusable && !progress.link().has_ended()) {
    kept = std::move(used);
  } else if (auto fault = discard(used)) {
    progress.warn(*fault);
  }
}

engine::EndKind run_steps(Trainable& object, TrialProgress& progress) {
  const track::Writer writer = [&](const std::filesystem::path& directory) {
    object.save_checkpoint(directory);
  };
  const auto now = progress.run().now;
  auto end = progress.follow_orders(writer, false);
  while (!end) {
    const auto begin = now();
    const Metrics metrics = run_phase("step", [&] { return object.step(); });
    const Seconds elapsed = now() - begin;
    const bool is_done =
        run_phase("step", [&] { return progress.report(metrics, elapsed.count()); });
    end = progress.follow_orders(writer, is_done);
  }
  return *end;
}

engine::Ended run_class(const TrainableSpec& trainable, TrialProgress& progress,
                        KeptTrainable& kept) {
  progress.begin();
  std::unique_ptr<Trainable> object = reset_or_make(trainable, progress, kept);
  if (const auto checkpoint = progress.context().checkpoint) {
    run_phase("load_checkpoint", [&] { object->load_checkpoint(*checkpoint); });
  }
  const engine::EndKind kind = run_steps(*object, progress);
  progress.link().announce_end();  // what is left is the user's cleanup()
  put_away(trainable, progress, std::move(object), kept);
  return {kind, {}};
}

/// A train function's link to its trial. Threads that were attached may keep it longer than the
/// trial runs: it owns all it needs, and says Ended from then on.
class FunctionSession final : public track::Session {
 public:
  explicit FunctionSession(TrialProgress progress)
      : progress_(std::move(progress)),
        config_(progress_.run().launch.config),
        context_(progress_.context()),
        iteration_begin_(progress_.run().now()) {}

  void report(const Metrics& metrics, const track::Writer& writer) override {
    const Turn turn(*this, "report");
    const Seconds elapsed = progress_.run().now() - iteration_begin_;
    const bool is_done = progress_.report(metrics, elapsed.count());
    try {
      if (const auto kind = progress_.follow_orders(guarded(writer), is_done))
        end(engine::Ended{*kind, {}});
    } catch (const StartFailure& failure) {
      // Comes to the user's code as Ended, so that a handler for exceptions there does not hide it.
      end(failure.ended);
    }
    throw_if_ended();
    iteration_begin_ = progress_.run().now();
  }

  void log(const Metrics& metrics) override {
    const Turn turn(*this, "log");
    progress_.log(metrics);
  }

  void save(const std::string& name, const Json& value, const track::Writer& writer) override {
    const Turn turn(*this, "save");
    progress_.save_value(name, value, guarded(writer));
  }

  [[nodiscard]] std::optional<track::Saved> load(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    throw_if_ended();
    return progress_.load_value(name);
  }

  [[nodiscard]] std::int64_t index() override {
    const std::lock_guard lock(mutex_);
    throw_if_ended();
    return progress_.index();
  }

  void restore(std::int64_t index) override {
    const Turn turn(*this, "restore");
    progress_.restore(index);
  }

  [[nodiscard]] const Config& config() const override {
    throw_if_ended();
    return config_;
  }
  [[nodiscard]] const TrialContext& context() const override {
    throw_if_ended();
    return context_;
  }

  /// Ends the session as the train function returns: as `ended` unless it had ended before.
  engine::Ended close(engine::Ended ended) {
    const std::lock_guard lock(mutex_);
    if (!has_ended_) {
      progress_.warn_of_unreported();
      // A function that returns once it should stop has not ended by itself.
      const bool is_told = ended.kind == engine::EndKind::finished && progress_.link().is_stopped();
      end(is_told ? engine::Ended{engine::EndKind::stopped, {}} : std::move(ended));
    } else if (ended.kind == engine::EndKind::failed || ended.kind == engine::EndKind::invalid) {
      progress_.warn("exception after the trial was told to end: " + ended.message);
    }
    return ended_;
  }

 private:
  /// The calling thread may change something as long as this lives.
  class Turn {
   public:
    Turn(FunctionSession& session, const char* caller) : lock_(session.mutex_) {
      session.throw_if_ended();
      if (session.is_writing_) {
        throw std::logic_error(std::string("track::") + caller +
                               ": it was called while a writer writes its files");
      }
    }

   private:
    const std::lock_guard<std::recursive_mutex> lock_;
  };

  /// The writer may ask, but not change anything.
  track::Writer guarded(const track::Writer& writer) {
    if (!writer) return {};
    return [this, &writer](const std::filesystem::path& directory) {
      is_writing_ = true;
      try {
        writer(directory);
      } catch (...) {
        is_writing_ = false;
        throw;
      }
      is_writing_ = false;
    };
  }

  void end(engine::Ended ended) {
    ended_ = std::move(ended);
    has_ended_ = true;
    progress_.link().announce_end();  // the function may yet not let go
  }
  void throw_if_ended() const {
    if (has_ended_) throw track::Ended{};
  }

  std::recursive_mutex mutex_;  // guards progress_, iteration_begin_, ended_ and the next
  bool is_writing_ = false;     // a writer is called
  TrialProgress progress_;
  const Config config_;
  const TrialContext context_;
  std::chrono::steady_clock::time_point iteration_begin_;
  engine::Ended ended_;
  std::atomic<bool> has_ended_{false};
};

engine::Ended run_function(const TrainableSpec& trainable, TrialProgress progress) {
  progress.begin();
  // There is no writer yet: a stop is all that can be followed here.
  if (const auto kind = progress.follow_orders({}, false)) return {*kind, {}};
  const auto session = std::make_shared<FunctionSession>(std::move(progress));
  const track::Attachment attachment(session);
  try {
    trainable.function(session->config());
    return session->close({engine::EndKind::finished, {}});
  } catch (const track::Ended&) {
    return session->close({engine::EndKind::finished, {}});
  } catch (...) {
    return session->close(describe_current_exception(trainable.name));
  }
}

/// Ends the trial's parallel workers with the trial, whoever still has them.
class TeamEnd {
 public:
  explicit TeamEnd(std::shared_ptr<WorkerTeam> team) : team_(std::move(team)) {}
  TeamEnd(const TeamEnd&) = delete;
  TeamEnd& operator=(const TeamEnd&) = delete;
  ~TeamEnd() {
    if (team_) team_->close();
  }

 private:
  const std::shared_ptr<WorkerTeam> team_;
};

}  // namespace

engine::Ended run_trial(const TrainableSpec& trainable, TrialRun run,
                        std::shared_ptr<TrialLink> link, KeptTrainable& kept) {
  const engine::Launch& launch = run.launch;
  if (!launch.workers.empty() && !run.team) {
    run.team = make_thread_team(launch.trial_name, launch.workers);
  }
  const TeamEnd team_end(run.team);
  try {
    const bool is_function = static_cast<bool>(trainable.function);
    TrialProgress progress(std::move(run), std::move(link), is_function);
    return is_function ? run_function(trainable, std::move(progress))
                       : run_class(trainable, progress, kept);
  } catch (const StartFailure& failure) {
    return failure.ended;
  } catch (...) {
    return describe_current_exception(trainable.name);
  }
}

std::optional<std::string> discard(KeptTrainable& kept) {
  if (!kept.object) return std::nullopt;
  const KeptTrainable discarded = std::exchange(kept, {});
  try {
    discarded.object->cleanup();
    return std::nullopt;
  } catch (...) {
    return describe_current_exception("cleanup of trial " + discarded.trial_name).message;
  }
}

}  // namespace tune::runtime
