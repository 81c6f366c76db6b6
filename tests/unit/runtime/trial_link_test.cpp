#include "runtime/trial_link.hpp"

#include <string>
#include <thread>
#include <variant>

#include <catch2/catch.hpp>

namespace tune::runtime {
namespace {

using Order = TrialLink::Order;

engine::Horizon horizon_at(double iteration) {
  engine::Horizon horizon;
  horizon.bounds.push_back({"training_iteration", iteration, false});
  return horizon;
}

TEST_CASE("messages are numbered from 0 and wake only when there were none", "[trial_link]") {
  int woken = 0;
  TrialLink link({TrialId{3}, 2, {}, 256}, [&] { ++woken; });
  link.tell(engine::Started{});
  link.report(Result(0.5, 1));
  CHECK(woken == 1);
  const auto messages = link.take();
  REQUIRE(messages.size() == 2);
  CHECK(messages[0].trial == TrialId{3});
  CHECK(messages[0].incarnation == 2);
  CHECK(messages[0].sequence == 0);
  CHECK(messages[1].sequence == 1);
  CHECK(link.take().empty());
  link.report(Result(0.4, 2));
  CHECK(woken == 2);
  CHECK(link.take().at(0).sequence == 2);
}

TEST_CASE("nothing is told after the end", "[trial_link]") {
  TrialLink link({});
  link.tell(engine::Ended{engine::EndKind::finished, {}});
  link.tell(engine::Warned{"late", false});
  link.abandon("late");
  const auto messages = link.take();
  REQUIRE(messages.size() == 1);
  CHECK(std::get<engine::Ended>(messages[0].report).kind == engine::EndKind::finished);
}

TEST_CASE("an abandoned trial ends at once and its runner is told to stop", "[trial_link]") {
  int woken = 0;
  TrialLink link({}, [&] { ++woken; });
  link.abandon("too slow");
  CHECK(woken == 0);
  CHECK(std::get<engine::Ended>(link.take().at(0).report).kind == engine::EndKind::abandoned);
  CHECK(link.has_ended());
  CHECK(link.stop_flag()->load());
  link.report(Result(1, 1));
  CHECK(link.take().empty());
  CHECK(link.next_order(true) == Order::stop);
}

TEST_CASE("a trial runs on below its horizon and waits at it", "[trial_link]") {
  TrialLink link({TrialId{0}, 1, horizon_at(2), 256});
  CHECK(link.next_order(true) == Order::proceed);
  link.report(Result(0, 1));
  CHECK(link.next_order(true) == Order::proceed);
  link.report(Result(0, 2));
  // It looks at the result again with each new horizon.
  std::thread driver([&] {
    link.proceed(horizon_at(1));
    link.proceed(horizon_at(3));
  });
  CHECK(link.next_order(true) == Order::proceed);
  driver.join();
}

TEST_CASE("a trial ends by itself at a bound that ends it, unless it repeats", "[trial_link]") {
  engine::Horizon horizon = horizon_at(3);
  horizon.bounds.push_back({"loss", 0.5, true, /*ends=*/true});
  TrialLink link({TrialId{0}, 1, horizon, 256});
  const auto report = [&](std::int64_t iteration, double loss) {
    Result result(0, iteration);
    result.metrics = {{"loss", loss}};
    link.report(std::move(result));
  };
  report(1, 0.6);
  report(2, 0.6);
  CHECK(link.next_order(true) == Order::proceed);
  // It went back: what was decided of iteration 2 stands, so it waits to hear it.
  report(2, 0.4);
  link.proceed(horizon_at(3));
  CHECK(link.next_order(true) == Order::proceed);
  link.proceed(horizon);
  report(3, 0.4);
  CHECK(link.next_order(true) == Order::end);
  link.stop(true);
  CHECK(link.next_order(true) == Order::stop);
}

TEST_CASE("a decision that comes before the trial waits is not missed", "[trial_link]") {
  TrialLink link({TrialId{0}, 1, horizon_at(1), 256});
  link.report(Result(0, 1));
  link.proceed(horizon_at(5));
  CHECK(link.next_order(true) == Order::proceed);
}

TEST_CASE("a result that says done does not wait", "[trial_link]") {
  TrialLink link({TrialId{0}, 1, horizon_at(1), 256});
  Result result(0, 1);
  result.done = true;
  link.report(result);
  CHECK(link.next_order(true) == Order::proceed);
}

TEST_CASE("orders come in the order of their weight", "[trial_link]") {
  TrialLink link({TrialId{0}, 1, horizon_at(1), 256});
  CHECK_FALSE(link.stop_flag()->load());
  link.save();
  CHECK_FALSE(link.stop_flag()->load());
  CHECK(link.next_order(false) == Order::proceed);  // left for where a writer is
  CHECK(link.next_order(true) == Order::save);
  CHECK(link.next_order(true) == Order::proceed);
  link.save();
  link.pause();
  CHECK(link.stop_flag()->load());
  CHECK(link.next_order(false) == Order::proceed);
  CHECK(link.next_order(true) == Order::pause);
  link.stop(true);
  CHECK(link.next_order(true) == Order::stop);
  CHECK(link.next_order(false) == Order::stop);
  CHECK(link.saves_at_stop());
}

TEST_CASE("a pause lets a trial that cannot save here run past its horizon", "[trial_link]") {
  TrialLink link({TrialId{0}, 1, horizon_at(1), 256});
  link.report(Result(0, 1));
  link.pause();
  CHECK(link.next_order(false) == Order::proceed);
  link.report(Result(0, 2));
  CHECK(link.next_order(true) == Order::pause);
}

TEST_CASE("a save reaches a runner that waits for a decision", "[trial_link]") {
  TrialLink link({TrialId{0}, 1, horizon_at(1), 256});
  link.report(Result(0, 1));
  std::thread driver([&] { link.save(); });
  CHECK(link.next_order(true) == Order::save);
  driver.join();
  driver = std::thread([&] { link.stop(false); });
  CHECK(link.next_order(true) == Order::stop);
  driver.join();
}

TEST_CASE("a trial has a bounded number of unacknowledged messages", "[trial_link]") {
  TrialLink link({TrialId{0}, 1, {}, 2});
  link.report(Result(0, 1));
  link.report(Result(0, 2));
  CHECK(link.take().size() == 2);
  link.acknowledge(1);
  link.acknowledge(0);        // late, and no harm
  link.report(Result(0, 3));  // there is room for one
  std::thread driver([&] { link.acknowledge(3); });
  link.report(Result(0, 4));
  driver.join();
  CHECK(link.take().size() == 2);
}

TEST_CASE("who stores one checkpoint at a time waits for the last one", "[trial_link]") {
  TrialLink link({TrialId{0}, 1, {}, 100});
  link.wait_for_checkpoint();  // there is none
  link.tell(engine::CheckpointStored{"checkpoint_000001", 1});
  link.report(Result(0, 2));
  link.acknowledge(1);
  link.wait_for_checkpoint();  // not for the result behind it
  link.tell(engine::CheckpointStored{"checkpoint_000002", 2});
  std::thread driver([&] { link.acknowledge(3); });
  link.wait_for_checkpoint();
  driver.join();
  link.tell(engine::CheckpointStored{"checkpoint_000003", 3});
  link.pause();
  link.wait_for_checkpoint();  // it is to end
}

TEST_CASE("a trial that is to stop tells its last result without credit", "[trial_link]") {
  TrialLink link({TrialId{0}, 1, {}, 1});
  link.report(Result(0, 1));
  link.stop(false);
  link.report(Result(0, 2));
  CHECK(link.take().size() == 2);

  TrialLink paused({TrialId{0}, 1, {}, 1});
  paused.report(Result(0, 1));
  paused.pause();
  paused.report(Result(0, 2));
  CHECK(paused.take().size() == 2);
}

}  // namespace
}  // namespace tune::runtime
