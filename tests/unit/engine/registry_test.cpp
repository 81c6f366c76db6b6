#include <tune/registry.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace tune {

// Registered before main() as a program's own classes and functions are.
class RegisteredModel : public Trainable {
 public:
  Metrics step() override { return {{"loss", 1.0}}; }
  void save_checkpoint(const std::filesystem::path&) override {}
  void load_checkpoint(const std::filesystem::path&) override {}
};
TUNE_REGISTER_TRAINABLE(RegisteredModel)

namespace models {
class NestedModel : public RegisteredModel {};
}  // namespace models
TUNE_REGISTER_TRAINABLE(models::NestedModel)

void registered_train(const Config&) {}
TUNE_REGISTER_FUNCTION(registered_train)
void registered_train_with_checkpoints(const Config&) {}
TUNE_REGISTER_FUNCTION(registered_train_with_checkpoints, {.checkpoints = true})

class RegisteredScheduler : public TrialScheduler {
 public:
  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
    return Decision::proceed;
  }
};
TUNE_REGISTER_SCHEDULER("registered", RegisteredScheduler)

class SchedulerWithOptions : public RegisteredScheduler {
 public:
  explicit SchedulerWithOptions(const Json& options) : options_(options) {}
  [[nodiscard]] Json options() const override { return options_; }

 private:
  Json options_;
};
TUNE_REGISTER_SCHEDULER("with options", SchedulerWithOptions)

class RegisteredSearcher : public Searcher {
 public:
  void setup(const SearcherSetup&) override {}
  Suggestion suggest(const SuggestionRequest&) override { return Exhausted{}; }
};
TUNE_REGISTER_SEARCHER("registered", RegisteredSearcher)

namespace {

using Catch::Contains;

void unregistered_train(const Config&) {}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::is_sorted(names.begin(), names.end()) &&
         std::count(names.begin(), names.end(), name) == 1;
}

TEST_CASE("a registered trainable is made by name", "[registry]") {
  const TrainableSpec spec = find_trainable("RegisteredModel");
  CHECK(spec.name == "RegisteredModel");
  CHECK(spec.checkpoints);
  CHECK(spec.make()->step().at("loss") == 1.0);
  CHECK_FALSE(spec.function);
  CHECK(holds(trainable_names(), "RegisteredModel"));
  CHECK(holds(trainable_names(), "registered_train"));
}

TEST_CASE("a class is registered under the name by which tune_run<Class>() knows it",
          "[registry]") {
  CHECK(find_trainable("NestedModel").name == detail::type_name<models::NestedModel>());
  CHECK_FALSE(holds(trainable_names(), "models::NestedModel"));
}

TEST_CASE("a train function is found by name and by itself", "[registry]") {
  CHECK(find_trainable("registered_train").function);
  CHECK_FALSE(find_trainable("registered_train").checkpoints);
  CHECK(find_trainable("registered_train_with_checkpoints").checkpoints);
  CHECK(find_function(registered_train).name == "registered_train");
  CHECK(find_function(registered_train_with_checkpoints).checkpoints);

  const TrainableSpec unknown = find_function(unregistered_train);
  CHECK(unknown.name == "function");
  CHECK_FALSE(unknown.checkpoints);
  CHECK(unknown.function);
}

TEST_CASE("a name that is not registered is refused with those that are", "[registry]") {
  CHECK_THROWS_AS(find_trainable("Modell"), std::invalid_argument);
  CHECK_THROWS_WITH(find_trainable("Modell"), Contains(R"(no trainable "Modell" is registered)") &&
                                                  Contains(R"("RegisteredModel")"));
  CHECK_THROWS_WITH(make_scheduler("ashaa"),
                    Contains(R"(no scheduler "ashaa")") && Contains(R"("registered")"));
  CHECK_THROWS_WITH(make_searcher("tpee"),
                    Contains(R"(no searcher "tpee")") && Contains(R"("registered")"));
}

TEST_CASE("a name is registered once, or twice for the same code", "[registry]") {
  CHECK(register_trainable(trainable_spec<RegisteredModel>("RegisteredModel")));
  CHECK(register_function("registered_train", registered_train));
  CHECK(register_scheduler("registered",
                           detail::factory<TrialScheduler, RegisteredScheduler>("registered")));

  CHECK_THROWS_AS(register_function("registered_train", unregistered_train), std::invalid_argument);
  CHECK_THROWS_WITH(register_function("registered_train", unregistered_train),
                    R"(trainable "registered_train" is registered twice, with different code)");
  CHECK_THROWS_AS(register_function("RegisteredModel", unregistered_train), std::invalid_argument);
  CHECK_THROWS_AS(register_function("registered_train", registered_train, {.checkpoints = true}),
                  std::invalid_argument);
  CHECK_THROWS_AS(
      register_scheduler("registered",
                         detail::factory<TrialScheduler, SchedulerWithOptions>("registered")),
      std::invalid_argument);
  CHECK(find_function(unregistered_train).name == "function");
}

TEST_CASE("what cannot be run is not registered", "[registry]") {
  CHECK_THROWS_WITH(register_trainable({.name = "empty"}),
                    R"(trainable "empty" must have either a class or a function)");
  CHECK_THROWS_WITH(register_function("null", nullptr), R"(train function "null" is null)");
  CHECK_THROWS_WITH(register_function("", unregistered_train), Contains("without a name"));
  CHECK_THROWS_WITH(register_scheduler("null", nullptr), R"(scheduler "null" is null)");
  CHECK_THROWS_WITH(register_searcher("null", nullptr), R"(searcher "null" is null)");
  register_scheduler("nothing", [](const Json&) -> std::unique_ptr<TrialScheduler> { return {}; });
  CHECK_THROWS_WITH(make_scheduler("nothing"),
                    R"(the factory of scheduler "nothing" made nothing)");
}

TEST_CASE("schedulers and searchers are made from what options() gives", "[registry]") {
  CHECK(make_scheduler("registered")->options() == Json{{"name", "RegisteredScheduler"}});
  CHECK(make_searcher("registered")->options() == Json{{"name", "RegisteredSearcher"}});
  CHECK(holds(scheduler_names(), "with options"));
  CHECK(holds(searcher_names(), "registered"));

  const Json options = {{"name", "with options"}, {"max_t", 3}};
  CHECK(make_scheduler("with options", options)->options() == Json{{"max_t", 3}});
  CHECK(make_scheduler("with options", nullptr)->options() == Json::object());

  CHECK_THROWS_WITH(make_scheduler("registered", {{"max_t", 3}}),
                    R"("registered" takes no options, got "max_t": 3)");
  CHECK_THROWS_WITH(make_searcher("registered", {{"seed", 3}}), Contains(R"("seed": 3)"));
  CHECK_THROWS_WITH(make_scheduler("with options", {{"name", "asha"}}),
                    R"(options of scheduler "with options" are for another: name is "asha")");
  CHECK_THROWS_WITH(make_scheduler("with options", Json::array({1})),
                    Contains("must be a JSON object, are [1]"));
}

TEST_CASE("several threads may register and look up at once", "[registry]") {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int n = 0; n < 50; ++n) {
        register_function("thread " + std::to_string(i) + " " + std::to_string(n),
                          unregistered_train);
        register_function("shared " + std::to_string(n), unregistered_train);
        (void)find_trainable("shared " + std::to_string(n));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto names = trainable_names();
  CHECK(holds(names, "shared 49"));
  CHECK(holds(names, "thread 3 49"));
}

}  // namespace
}  // namespace tune
