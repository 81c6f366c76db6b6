// What does a result cost in the journal, so many a transaction?
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include <benchmark/benchmark.h>

#include "some_results.hpp"
#include "store/journal.hpp"

namespace tune::bench {
namespace {

namespace fs = std::filesystem;

void JournalAddResult(benchmark::State& state) {
  const fs::path folder = fs::temp_directory_path() / ("micro_bench." + std::to_string(::getpid()));
  fs::create_directories(folder);
  {
    store::ExperimentRow experiment;
    experiment.name = "bench";
    const auto journal = store::Journal::create(folder, experiment, store::JournalMode::wal);
    journal->add_trial(TrialId{0}, "0", Config(Json{{"lr", 0.1}}), 0);
    std::int64_t n = 0;
    for (auto _ : state) {
      store::EventRow event;
      event.number = ++n;
      event.kind = "result";
      event.trial = TrialId{0};
      event.incarnation = 1;
      event.sequence = static_cast<std::uint64_t>(n);
      journal->add(event);
      journal->add_result({TrialId{0}, 1, result_with(1, n), false, n});
      if (n % state.range(0) == 0) journal->commit();
    }
    journal->commit();
  }
  state.SetItemsProcessed(state.iterations());
  fs::remove_all(folder);
}
BENCHMARK(JournalAddResult)->ArgName("group")->Arg(1)->Arg(20)->Arg(1000);

}  // namespace
}  // namespace tune::bench
