#include <tune/trainable.hpp>

#include <stdexcept>
#include <utility>

#include <catch2/catch.hpp>

#include <tune/callback.hpp>

namespace tune {

struct Outer {
  struct Inner {};
  template <class T>
  struct Of {};
};

namespace {

class Plain : public Trainable {
 public:
  Metrics step() override { return {{"loss", 1.0}}; }
};

class Saves : public Plain {
 public:
  void save_checkpoint(const std::filesystem::path&) override {}
  void load_checkpoint(const std::filesystem::path&) override {}
};

class SavesOnly : public Plain {
 public:
  void save_checkpoint(const std::filesystem::path&) override {}
};

class InheritsSaving final : public Saves {};

TEST_CASE("whether a class supports checkpoints is known from its type", "[trainable]") {
  CHECK_FALSE(trainable_spec<Plain>("Plain").checkpoints);
  CHECK(trainable_spec<Saves>("Saves").checkpoints);
  CHECK_FALSE(trainable_spec<SavesOnly>("SavesOnly").checkpoints);
  CHECK(trainable_spec<InheritsSaving>("InheritsSaving").checkpoints);
  const TrainableSpec spec = trainable_spec<Plain>("Plain");
  CHECK(spec.name == "Plain");
  CHECK(spec.make()->step().at("loss") == 1.0);
}

TEST_CASE("a class without checkpoints says so when asked for one", "[trainable]") {
  Plain plain;
  CHECK_THROWS_AS(plain.save_checkpoint("x"), std::logic_error);
  CHECK_THROWS_WITH(plain.save_checkpoint("x"),
                    "trainable Plain does not support checkpoints: it does not override "
                    "save_checkpoint");
  SavesOnly half;
  CHECK_THROWS_WITH(half.load_checkpoint("x"),
                    "trainable SavesOnly does not support checkpoints: it does not override "
                    "load_checkpoint");
}

TEST_CASE("the other methods have defaults", "[trainable]") {
  Plain plain;
  plain.setup(Config());
  CHECK_FALSE(plain.reset_config(Config()));
  plain.cleanup();
  CHECK_FALSE(plain.context().should_stop());

  const auto flag = std::make_shared<std::atomic<bool>>(false);
  TrialContext context;
  context.trial_id = TrialId{7};
  context.stop_flag = flag;
  plain.set_context(std::move(context));
  CHECK(plain.context().trial_id == TrialId{7});
  CHECK_FALSE(plain.context().should_stop());
  flag->store(true);
  CHECK(plain.context().should_stop());
}

TEST_CASE("a class is named without its namespaces", "[trainable]") {
  struct Local {};
  CHECK(detail::type_name<Plain>() == "Plain");
  CHECK(detail::type_name<Outer>() == "Outer");
  CHECK(detail::type_name<Outer::Inner>() == "Inner");
  CHECK(detail::type_name<Local>() == "Local");
  CHECK(detail::type_name<Outer::Of<Outer::Inner>>() == "Of<tune::Outer::Inner>");
  CHECK(detail::type_name<int>() == "int");
}

TEST_CASE("a callback has a name and hears nothing by default", "[callback]") {
  class Silent final : public Callback {};
  Silent silent;
  CHECK(silent.name() == "Silent");
  const ExperimentInfo experiment;
  const TrialInfo trial;
  silent.on_experiment_start(experiment);
  silent.on_trial_start(trial);
  silent.on_trial_result(trial, Result());
  silent.on_trial_checkpoint(trial, Checkpoint());
  silent.on_trial_completed(trial, TrialEnd());
  silent.on_trial_failed(trial, TrialEnd(), false);
  silent.on_experiment_end(experiment, ExperimentEnd());
  silent.on_idle();
}

}  // namespace
}  // namespace tune
