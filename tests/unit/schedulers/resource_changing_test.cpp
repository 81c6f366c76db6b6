#include <tune/schedulers/resource_changing.hpp>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/schedulers/asha.hpp>
#include <tune/schedulers/builtin.hpp>
#include <tune/schedulers/fifo.hpp>

#include "schedulers/resource_shares.hpp"

namespace tune {
namespace {

using Catch::Contains;
using schedulers::equal_share;

ResourceAmounts cpus(double cpu, double gpu = 0) {
  return ResourceAmounts(Resources{.cpu = cpu, .gpu = gpu});
}

std::map<NodeId, ResourceAmounts> nodes_of(const std::vector<ResourceAmounts>& capacities) {
  std::map<NodeId, ResourceAmounts> nodes;
  for (const ResourceAmounts& capacity : capacities) nodes[NodeId{nodes.size()}] = capacity;
  return nodes;
}

std::int64_t share(const std::vector<ResourceAmounts>& capacities,
                   const std::vector<ResourceAmounts>& requests, std::int64_t most = 1000) {
  return equal_share(nodes_of(capacities), requests, most);
}

TEST_CASE("an equal share is whole times the request and fits on the nodes",
          "[resource_changing]") {
  CHECK(share({cpus(8)}, {cpus(1)}) == 8);
  CHECK(share({cpus(8)}, {cpus(1), cpus(1), cpus(1)}) == 2);  // two cores stay free
  CHECK(share({cpus(8)}, {cpus(3)}) == 2);
  CHECK(share({cpus(8)}, {cpus(1), cpus(1)}, 3) == 3);
  CHECK(share({cpus(2), cpus(2)}, {cpus(1)}) == 2);  // on one node, not 4 on two
  CHECK(share({cpus(4), cpus(2)}, {cpus(1), cpus(1)}) == 2);
  CHECK(share({cpus(8)}, {cpus(1), cpus(3)}) == 2);  // 2 and 6
  CHECK(share({cpus(1)}, {cpus(1), cpus(1)}) == 1);  // more than there is: one of them waits
  CHECK(share({}, {cpus(1)}) == 1);
  CHECK(share({cpus(8)}, {ResourceAmounts()}) == 1);
}

TEST_CASE("an equal share of GPUs is a part of one or whole ones", "[resource_changing]") {
  CHECK(share({cpus(8, 4)}, {cpus(1, 1)}) == 4);
  CHECK(share({cpus(8, 4)}, {cpus(1, 0.5)}) == 8);
  CHECK(share({cpus(8, 2)}, {cpus(1, 0.4)}) == 5);  // 2 whole; 3 times would be 1.2
  CHECK(share({cpus(3, 2)}, {cpus(1, 0.4)}) == 2);  // 0.8
  CHECK(share({cpus(8, 2)}, {cpus(1, 0.5), cpus(1, 0.5), cpus(1, 0.5)}) == 1);
}

/// A scheduler around FIFO with the engine's part played by hand.
struct SharingBench {
  explicit SharingBench(ResourceChangingOptions options = {})
      : scheduler(resource_changing(fifo(), std::move(options))) {
    context.set_nodes(nodes_of({cpus(8)}));
  }

  void add(std::uint64_t id) {
    scheduler->on_trial_added(context, context.add(Trial(TrialId{id})));
    take();
  }
  void start(std::uint64_t id) {
    Trial& trial = *context.find_mutable(TrialId{id});
    trial.set_incarnation(trial.incarnation() + 1);
    trial.set_granted(has.contains(id) ? has[id] : cpus(1));
    context.set_state(TrialId{id}, TrialState::running);
  }
  void report(std::uint64_t id) {
    const Result result(1.0, ++iteration);
    CHECK(scheduler->on_trial_result(context, *context.find(TrialId{id}), result) ==
          Decision::proceed);
    take();
  }
  void end(std::uint64_t id) {
    context.set_state(TrialId{id}, TrialState::terminated);
    scheduler->on_trial_completed(context, *context.find(TrialId{id}), Result());
    context.finish(TrialId{id}, {});
    take();
  }
  void take() {
    for (const SchedulerRequest& request : context.take_requests()) {
      if (const auto* change = std::get_if<ChangeResources>(&request)) {
        has[change->trial.value()] = ResourceAmounts(change->resources);
        ++changes;
      }
      if (const auto* why = std::get_if<Explanation>(&request)) explanation = why->reason;
    }
  }
  void run(std::uint64_t trials) {
    for (std::uint64_t id = 0; id < trials; ++id) {
      add(id);
      start(id);
    }
    for (std::uint64_t id = 0; id < trials; ++id) report(id);
  }

