#include "recorded_engine.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include <tune/registry.hpp>

#include "builtins.hpp"
#include "core/resources_json.hpp"
#include "runtime/past_experiment.hpp"

namespace tune::runtime {
namespace {

/// Without the member that names it.
template <class Make>
auto make_on_record(const Json& options, Make make) {
  Json others = options;
  const std::string name = others.value("name", "");
  others.erase("name");
  return make(name, others);
}

Resources recorded_resources(const Json& json) {
  if (!json.is_string()) return core::resources_from_json(json);
  Resources resources;
  resources.of = [](const Config&) -> Resources {
    throw std::logic_error("what a function of resources said is on record");
  };
  return resources;
}

// The rest comes with the sessions; stop criteria have their answers on record.
engine::EngineOptions recorded_options(const store::ExperimentRow& row, const Searcher& searcher) {
  engine::EngineOptions options;
  options.objective = row.objective;
  options.searcher_objective = searcher.objective();
  options.searcher_wants_results = searcher.wants_results();
  options.resources = recorded_resources(row.definition.at("resources"));
  options.seed = row.seed;
  options.trainable_checkpoints = true;  // what the scheduler needs was checked then
  return options;
}

}  // namespace

std::unique_ptr<Searcher> recorded_searcher(const Json& definition) {
  register_builtins();
  return make_on_record(definition.at("searcher"), make_searcher);
}

RecordedEngine::RecordedEngine(const store::JournalReader& reader) {
  const store::ExperimentRow row = reader.experiment();
  register_builtins();
  std::unique_ptr<TrialScheduler> scheduler =
      make_on_record(row.definition.at("scheduler"), make_scheduler);
  const std::unique_ptr<Searcher> searcher = recorded_searcher(row.definition);
  options_ = recorded_options(row, *searcher);
  engine_ = std::make_unique<engine::Engine>(options_, std::move(scheduler));
  engine_->begin_replay({.named = reopened_trials(reader)});
}

std::span<const engine::Command> RecordedEngine::replay(const store::RecordedEvent& recorded,
                                                        const engine::Decisions& decisions,
                                                        bool asks_scheduler) {
  commands_.clear();
  try {
    engine_->replay(event_on_record(recorded, options_), Time(recorded.row.time_s), decisions,
                    asks_scheduler, commands_);
  } catch (const std::exception& error) {
    throw std::runtime_error("event " + std::to_string(recorded.row.number) +
                             " cannot be replayed: " + error.what());
  }
  return commands_;
}

}  // namespace tune::runtime
