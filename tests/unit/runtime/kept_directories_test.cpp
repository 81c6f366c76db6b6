#include "runtime/kept_directories.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace tune::runtime {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("what was needed longest ago goes first, and what is needed never",
          "[kept_directories]") {
  KeptDirectories kept(100);
  for (const char* name : {"a", "b", "c"}) kept.use(name);
  kept.use("a");
  kept.release("a", 90);
  kept.release("c", 60);
  CHECK(kept.take_surplus().empty());  // a and b are in use
  kept.release("b", 40);
  CHECK(kept.take_surplus().empty());  // just as much as may be
  kept.release("a", 90);
  CHECK(kept.take_surplus() == Names{"c", "b"});
  kept.use("a");
  kept.use("d");
  kept.release("d", 1000);
  CHECK(kept.take_surplus() == Names{"d"});
}

TEST_CASE("what is forgotten does not come back", "[kept_directories]") {
  KeptDirectories kept(10);
  kept.use("a");
  kept.forget("a");
  kept.release("a", 1000);
  CHECK(kept.take_surplus().empty());
}

}  // namespace
}  // namespace tune::runtime
