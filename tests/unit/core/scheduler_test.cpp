#include <tune/scheduler.hpp>

#include <set>
#include <stdexcept>

#include <catch2/catch.hpp>

#include <tune/searcher.hpp>

namespace tune {
namespace {

class Patient final : public TrialScheduler {
 public:
  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
    return Decision::proceed;
  }
};

class Blind final : public Searcher {
 public:
  void setup(const SearcherSetup&) override {}
  Suggestion suggest(const SuggestionRequest&) override { return Exhausted{}; }
};

TEST_CASE("a scheduler that says nothing else is rebuilt by replay and needs a metric",
          "[scheduler]") {
  Patient scheduler;
  CHECK_FALSE(scheduler.needs_checkpoints());
  CHECK(scheduler.needs_metric());
  CHECK(scheduler.time_attr() == "training_iteration");
  CHECK_FALSE(scheduler.objective().has_value());
  CHECK(scheduler.save().is_null());
  CHECK(scheduler.options() == Json{{"name", "Patient"}});
  CHECK(scheduler.describe() == "Patient");
  CHECK_NOTHROW(scheduler.restore(nullptr));
  CHECK_THROWS_AS(scheduler.restore(Json{{"best", 1}}), std::logic_error);
}

TEST_CASE("by default the pending trial with the lowest id runs", "[scheduler]") {
  Patient scheduler;
  SchedulerContext context(Mode::min);
  CHECK_FALSE(scheduler.choose_trial_to_run(context).has_value());
  context.add(Trial(TrialId{5}));
  context.add(Trial(TrialId{4}));
  context.add(Trial(TrialId{1}));
  context.set_state(TrialId{1}, TrialState::paused);
  context.add(Trial(TrialId{2}));
  context.set_state(TrialId{2}, TrialState::running);
  CHECK(scheduler.choose_trial_to_run(context) == TrialId{4});
  context.finish(TrialId{4}, {});
  CHECK(context.pending_trials() == std::set{TrialId{5}});
  context.set_state(TrialId{1}, TrialState::pending);
  CHECK(scheduler.choose_trial_to_run(context) == TrialId{1});
  CHECK_FALSE(context.has_requests());
}

TEST_CASE("a searcher that says nothing else is told all and needs a metric", "[searcher]") {
  Blind searcher;
  CHECK(searcher.wants_results());
  CHECK(searcher.needs_metric());
  CHECK_FALSE(searcher.objective().has_value());
  CHECK(searcher.save().is_null());
  CHECK(searcher.options() == Json{{"name", "Blind"}});
  CHECK_THROWS_AS(searcher.restore(Json::object()), std::logic_error);
}

TEST_CASE("decisions have names", "[scheduler]") {
  CHECK(to_string(Decision::proceed) == "proceed");
  CHECK(to_string(Decision::pause) == "pause");
  CHECK(to_string(Decision::stop) == "stop");
}

}  // namespace
}  // namespace tune
