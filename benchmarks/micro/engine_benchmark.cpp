// What does the engine need for one result, one suggestion, one place?
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <benchmark/benchmark.h>

#include <tune/schedulers/asha.hpp>
#include <tune/schedulers/fifo.hpp>
#include <tune/schedulers/median_stopping.hpp>
#include <tune/searchers/random.hpp>

#include "benchmarks/engine_crowd.hpp"
#include "engine/placement.hpp"
#include "engine/suggestion_source.hpp"

namespace tune::bench {
namespace {

// Of trials that report in turns, and make room for new ones.
void on_trial_result(benchmark::State& state, std::unique_ptr<TrialScheduler> scheduler) {
  EngineCrowd crowd(std::move(scheduler), state.range(0), Newcomers::come);
  for (auto _ : state) crowd.step();
  state.SetItemsProcessed(state.iterations());
}

void FifoOnTrialResult(benchmark::State& state) { on_trial_result(state, fifo()); }
BENCHMARK(FifoOnTrialResult)->ArgName("trials")->Arg(100)->Arg(1000)->Arg(100'000);

void AshaOnTrialResult(benchmark::State& state) {
  on_trial_result(state, asha({.max_t = 1000, .grace_period = 10}));
}
BENCHMARK(AshaOnTrialResult)->ArgName("trials")->Arg(100)->Arg(1000)->Arg(100'000);

void MedianStoppingOnTrialResult(benchmark::State& state) {
  on_trial_result(state, median_stopping({.time_attr = "training_iteration", .grace_period = 10}));
}
BENCHMARK(MedianStoppingOnTrialResult)->ArgName("trials")->Arg(100)->Arg(1000)->Arg(100'000);

void SuggestAtRandom(benchmark::State& state) {
  SearchSpace space;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    space.add("x" + std::to_string(i), loguniform(1e-4, 1e-1));
  }
  engine::SuggestionSource source(space, {.num_samples = -1}, random_search());
  std::uint64_t trial = 0;
  for (auto _ : state) benchmark::DoNotOptimize(source.suggest(TrialId{trial++}));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(SuggestAtRandom)->ArgName("parameters")->Arg(1)->Arg(10)->Arg(100);

// On nodes that are all in use but for one place each.
void PlaceAndRelease(benchmark::State& state) {
  engine::Placement placement;
  ResourceAmounts capacity;
  capacity.set("cpu", 1000);
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    placement.add_node(NodeId{static_cast<std::uint64_t>(i)}, "node", capacity);
  }
  const ResourceRequest request(capacity);
  for (auto _ : state) {
    const auto grant = placement.place(request);
    placement.release(*grant);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(PlaceAndRelease)->ArgName("nodes")->Arg(1)->Arg(100)->Arg(10'000);

}  // namespace
}  // namespace tune::bench
