#include "core/option_reader.hpp"

#include <optional>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

namespace tune::core {
namespace {

using Catch::Contains;

struct Options {
  double rate = 0.5;
  std::int64_t count = 3;
  bool strict = true;
  std::string field = "x";
  std::optional<Mode> mode;
};

Options read(const Json& json) {
  Options options;
  OptionReader reader("mine", json);
  reader.read("rate", options.rate);
  reader.read("count", options.count);
  reader.read("strict", options.strict);
  reader.read("field", options.field);
  reader.read("mode", options.mode);
  reader.finish();
  return options;
}

TEST_CASE("options are read by their names, absent ones keep their defaults", "[option_reader]") {
  const Options none = read(Json::object());
  CHECK(none.rate == 0.5);
  CHECK(none.count == 3);
  CHECK_FALSE(none.mode.has_value());

  const Options all =
      read({{"rate", 2}, {"count", 5.0}, {"strict", false}, {"field", "y"}, {"mode", "max"}});
  CHECK(all.rate == 2.0);
  CHECK(all.count == 5);
  CHECK_FALSE(all.strict);
  CHECK(all.field == "y");
  CHECK(all.mode == Mode::max);
  CHECK_FALSE(read({{"mode", nullptr}}).mode.has_value());
}

TEST_CASE("a wrong option is refused naming key, value and what is allowed", "[option_reader]") {
  CHECK_THROWS_AS(read({{"rate", "fast"}}), std::invalid_argument);
  CHECK_THROWS_WITH(read({{"rate", "fast"}}), R"(mine: rate is "fast", want a number)");
  CHECK_THROWS_WITH(read({{"rate", nullptr}}), "mine: rate is null, want a number");
  CHECK_THROWS_WITH(read({{"count", 2.5}}), "mine: count is 2.5, want an integer of 64 bits");
  CHECK_THROWS_WITH(read({{"count", true}}), "mine: count is true, want an integer");
  CHECK_THROWS_WITH(read({{"count", UINT64_MAX}}), Contains("18446744073709551615"));
  CHECK_THROWS_WITH(read({{"strict", 1}}), "mine: strict is 1, want true or false");
  CHECK_THROWS_WITH(read({{"field", 1}}), "mine: field is 1, want text");
  CHECK_THROWS_WITH(read({{"mode", "maximum"}}), R"(mine: mode is "maximum", want "min" or "max")");
  CHECK_THROWS_WITH(read({{"rat", 1}}), R"(mine: unknown option "rat": 1; there are: )"
                                        "rate, count, strict, field, mode");
  CHECK_THROWS_WITH(read(Json::array()), "mine: options must be a JSON object, are []");
}

TEST_CASE("an option may be any JSON", "[option_reader]") {
  const Json options = {{"base", {{"name", "fifo"}}}, {"other", 3}};
  OptionReader reader("wrapper", options);
  Json base;
  reader.read("base", base);
  CHECK(base.at("name") == "fifo");
  reader.read("other", base);
  CHECK(base == 3);
}

}  // namespace
}  // namespace tune::core
