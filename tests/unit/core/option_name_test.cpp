#include "core/option_name.hpp"

#include <catch2/catch.hpp>

namespace tune::core {
namespace {

TEST_CASE("the name is taken from options of any shape", "[option_name]") {
  CHECK(option_name({{"name", "asha"}, {"max_t", 27}}, "unnamed") == "asha");
  for (const Json& options : {Json(nullptr), Json(7), Json("asha"), Json{1, 2}, Json::object(),
                              Json{{"name", 7}}, Json{{"name", nullptr}}}) {
    CHECK(option_name(options, "unnamed") == "unnamed");
  }
}

}  // namespace
}  // namespace tune::core
