#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <tune/json.hpp>
#include <tune/scheduler.hpp>
#include <tune/searcher.hpp>
#include <tune/trainable.hpp>

namespace tune {

/// Options of TUNE_REGISTER_FUNCTION.
struct FunctionOptions {
  bool checkpoints = false;  ///< Its reports pass a writer and it starts from track::checkpoint().
  std::string description = {};  ///< One line, for registered().
};

using SchedulerFactory = std::function<std::unique_ptr<TrialScheduler>(const Json& options)>;
using SearcherFactory = std::function<std::unique_ptr<Searcher>(const Json& options)>;

/// What is registered under a name.
struct Registered {
  enum class Kind { scheduler, searcher, trainable };
  Kind kind = Kind::scheduler;
  std::string name = {};
  std::string description = {};  ///< One line, as it was registered; often empty.
  /// Of a scheduler or searcher: its options with their defaults; null if it cannot be made without
  /// any. Of a trainable: an empty object, its options are the search space.
  Json options = {};
  std::string plugin = {};  ///< The file of the plugin that has it; empty: tune or the program.
};

// The registries: from names to what can be made by them. Safe from several threads.
// Registering a name twice is an error (std::invalid_argument) unless it is the same function.
// What a plugin registers while it is loaded is registered once that has gone well, and a name that
// is taken is always an error there: <tune/plugin.hpp>.
// The description is one line, for registered().

bool register_trainable(TrainableSpec spec, std::string description = {});
bool register_function(std::string name, void (*function)(const Config&),
                       FunctionOptions options = {});
bool register_scheduler(std::string name, SchedulerFactory factory, std::string description = {});
bool register_searcher(std::string name, SearcherFactory factory, std::string description = {});

/// All that is registered, tune's own included: schedulers, searchers, trainables, each by name.
/// Makes one of each scheduler and searcher to ask it for its options.
[[nodiscard]] std::vector<Registered> registered();

// Where a name is not registered, the plugin of that name is loaded if TUNE_PLUGIN_PATH has one.

/// @throws std::invalid_argument naming what is registered if `name` is not; PluginError.
[[nodiscard]] TrainableSpec find_trainable(const std::string& name);
/// The registered spec of that function; an unregistered one gets the name "function" and no
/// checkpoints, and must be in the program itself, not in a library, to run in worker processes.
[[nodiscard]] TrainableSpec find_function(void (*function)(const Config&));
/// Makes a scheduler by name; `options` as its options() gives them, unknown keys are refused.
/// @throws std::invalid_argument naming the name, key or value and what is allowed, and the plugin
/// if it is from one; PluginError.
[[nodiscard]] std::unique_ptr<TrialScheduler> make_scheduler(const std::string& name,
                                                             const Json& options = Json::object());
[[nodiscard]] std::unique_ptr<Searcher> make_searcher(const std::string& name,
                                                      const Json& options = Json::object());
[[nodiscard]] std::vector<std::string> trainable_names();
[[nodiscard]] std::vector<std::string> scheduler_names();
[[nodiscard]] std::vector<std::string> searcher_names();

namespace detail {

/// Makes a class or function findable in the worker processes of this program, without a name. The
/// key for that.
[[nodiscard]] std::string add_key(const std::type_info& type, TrainableSpec spec);
/// @throws std::invalid_argument for a key that this program does not have.
[[nodiscard]] TrainableSpec find_key(const std::string& key);

// Static, so that every process of the program has them before main().
template <std::derived_from<Trainable> T>
inline const std::string class_key = add_key(typeid(T), trainable_spec<T>(type_name<T>()));
/// A callable that needs nothing but its type: a lambda without captures.
template <class F>
inline const std::string function_key =
    add_key(typeid(F), TrainableSpec{.name = "function", .function = [](const Config& config) {
                                       F()(config);
                                     }});

[[noreturn]] void refuse_options(const std::string& name, const Json& options);

// A class is made from its options if it can be, else by its default constructor, without options.
template <class Base, class T>
auto factory(std::string name) {
  return [name = std::move(name)](const Json& options) -> std::unique_ptr<Base> {
    if constexpr (std::constructible_from<T, const Json&>) {
      return std::make_unique<T>(options);
    } else {
      if (!options.empty()) refuse_options(name, options);
      return std::make_unique<T>();
    }
  };
}

}  // namespace detail

}  // namespace tune

#define TUNE_DETAIL_JOIN2(a, b) a##b
#define TUNE_DETAIL_JOIN(a, b) TUNE_DETAIL_JOIN2(a, b)
#define TUNE_DETAIL_REGISTERED \
  [[maybe_unused]] static const bool TUNE_DETAIL_JOIN(tune_registered_, __COUNTER__)

/// Registers a Trainable class under its unqualified name, by which tune_run<Class>() knows it too:
/// app::Mlp is "Mlp". Behind it may stand a description, as in the macros below.
#define TUNE_REGISTER_TRAINABLE(Class, ...)                                          \
  TUNE_DETAIL_REGISTERED = ::tune::register_trainable(::tune::trainable_spec<Class>( \
      ::tune::detail::type_name<Class>()) __VA_OPT__(, __VA_ARGS__));
/// Registers a train function under its own name, with FunctionOptions in braces or nothing.
#define TUNE_REGISTER_FUNCTION(function, ...)         \
  TUNE_DETAIL_REGISTERED = ::tune::register_function( \
      #function, function __VA_OPT__(, ::tune::FunctionOptions __VA_ARGS__));
/// Registers a TrialScheduler class under a name.
#define TUNE_REGISTER_SCHEDULER(name, Class, ...)      \
  TUNE_DETAIL_REGISTERED = ::tune::register_scheduler( \
      name,                                            \
      ::tune::detail::factory<::tune::TrialScheduler, Class>(name) __VA_OPT__(, __VA_ARGS__));
/// Registers a Searcher class under a name.
#define TUNE_REGISTER_SEARCHER(name, Class, ...)      \
  TUNE_DETAIL_REGISTERED = ::tune::register_searcher( \
      name, ::tune::detail::factory<::tune::Searcher, Class>(name) __VA_OPT__(, __VA_ARGS__));
