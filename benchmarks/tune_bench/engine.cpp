// How many results a second do engine and scheduler take, with nothing around them? Seconds of one
// core, which is all that they use: others on the machine count little.
#include <memory>

#include <tune/schedulers/builtin.hpp>
#include <tune/tune.hpp>

#include "benchmarks/engine_crowd.hpp"
#include "cases.hpp"
#include "limits.hpp"
#include "subjects.hpp"

namespace tune::bench {
namespace {

// Schedulers at their usual settings; trials last some ten results to a thousand.
const Json& scheduler_options(const std::string& name) {
  static const Json options = {
      {"fifo", Json::object()},
      {"asha", {{"max_t", 1000}, {"grace_period", 10}, {"reduction_factor", 4}}},
      {"median_stopping", {{"time_attr", "training_iteration"}, {"grace_period", 10}}},
      {"pbt",
       {{"time_attr", "training_iteration"},
        {"perturbation_interval", 10},
        {"hyperparam_mutations", {{"x", {{"kind", "uniform"}, {"low", 0}, {"high", 1}}}}}}}};
  return options.at(name);
}

std::vector<Measurement> measure(const Options& options, const std::string& scheduler,
                                 std::int64_t trials) {
  const std::int64_t crowd_size = options.is_quick ? trials / 10 : trials;
  const std::int64_t results = options.scaled(1'000'000);
  return {repeated(options,
                   {.name = "engine/results",
                    .parameters = {{"scheduler", scheduler},
                                   {"running_trials", crowd_size},
                                   {"results", results}},
                    .unit = "results/s",
                    .limit_is = "messages from an actor to another"},
                   [&] {
                     // A population stays as it is.
                     EngineCrowd crowd(make_scheduler(scheduler, scheduler_options(scheduler)),
                                       crowd_size,
                                       scheduler == "pbt" ? Newcomers::none : Newcomers::come);
                     const double before = cpu_seconds();
                     for (std::int64_t i = 0; i < results; ++i) crowd.step();
                     const double seconds = cpu_seconds() - before;
                     return Sample{static_cast<double>(results) / seconds,
                                   raw_messages_per_second(options.scaled(1'000'000))};
                   })};
}

}  // namespace

std::vector<BenchCase> engine_cases() {
  std::vector<BenchCase> cases;
  for (const std::string scheduler : {"fifo", "asha", "median_stopping", "pbt"}) {
    for (const std::int64_t trials : {100, 1'000, 10'000, 100'000}) {
      cases.push_back({"engine/results/" + scheduler + "/" + std::to_string(trials),
                       "results of so many running trials through engine and scheduler alone",
                       [=](const Options& o) { return measure(o, scheduler, trials); }});
    }
  }
  return cases;
}

}  // namespace tune::bench