  SchedulerContext context{Mode::min};
  std::unique_ptr<TrialScheduler> scheduler;
  std::map<std::uint64_t, ResourceAmounts> has;
  int changes = 0;
  std::int64_t iteration = 0;
  std::string explanation;
};

TEST_CASE("trials get more as others end, once none can be added", "[resource_changing]") {
  SharingBench bench;
  bench.run(4);
  bench.end(3);
  CHECK(bench.changes == 0);  // another trial may come
  bench.context.set_new_trials(NewTrials::none);
  bench.report(0);
  CHECK(bench.changes == 3);
  for (const std::uint64_t id : {0U, 1U, 2U}) CHECK(bench.has[id] == cpus(2));
  CHECK(bench.explanation == "gets 2 cpu: 3 trials run or wait, and none can be added");
  bench.report(1);
  CHECK(bench.changes == 3);  // nothing is new
  bench.end(1);
  CHECK(bench.has[0] == cpus(4));
  CHECK(bench.has[2] == cpus(4));
  bench.end(0);
  CHECK(bench.has[2] == cpus(8));
}

TEST_CASE("trials give resources back for a trial that waits, and for a lost node",
          "[resource_changing]") {
  SharingBench bench;
  bench.run(2);
  bench.context.set_state(TrialId{1}, TrialState::paused);
  bench.context.set_new_trials(NewTrials::none);
  bench.report(0);
  CHECK(bench.has[0] == cpus(8));
  bench.context.set_state(TrialId{1}, TrialState::pending);
  bench.report(0);
  CHECK(bench.has[0] == cpus(4));
  CHECK(bench.has[1] == cpus(4));
  bench.context.set_nodes(nodes_of({cpus(2)}));
  bench.report(0);
  CHECK(bench.has[0] == cpus(1));
  // More trials may come after all.
  bench.context.set_nodes(nodes_of({cpus(8)}));
  bench.report(0);
  CHECK(bench.has[0] == cpus(4));
  bench.context.set_new_trials(NewTrials::possible);
  bench.report(0);
  CHECK(bench.has[0] == cpus(1));
}

TEST_CASE("increase_by_times bounds the share", "[resource_changing]") {
  SharingBench bench({.increase_by_times = 2});
  bench.run(1);
  bench.context.set_new_trials(NewTrials::none);
  bench.report(0);
  CHECK(bench.has[0] == cpus(3));
}

TEST_CASE("an allocation function of one's own decides instead", "[resource_changing]") {
  SharingBench bench(
      {.resources_allocation_function = [](const SchedulerContext&, const auto& base) {
        std::map<TrialId, Resources> all;
        // All that is left to the first.
        if (!base.empty()) all[base.begin()->first] = {.cpu = 7};
        all[TrialId{99}] = {.cpu = 1};  // of nobody
        return all;
      }});
  bench.run(2);
  CHECK(bench.has[0] == cpus(7));
  CHECK_FALSE(bench.has.contains(1));
  CHECK(bench.scheduler->options().at("resources_allocation_function") == "custom");
}

TEST_CASE("trials with labels or workers keep what they have", "[resource_changing]") {
  const Resources asked =
      GENERATE(Resources{.labels = {{"zone", "a"}}}, Resources{.workers = {{}}});
  SharingBench bench;
  bench.run(4);
  bench.context.find_mutable(TrialId{1})
      ->set_request(std::make_shared<const ResourceRequest>(asked));
  bench.context.set_new_trials(NewTrials::none);
  bench.end(3);
  bench.end(2);
  CHECK(bench.changes == 0);  // nobody gets more beside it
  bench.end(1);
  CHECK_FALSE(bench.has.contains(1));
  CHECK(bench.changes == 1);  // the last one
}

TEST_CASE("an allocation function cannot give labels or workers", "[resource_changing]") {
  ResourceChangingOptions options;
  options.resources_allocation_function = [](const SchedulerContext&, const auto& base) {
    std::map<TrialId, Resources> wanted;
    for (const auto& [id, request] : base) wanted[id] = {.workers = {{}}};
    return wanted;
  };
  SharingBench bench(std::move(options));
  bench.add(0);
  bench.start(0);
  CHECK_THROWS_WITH(bench.scheduler->on_trial_result(bench.context, *bench.context.find(TrialId{0}),
                                                     Result(1.0, 1)),
                    Contains("labels and workers cannot be changed"));
}

TEST_CASE("a restored scheduler knows who has what", "[resource_changing]") {
  SharingBench bench;
  bench.run(2);
  bench.context.set_new_trials(NewTrials::none);
  bench.report(0);
  REQUIRE(bench.changes == 2);
  const Json state = Json::parse(bench.scheduler->save().dump());
  bench.scheduler = resource_changing(fifo());
  bench.scheduler->restore(state);
  CHECK(bench.scheduler->save() == state);
  bench.report(1);
  CHECK(bench.changes == 2);
  bench.end(0);
  CHECK(bench.has[1] == cpus(8));
}

TEST_CASE("a trial that ended with more and goes on begins with what it asks for",
          "[resource_changing]") {
  SharingBench bench;
  bench.run(1);
  bench.context.set_new_trials(NewTrials::none);
  bench.report(0);
  REQUIRE(bench.has[0] == cpus(8));
  bench.end(0);
  bench.context.unfinish(TrialId{0});
  bench.context.set_new_trials(NewTrials::possible);
  bench.add(0);
  CHECK(bench.has[0] == cpus(1));
}

TEST_CASE("what the base says is passed on", "[resource_changing]") {
  const auto around = [](std::unique_ptr<TrialScheduler> base) {
    return resource_changing(std::move(base));
  };
  CHECK(around(fifo())->needs_checkpoints());
  CHECK_FALSE(around(fifo())->needs_metric());
  const auto scheduler =
      around(asha({.time_attr = "epoch", .metric = "loss", .mode = Mode::min, .max_t = 9}));
  CHECK(scheduler->needs_metric());
  CHECK(scheduler->time_attr() == "epoch");
  CHECK(scheduler->objective()->metric == "loss");
  CHECK_THAT(scheduler->describe(), Contains("asha up to 9; 0 trials have other resources"));
}

TEST_CASE("resource_changing is made by name from its own options", "[resource_changing]") {
  register_builtin_schedulers();
  const auto scheduler = resource_changing(asha({.max_t = 27}), {.increase_by_times = 3});
  CHECK(make_scheduler("resource_changing", scheduler->options())->options() ==
        scheduler->options());
  CHECK(make_scheduler("resource_changing")->options().at("base").at("name") == "fifo");
  CHECK_THROWS_WITH(make_scheduler("resource_changing", {{"base", "asha"}}),
                    Contains(R"(base is "asha", want an object)"));
  CHECK_THROWS_WITH(make_scheduler("resource_changing", {{"base", Json::object()}}),
                    Contains("want an object with the name of a scheduler"));
  CHECK_THROWS_WITH(make_scheduler("resource_changing", {{"increase_by_times", -2}}),
                    Contains("increase_by_times must be at least -1, is -2"));
  CHECK_THROWS_AS(resource_changing(nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace tune
