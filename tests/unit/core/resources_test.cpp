#include <tune/resources.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include <catch2/catch.hpp>

namespace tune {
namespace {

using Catch::Contains;

ResourceAmounts amounts(const Resources& resources) { return ResourceAmounts(resources); }

TEST_CASE("quantities are exact thousandths", "[resources]") {
  const ResourceAmounts some =
      amounts({.cpu = 2.5, .gpu = 0.1, .memory = 1024, .custom = {{"license", 0.001}}});
  CHECK(some.amount("cpu") == 2500);
  CHECK(some.amount("gpu") == 100);
  CHECK(some.amount("memory") == 1024);
  CHECK(some.amount("license") == 1);
  CHECK(some.amount("absent") == 0);
  CHECK(amounts({.gpu = 0.3}).amount("gpu") == 300);
  CHECK(amounts({.gpu = 3}).amount("gpu") == 3000);
  CHECK(amounts({.cpu = 0}) == ResourceAmounts());
  for (int n = 0; n <= 1000; ++n) {
    REQUIRE(amounts({.cpu = n / 1000.0}).amount("cpu") == n);
  }
}

TEST_CASE("RS-02: tenths and thirds of a device add up exactly", "[RS-02]") {
  ResourceAmounts free = ResourceAmounts(LocalResources{.cpus = 0, .gpus = 1});
  const ResourceAmounts whole = free;
  const auto grants = [&](const ResourceAmounts& request) {
    int count = 0;
    for (ResourceAmounts left = free; left.covers(request); left -= request) ++count;
    return count;
  };
  CHECK(grants(amounts({.cpu = 0, .gpu = 0.3})) == 3);
  CHECK(grants(amounts({.cpu = 0, .gpu = 0.1})) == 10);

  const ResourceAmounts small = amounts({.cpu = 0, .gpu = 0.1});
  const ResourceAmounts large = amounts({.cpu = 0, .gpu = 0.3});
  for (int cycle = 0; cycle < 1000; ++cycle) {
    free -= large;
    free -= small;
    free += large;
    free += small;
  }
  CHECK(free == whole);
  for (int i = 0; i < 10; ++i) free -= small;
  CHECK(free == ResourceAmounts());
}

TEST_CASE("RS-02: more than one device in fractions is refused", "[RS-02]") {
  CHECK_THROWS_AS(amounts({.gpu = 1.5}), std::invalid_argument);
  CHECK_THROWS_WITH(amounts({.gpu = 1.5}),
                    Contains("resource gpu is 1.5") && Contains("a whole number"));
  CHECK_THROWS_WITH(ResourceAmounts(LocalResources{.cpus = 1, .gpus = 0.5}),
                    "local.gpus is 0.5, want a whole number of devices");
}

TEST_CASE("impossible quantities are refused, naming resource and value", "[resources]") {
  CHECK_THROWS_WITH(amounts({.cpu = -1}), "resource cpu is -1, want a number from 0");
  CHECK_THROWS_WITH(amounts({.cpu = NAN}), Contains("resource cpu is nan"));
  CHECK_THROWS_WITH(amounts({.gpu = INFINITY}), Contains("resource gpu is inf"));
  CHECK_THROWS_WITH(amounts({.cpu = 0.0001}), "resource cpu is 0.0001, want a multiple of 0.001");
  CHECK_THROWS_WITH(amounts({.cpu = 1.0 / 3}), Contains("want a multiple of 0.001"));
  CHECK_THROWS_WITH(amounts({.cpu = 1e10}), Contains("at most"));
  CHECK_THROWS_WITH(amounts({.memory = std::numeric_limits<std::uint64_t>::max()}),
                    Contains("resource memory is 18446744073709551615 bytes"));
  CHECK_THROWS_WITH(amounts({.custom = {{"license", -2}}}), Contains("resource license is -2"));
  CHECK_THROWS_WITH(amounts({.custom = {{"gpu", 1}}}), Contains("custom resource gpu"));
  CHECK_THROWS_WITH(amounts({.custom = {{"", 1}}}), Contains("needs a name"));
}

TEST_CASE("impossible quantities of a machine are refused by the name of their field",
          "[resources]") {
  const auto offered = [](const LocalResources& local) { return ResourceAmounts(local); };
  CHECK_THROWS_WITH(offered({}), "local.cpus is -1, want a number from 0");
  CHECK(offered({.cpus = 1, .gpus = -1}).amount("gpu") == 0);  // none was looked for
  CHECK_THROWS_WITH(offered({.cpus = 1, .memory = std::numeric_limits<std::uint64_t>::max()}),
                    Contains("local.memory is 18446744073709551615 bytes"));
  CHECK_THROWS_WITH(offered({.cpus = 1, .custom = {{"license", -2}}}),
                    "local.custom.license is -2, want a number from 0");
}

TEST_CASE("covers compares every amount", "[resources]") {
  const ResourceAmounts node = amounts({.cpu = 4, .gpu = 1, .custom = {{"license", 2}}});
  CHECK(node.covers(node));
  CHECK(node.covers(ResourceAmounts()));
  CHECK(node.covers(amounts({.cpu = 4})));
  CHECK_FALSE(node.covers(amounts({.cpu = 4.001})));
  CHECK_FALSE(node.covers(amounts({.memory = 1})));
  CHECK_FALSE(node.covers(amounts({.custom = {{"dongle", 1}}})));
}

TEST_CASE("more cannot be taken than is there", "[resources]") {
  ResourceAmounts free = amounts({.cpu = 1});
  CHECK_THROWS_AS(free -= amounts({.cpu = 2}), std::logic_error);
  CHECK(free == amounts({.cpu = 1}));
  const ResourceAmounts& all = free;
  free -= all;
  CHECK(free == ResourceAmounts());
}

TEST_CASE("amounts describe themselves for people", "[resources]") {
  CHECK(amounts({.cpu = 2, .gpu = 0.5}).describe() == "2 cpu, 0.5 gpu");
  CHECK(amounts({.cpu = 0.125, .custom = {{"board", 3}}}).describe() == "0.125 cpu, 3 board");
  CHECK(amounts({.cpu = 0, .memory = 4ULL << 30U}).describe() == "4 GiB memory");
  CHECK(amounts({.cpu = 0, .memory = 1025}).describe() == "1025 bytes memory");
  CHECK(amounts({.cpu = 0, .memory = 24684056ULL << 10U}).describe() == "23.54 GiB memory");
  CHECK(amounts({.cpu = 0, .memory = (1ULL << 30U) + 1}).describe() == "1.00 GiB memory");
  CHECK(amounts({.cpu = 0, .memory = 20000ULL << 30U}).describe() == "20000 GiB memory");
  CHECK(ResourceAmounts().describe() == "nothing");
}

TEST_CASE("a grant tells its cpus and gpus", "[resources]") {
  const ResourceGrant grant{.amounts = amounts({.cpu = 1.5, .gpu = 0.25}), .gpu_ids = {3}};
  CHECK(grant.cpu() == 1.5);
  CHECK(grant.gpu() == 0.25);
}

}  // namespace
}  // namespace tune
