#include "runtime/step_watch.hpp"

#include <utility>

#include <catch2/catch.hpp>

namespace tune::runtime {
namespace {

engine::TrialMessage result_message(std::uint64_t sequence, std::int64_t iteration,
                                    bool is_done = false) {
  Result result;
  result.training_iteration = iteration;
  result.done = is_done;
  return {TrialId{0}, 1, sequence, engine::Reported{std::move(result)}};
}

TEST_CASE("a trial that waits for a decision is not at work", "[step_watch]") {
  engine::Horizon horizon;
  horizon.every_result = true;
  StepWatch watch(horizon, 100);
  CHECK(watch.is_at_work());  // on its first step
  watch.on({TrialId{0}, 1, 0, engine::Started{}});
  CHECK(watch.is_at_work());
  watch.on(result_message(1, 1));
  CHECK_FALSE(watch.is_at_work());
  watch.proceed(engine::Horizon{.every_result = true, .bounds = {}, .decided_until = 1});
  CHECK(watch.is_at_work());
  CHECK(watch.last_iteration() == 1);
  CHECK(watch.next_sequence() == 2);
}

TEST_CASE("a trial that waits for acknowledgements is not at work", "[step_watch]") {
  engine::Horizon horizon;
  horizon.every_result = false;
  StepWatch watch(horizon, 3);
  watch.on({TrialId{0}, 1, 0, engine::Started{}});
  watch.on(result_message(1, 1));
  CHECK(watch.is_at_work());
  watch.on(result_message(2, 2));
  CHECK_FALSE(watch.is_at_work());
  watch.acknowledge(1);
  CHECK(watch.is_at_work());
  watch.acknowledge(0);  // an older one takes nothing back
  CHECK(watch.is_at_work());
}

TEST_CASE("a trial whose last checkpoint is on its way is not at work", "[step_watch]") {
  engine::Horizon horizon;
  horizon.every_result = false;
  StepWatch watch(horizon, 100);
  watch.on(result_message(0, 1));
  watch.on({TrialId{0}, 1, 1, engine::CheckpointStored{"checkpoint_000001", 1}});
  watch.on(result_message(2, 2));
  CHECK_FALSE(watch.is_at_work());
  watch.acknowledge(1);
  CHECK_FALSE(watch.is_at_work());
  watch.acknowledge(2);
  CHECK(watch.is_at_work());
}

TEST_CASE("after its last result a trial is at work until it has ended", "[step_watch]") {
  engine::Horizon horizon;
  horizon.every_result = true;
  StepWatch watch(horizon, 100);
  watch.on(result_message(0, 1, true));
  CHECK(watch.is_at_work());
}

}  // namespace
}  // namespace tune::runtime
