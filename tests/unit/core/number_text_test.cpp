#include "core/number_text.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

#include <tune/random.hpp>

#include "support/seed.hpp"

namespace tune::core {
namespace {

TEST_CASE("number_text has the fewest digits that read back", "[number_text]") {
  CHECK(number_text(0.1) == "0.1");
  CHECK(number_text(0.30000000000000004) == "0.30000000000000004");
  CHECK(number_text(27) == "27");
  CHECK(number_text(0.0001) == "0.0001");
  CHECK(number_text(1e-5) == "1e-05");
  CHECK(number_text(1e6) == "1000000");
  CHECK(number_text(-123456789.125) == "-123456789.125");
  CHECK(number_text(1e23) == "1e+23");
  CHECK(number_text(-0.0) == "-0");
  CHECK(number_text(5e-324) == "5e-324");
  CHECK(number_text(INFINITY) == "inf");
  CHECK(number_text(-INFINITY) == "-inf");
  CHECK(number_text(-NAN) == "nan");
  CHECK(number_text(0.000123456, 4) == "0.0001235");
  CHECK(number_text(1e10, 4) == "1e+10");

  const std::uint64_t seed = test::test_seed(1);
  INFO("TUNE_TEST_SEED=" << seed);
  Random random(seed, "number_text");
  for (int i = 0; i < 10'000; ++i) {
    const auto value = std::bit_cast<double>(random.next());
    if (!std::isfinite(value)) continue;
    const std::string text = number_text(value);
    double read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    REQUIRE(std::bit_cast<std::uint64_t>(read) == std::bit_cast<std::uint64_t>(value));
  }
}

TEST_CASE("value_text is short and never throws", "[number_text]") {
  CHECK(value_text(Json(0.5)) == "0.5");
  CHECK(value_text(Json(std::numeric_limits<double>::quiet_NaN())) == "nan");
  CHECK(value_text(Json("a\"b")) == R"("a\"b")");
  CHECK(value_text(Json("\xff")) == "\"\xEF\xBF\xBD\"");

  const std::string cut = value_text(Json(std::string(200, 'x')));
  CHECK(cut.size() == 103);
  CHECK(cut.substr(100) == "...");
  // 'ä' has two bytes; with the quote the limit falls between them.
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "\xC3\xA4";
  CHECK(value_text(Json(umlauts)) == "\"" + umlauts.substr(0, 98) + "...");
}

}  // namespace
}  // namespace tune::core
