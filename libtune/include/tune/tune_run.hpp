#pragma once

#include <concepts>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <tune/experiment.hpp>
#include <tune/registry.hpp>
#include <tune/result_grid.hpp>
#include <tune/trainable.hpp>

namespace tune {

/// An experiment that was broken off by a fault in a scheduler, searcher or storage. What was
/// recorded until then is kept.
class ExperimentError : public std::runtime_error {
 public:
  ExperimentError(const std::string& what, ResultGrid results)
      : std::runtime_error(what), results_(std::move(results)) {}
  ~ExperimentError() override;
  [[nodiscard]] const ResultGrid& results() const { return results_; }

 private:
  ResultGrid results_;
};

/// Runs the experiment to its end. Takes its searcher and scheduler; they serve one run.
/// @throws std::invalid_argument for a definition that cannot work, before anything starts;
/// ExperimentError if it was broken off.
ResultGrid tune_run(const TrainableSpec& trainable, Experiment& experiment);
inline ResultGrid tune_run(const TrainableSpec& trainable, Experiment&& experiment) {
  return tune_run(trainable, experiment);
}

/// By the class: `tune_run<Mlp>(experiment)`.
template <std::derived_from<Trainable> T>
ResultGrid tune_run(Experiment& experiment) {
  TrainableSpec spec = trainable_spec<T>(detail::type_name<T>());
  spec.key = detail::class_key<T>;
  return tune_run(spec, experiment);
}
template <std::derived_from<Trainable> T>
ResultGrid tune_run(Experiment&& experiment) {
  return tune_run<T>(experiment);
}
/// By the registered name of a Trainable class or train function.
ResultGrid tune_run(const std::string& name, Experiment& experiment);
inline ResultGrid tune_run(const std::string& name, Experiment&& experiment) {
  return tune_run(name, experiment);
}
/// By a train function.
ResultGrid tune_run(void (*function)(const Config&), Experiment& experiment);
inline ResultGrid tune_run(void (*function)(const Config&), Experiment&& experiment) {
  return tune_run(function, experiment);
}
/// By any callable, under the name "function". One with captures runs on threads only, since they
/// are not in another process; one that saves checkpoints says so with a TrainableSpec.
template <std::invocable<const Config&> F>
requires(std::is_class_v<F> && !std::convertible_to<F, std::string>) ResultGrid
    tune_run(F function, Experiment& experiment) {
  TrainableSpec spec;
  spec.name = "function";
  spec.function = std::move(function);
  if constexpr (std::is_empty_v<F> && std::default_initializable<F>) {
    spec.key = detail::function_key<F>;
  }
  return tune_run(spec, experiment);
}
template <std::invocable<const Config&> F>
requires(std::is_class_v<F> && !std::convertible_to<F, std::string>) ResultGrid
    tune_run(F function, Experiment&& experiment) {
  return tune_run(std::move(function), experiment);
}

}  // namespace tune
