// What do the values cost that each result carries through all layers?
#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include <tune/result.hpp>
#include <tune/stop.hpp>

#include "core/json_text.hpp"
#include "some_results.hpp"

namespace tune::bench {
namespace {

void CopyResult(benchmark::State& state) {
  const Result result = result_with(state.range(0));
  for (auto _ : state) {
    Result copy = result;
    benchmark::DoNotOptimize(copy);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(CopyResult)->ArgName("metrics")->Arg(1)->Arg(10)->Arg(100);

// The last of them: the dearest.
void FindMetric(benchmark::State& state) {
  const Result result = result_with(state.range(0));
  const std::string name = "metric_" + std::to_string(state.range(0) - 1);
  for (auto _ : state) benchmark::DoNotOptimize(result.metrics.find(name));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(FindMetric)->ArgName("metrics")->Arg(1)->Arg(10)->Arg(100);

void MetricsAsJson(benchmark::State& state) {
  const Result result = result_with(state.range(0));
  std::string text;
  for (auto _ : state) {
    text.clear();
    core::NonFinite non_finite;
    core::append_json_metrics(text, result.metrics, non_finite);
    benchmark::DoNotOptimize(text);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(MetricsAsJson)->ArgName("metrics")->Arg(1)->Arg(10)->Arg(100);

}  // namespace
}  // namespace tune::bench
