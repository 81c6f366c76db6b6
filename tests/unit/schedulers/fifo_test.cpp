#include <tune/schedulers/fifo.hpp>

#include <cmath>
#include <limits>
#include <stdexcept>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/schedulers/builtin.hpp>

#include "support/scheduler_bench.hpp"

namespace tune {
namespace {

using test::SchedulerBench;

TEST_CASE("fifo lets every trial run to its end without waiting", "[fifo]") {
  SchedulerBench bench(fifo(), Mode::min);
  bench.add(0);
  CHECK(bench.horizon(0) == std::numeric_limits<double>::infinity());
  CHECK(bench.train(0, NAN, 100) == 100);
  CHECK(bench.is_live(0));
  CHECK(bench.explanation(0).empty());
  CHECK(bench.other_requests() == 0);
  bench.complete(0);
}

TEST_CASE("fifo needs neither metric nor checkpoints nor replay", "[fifo]") {
  const auto scheduler = fifo();
  CHECK_FALSE(scheduler->needs_metric());
  CHECK_FALSE(scheduler->needs_checkpoints());
  CHECK_FALSE(scheduler->save().is_null());
  CHECK_NOTHROW(scheduler->restore(scheduler->save()));
  CHECK(scheduler->describe() == "fifo");
}

TEST_CASE("fifo is made by name, without options", "[fifo]") {
  register_builtin_schedulers();
  register_builtin_schedulers();
  CHECK(make_scheduler("fifo")->options() == Json{{"name", "fifo"}});
  CHECK(make_scheduler("fifo", fifo()->options())->describe() == "fifo");
  CHECK_THROWS_AS(make_scheduler("fifo", {{"max_t", 3}}), std::invalid_argument);
  CHECK_THROWS_WITH(make_scheduler("fifo", {{"max_t", 3}}),
                    R"(fifo: unknown option "max_t": 3; there are: none)");
}

}  // namespace
}  // namespace tune
