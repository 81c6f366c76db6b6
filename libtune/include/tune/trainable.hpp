#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <tune/config.hpp>
#include <tune/error.hpp>
#include <tune/ids.hpp>
#include <tune/metrics.hpp>
#include <tune/resources.hpp>
#include <tune/trial_workers.hpp>

namespace tune {

/// What a running trial knows about itself.
struct TrialContext {
  TrialId trial_id;
  std::string trial_name;
  std::filesystem::path trial_dir;
  std::string experiment_name;
  ResourceGrant resources;
  /// Derived from (experiment seed, trial): the same at every start of the trial.
  std::uint64_t seed = 0;
  std::uint32_t incarnation = 0;
  /// The checkpoint that this start goes on from.
  std::optional<std::filesystem::path> checkpoint;
  /// Iterations done before this start.
  std::int64_t start_iteration = 0;
  /// Set when the trial shall end; owned by the one who runs it.
  std::shared_ptr<const std::atomic<bool>> stop_flag;
  /// Of this start of the trial; null if it has none.
  std::shared_ptr<TrialWorkers> worker_group = {};

  /// True once the trial shall stop or pause: a long step may then return early.
  [[nodiscard]] bool should_stop() const { return stop_flag && stop_flag->load(); }
  /// The parallel workers that the trial was granted.
  /// @throws std::logic_error if Resources::workers asked for none.
  [[nodiscard]] TrialWorkers& workers() const;
};

/// The user's training code: one object is one trial being trained.
///
/// All calls come from one thread, one at a time. setup() is called once a start, then
/// load_checkpoint() if the trial goes on from a checkpoint, then step() again and again.
/// An exception fails this start of the trial; InvalidConfig ends the trial without a retry.
class Trainable {
 public:
  virtual ~Trainable();

  virtual void setup(const Config& config);
  /// One training iteration. `{{"done", true}}` among the metrics ends the trial; alone, without a
  /// result.
  virtual Metrics step() = 0;
  /// Writes all state into the empty directory `dir`.
  virtual void save_checkpoint(const std::filesystem::path& dir);
  virtual void load_checkpoint(const std::filesystem::path& dir);
  /// Takes another trial's configuration without a new object; false (the default): make a new one.
  /// State of the trial before must be gone: load_checkpoint() or the first step() follows.
  virtual bool reset_config(const Config& config);
  virtual void cleanup();

  /// What this trial is and was given.
  [[nodiscard]] const TrialContext& context() const { return context_; }
  /// For the one who runs it, before setup() or reset_config().
  void set_context(TrialContext context) { context_ = std::move(context); }

 private:
  TrialContext context_;
};

/// A train function: the same training with the loop in the user's hands, see <tune/track.hpp>.
using TrainFunction = std::function<void(const Config&)>;

/// How to make the training code of a trial.
struct TrainableSpec {
  std::string name;
  bool checkpoints = false;                               ///< It can save and load.
  std::function<std::unique_ptr<Trainable>()> make = {};  ///< Either this
  TrainFunction function = {};                            ///< or this is set.
  bool reusable = false;  ///< It overrides reset_config(): an object may serve trial after trial.
  /// Under which a worker process finds it, in this same program; empty: it runs on threads only.
  std::string key = {};
};

namespace detail {
// The address of an inherited member has the type of a member of the base.
template <class T>
inline constexpr bool overrides_checkpoints =
    !std::is_same_v<decltype(&T::save_checkpoint),
                    void (Trainable::*)(const std::filesystem::path&)> &&
    !std::is_same_v<decltype(&T::load_checkpoint),
                    void (Trainable::*)(const std::filesystem::path&)>;
template <class T>
inline constexpr bool overrides_reset =
    !std::is_same_v<decltype(&T::reset_config), bool (Trainable::*)(const Config&)>;
}  // namespace detail

namespace detail {
/// The unqualified name of a class.
[[nodiscard]] std::string unqualified_name(const std::type_info& type);
template <class T>
[[nodiscard]] std::string type_name() {
  return unqualified_name(typeid(T));
}
}  // namespace detail

/// The spec of a Trainable class; it can save if both checkpoint methods are overridden (and
/// public).
template <std::derived_from<Trainable> T>
[[nodiscard]] TrainableSpec trainable_spec(std::string name) {
  TrainableSpec spec;
  spec.name = std::move(name);
  spec.checkpoints = detail::overrides_checkpoints<T>;
  spec.reusable = detail::overrides_reset<T>;
  spec.make = [] { return std::make_unique<T>(); };
  return spec;
}

}  // namespace tune
