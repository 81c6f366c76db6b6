// What do results cost on their way from a worker process?
#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "runtime/frame.hpp"
#include "runtime/wire.hpp"
#include "some_results.hpp"

namespace tune::bench {
namespace {

runtime::WorkerReport news_of(std::int64_t results) {
  runtime::WorkerNews news;
  for (std::int64_t i = 0; i < results; ++i) {
    news.messages.push_back(
        {TrialId{0}, 1, static_cast<std::uint64_t>(i), engine::Reported{result_with(3, i + 1)}});
  }
  return news;
}

void EncodeResults(benchmark::State& state) {
  const runtime::WorkerReport report = news_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(runtime::encode_frame(runtime::to_json(report)));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(EncodeResults)->ArgName("results")->Arg(1)->Arg(100);

void DecodeResults(benchmark::State& state) {
  const std::string frame = runtime::encode_frame(runtime::to_json(news_of(state.range(0))));
  runtime::FrameReader reader;
  for (auto _ : state) {
    reader.feed(frame);
    benchmark::DoNotOptimize(runtime::report_from_json(**reader.next()));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(DecodeResults)->ArgName("results")->Arg(1)->Arg(100);

}  // namespace
}  // namespace tune::bench
