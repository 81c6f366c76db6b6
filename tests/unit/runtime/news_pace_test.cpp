#include "runtime/news_pace.hpp"

#include <chrono>

#include <catch2/catch.hpp>

namespace tune::runtime {
namespace {

TEST_CASE("slow news goes one by one, fast news in batches", "[news_pace]") {
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  NewsPace pace;
  NewsPace::Time now{std::chrono::hours(1)};
  for (int i = 0; i < 1000; ++i) CHECK(pace.goes_alone(now += milliseconds(1)));

  int alone = 0;
  const NewsPace::Time end = (now += milliseconds(30)) + milliseconds(200);
  for (; now < end; now += microseconds(10)) alone += pace.goes_alone(now) ? 1 : 0;
  CHECK(alone >= 9 * NewsPace::max_single);
  CHECK(alone <= 11 * NewsPace::max_single);  // of 20,000

  CHECK(pace.goes_alone(now + milliseconds(21)));
}

}  // namespace
}  // namespace tune::runtime
