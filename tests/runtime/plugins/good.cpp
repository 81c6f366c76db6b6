// A plugin with something of each kind.
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <tune/plugin.hpp>
#include <tune/scheduler.hpp>
#include <tune/searcher.hpp>
#include <tune/track.hpp>
#include <tune/trainable.hpp>

namespace good_plugin {

/// An exception that the program does not know.
struct OwnError {};

/// Throws while there is a file of that name in the current directory.
void throw_if_asked(const std::string& callback) {
  if (std::filesystem::exists("throw_in_" + callback)) throw std::runtime_error("no cheese left");
  if (std::filesystem::exists("throw_own_in_" + callback)) throw OwnError();
}

/// Stops a trial after so many results.
class Patient final : public tune::TrialScheduler {
 public:
  explicit Patient(const tune::Json& options) {
    if (options.contains("fault")) throw std::runtime_error("cannot be made");
    if (options.contains("own_fault")) throw OwnError();
    for (const auto& [name, value] : options.items()) {
      if (name != "limit") throw std::invalid_argument("patient: unknown option " + name);
      limit_ = value.get<int>();
    }
  }
  tune::Decision on_trial_result(tune::SchedulerContext& context, const tune::Trial& trial,
                                 const tune::Result& result) override {
    throw_if_asked("on_trial_result");
    if (result.training_iteration < limit_) return tune::Decision::proceed;
    context.explain(trial.id(), "result " + std::to_string(limit_));
    return tune::Decision::stop;
  }
  [[nodiscard]] bool needs_metric() const override { return false; }
  [[nodiscard]] tune::Json save() const override {
    throw_if_asked("save");
    return {{"limit", limit_}};
  }
  void restore(const tune::Json&) override {}
  [[nodiscard]] tune::Json options() const override {
    return {{"name", "patient"}, {"limit", limit_}};
  }

 private:
  int limit_ = 3;
};

/// Goes up by one with each trial.
class Ladder final : public tune::Searcher {
 public:
  void setup(const tune::SearcherSetup& setup) override { space_ = setup.space; }
  tune::Suggestion suggest(const tune::SuggestionRequest& request) override {
    throw_if_asked("suggest");
    tune::Json config = tune::Json::object();
    for (const auto& parameter : space_->json()) {
      const std::string name = parameter.at("name");
      if (!request.fixed.contains(name)) config[name] = double(request.trial.value());
    }
    return tune::Config(config);
  }
  [[nodiscard]] bool needs_metric() const override { return false; }
  [[nodiscard]] tune::Json options() const override { return {{"name", "ladder"}}; }

 private:
  const tune::SearchSpace* space_ = nullptr;
};
TUNE_REGISTER_SEARCHER("ladder", Ladder)

/// Reports its parameter, and where its code is.
class PluginModel final : public tune::Trainable {
 public:
  void setup(const tune::Config& config) override { x_ = config["x"].get<double>(); }
  tune::Metrics step() override { return {{"loss", x_ / ++steps_}, {"steps", steps_}}; }
  void save_checkpoint(const std::filesystem::path& dir) override {
    std::ofstream(dir / "steps") << steps_;
  }
  void load_checkpoint(const std::filesystem::path& dir) override {
    std::ifstream(dir / "steps") >> steps_;
  }

 private:
  double x_ = 0;
  int steps_ = 0;
};
TUNE_REGISTER_TRAINABLE(PluginModel, "reports its parameter over the step")

void plugin_function(const tune::Config& config) {
  for (int i = 1; i <= 4; ++i) tune::track::report({{"loss", config["x"].get<double>() + i}});
}

}  // namespace good_plugin

TUNE_PLUGIN("good", "something of each kind") {
  using good_plugin::Patient;
  using good_plugin::plugin_function;
  TUNE_REGISTER_SCHEDULER("patient", Patient, "stops a trial after `limit` results")
  TUNE_REGISTER_FUNCTION(plugin_function, {.description = "reports four times"})
}
