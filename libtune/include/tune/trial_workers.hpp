#pragma once

#include <any>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <tune/json.hpp>
#include <tune/resources.hpp>

namespace tune {

/// How all_reduce() makes one vector of the workers' vectors, number by number.
enum class Reduction { sum, mean, min, max };

/// A worker of a trial, as the function that runs there sees it. For the thread that called the
/// function.
///
/// All workers of a call meet in barrier() and all_reduce(): each has to make the same calls in the
/// same order. Where one cannot come any more, since it ended, threw or died, or where it makes
/// another call than the others, the others get a TrialWorkerError instead of waiting for ever.
class TrialWorker {
 public:
  virtual ~TrialWorker() = default;

  /// From 0, in the order of Resources::workers.
  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;  ///< Of all workers of the trial.
  [[nodiscard]] virtual const ResourceGrant& resources() const = 0;
  /// What one call leaves for the next on the same worker, empty at first.
  [[nodiscard]] virtual std::any& state() = 0;

  /// Returns once all workers are there.
  virtual void barrier() = 0;
  /// Each worker gives as many numbers and gets the same result, to the last bit: it is computed
  /// once, in the order of ranks. Meant for small vectors: up to 65536 numbers.
  [[nodiscard]] virtual std::vector<double> all_reduce(const std::vector<double>& values,
                                                       Reduction reduction = Reduction::sum) = 0;
};

/// A call on workers failed: says which worker, and why.
class TrialWorkerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The parallel workers of a running trial, one for each of Resources::workers. They run inside
/// what the trial was granted, so they never wait for other trials. They start with the first call
/// and end with the trial; with Isolation::processes each is a process with its bundle's
/// environment, with Isolation::threads a thread of the program.
///
/// For the trial's own thread.
class TrialWorkers {
 public:
  virtual ~TrialWorkers() = default;

  [[nodiscard]] virtual std::size_t size() const = 0;
  /// Runs a registered function on each worker at once, and gives their answers in the order of
  /// ranks. `arguments`: one for each.
  /// @throws TrialWorkerError naming the first worker that threw or died; all others have ended
  /// the call by then. After a death every further call throws.
  /// @throws std::invalid_argument for a function that is not registered, or another number of
  /// arguments.
  [[nodiscard]] virtual std::vector<Json> run_each(const std::string& function,
                                                   const std::vector<Json>& arguments) = 0;
  /// With the same argument for each.
  std::vector<Json> run(const std::string& function, const Json& argument = {}) {
    return run_each(function, std::vector<Json>(size(), argument));
  }
};

using TrialWorkerFunction = std::function<Json(TrialWorker& worker, const Json& argument)>;

/// Makes a function known by name in every process of this program. Safe from several threads.
/// @throws std::invalid_argument for a name that is taken.
bool register_worker_function(std::string name, TrialWorkerFunction function);
/// @throws std::invalid_argument naming what is registered if `name` is not.
[[nodiscard]] TrialWorkerFunction find_worker_function(const std::string& name);

}  // namespace tune

/// Registers a function `tune::Json f(tune::TrialWorker&, const tune::Json&)` under its own name.
#define TUNE_REGISTER_WORKER_FUNCTION(function)                                   \
  [[maybe_unused]] static const bool tune_worker_function_registered_##function = \
      ::tune::register_worker_function(#function, function)
