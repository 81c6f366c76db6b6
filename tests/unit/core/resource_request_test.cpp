#include <cmath>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/resources.hpp>
#include <tune/trial.hpp>

#include "core/resources_json.hpp"

namespace tune {
namespace {

using Catch::Contains;

ResourceRequest request(const Resources& resources) { return ResourceRequest(resources); }

TEST_CASE("a request has the trial's own bundle and one for each worker", "[resources]") {
  const ResourceRequest gang = request({.cpu = 0.5,
                                        .labels = {{"zone", "a"}},
                                        .workers = {{.cpu = 2, .gpu = 1}, {.cpu = 2, .gpu = 1}},
                                        .strategy = GangStrategy::strict_spread});
  CHECK(gang.is_gang());
  CHECK_FALSE(gang.is_plain());
  CHECK(gang.own.amounts.amount("cpu") == 500);
  REQUIRE(gang.workers.size() == 2);
  CHECK(gang.workers[1].amounts.amount("gpu") == 1000);
  CHECK(gang.total().amount("cpu") == 4500);
  CHECK(gang.total().amount("gpu") == 2000);
  CHECK(gang.describe() ==
        "0.5 cpu with zone=a and 2 workers of 2 cpu, 1 gpu with zone=a (strict_spread)");
  CHECK(request({.cpu = 2}).is_plain());
  CHECK(request({.cpu = 2}).describe() == "2 cpu");
  CHECK_FALSE(request({.labels = {{"zone", "a"}}}).is_plain());
}

TEST_CASE("a worker's own label takes the place of the trial's of that name", "[resources]") {
  const ResourceRequest gang = request(
      {.labels = {{"zone", "a"}, {"disk", "ssd"}}, .workers = {{.labels = {{"zone", "b"}}}}});
  CHECK(gang.own.labels == Labels{{"disk", "ssd"}, {"zone", "a"}});
  CHECK(gang.workers[0].labels == Labels{{"disk", "ssd"}, {"zone", "b"}});
}

TEST_CASE("what is wrong with a worker is refused by its place", "[resources]") {
  const auto with = [](const Bundle& bundle) { return request({.workers = {{}, bundle}}); };
  CHECK_THROWS_WITH(with({.cpu = -1}), "resource workers[1].cpu is -1, want a number from 0");
  CHECK_THROWS_WITH(with({.cpu = NAN}), Contains("resource workers[1].cpu is nan"));
  CHECK_THROWS_WITH(with({.cpu = 0.0005}),
                    "resource workers[1].cpu is 0.0005, want a multiple of 0.001");
  CHECK_THROWS_WITH(with({.gpu = 1.5}), Contains("resource workers[1].gpu is 1.5"));
  CHECK_THROWS_WITH(with({.custom = {{"board", -1}}}), Contains("resource workers[1].board is -1"));
  CHECK_THROWS_WITH(with({.labels = {{"", "a"}}}),
                    Contains("resource workers[1].labels") && Contains("\"a\""));
  CHECK_THROWS_WITH(request({.labels = {{"", "a"}}}), Contains("a label needs a name"));
  CHECK_THROWS_WITH(request({.workers = std::vector<Bundle>(1025)}),
                    Contains("1025") && Contains("at most 1024"));
}

TEST_CASE("requests and resources keep their value as JSON", "[resources]") {
  const Resources gang{.cpu = 0.125,
                       .memory = 1ULL << 40U,
                       .custom = {{"board", 0.5}},
                       .labels = {{"zone", "a"}},
                       .workers = {{.cpu = 2, .gpu = 1, .labels = {{"disk", "ssd"}}}, {}},
                       .strategy = GangStrategy::spread};
  for (const Resources& resources : {gang, Resources{}, Resources{.labels = {{"a", ""}}}}) {
    const Json json = core::to_json(resources);
    CHECK(request(core::resources_from_json(Json::parse(json.dump()))) == request(resources));
    const Json exact = core::to_json(request(resources));
    CHECK(core::request_from_json(Json::parse(exact.dump())) == request(resources));
  }
  // As definitions always were, where nothing of this is asked for.
  CHECK(core::to_json(Resources{}) ==
        Json{{"cpu", 1.0}, {"gpu", 0.0}, {"memory", 0}, {"custom", Json::object()}});
}

TEST_CASE("JSON of resources is refused by key and value", "[resources]") {
  const auto read = [](const char* text) { return core::resources_from_json(Json::parse(text)); };
  CHECK_THROWS_WITH(read(R"({"cpus": 1})"), Contains("resources") && Contains("cpus"));
  CHECK_THROWS_WITH(read(R"({"cpu": "1"})"), Contains("cpu") && Contains("a number"));
  CHECK_THROWS_WITH(read(R"({"memory": -1})"), Contains("memory is -1"));
  CHECK_THROWS_WITH(read(R"({"labels": {"zone": 1}})"), Contains("labels"));
  CHECK_THROWS_WITH(read(R"({"custom": {"board": "x"}})"), Contains("custom"));
  CHECK_THROWS_WITH(read(R"({"workers": [{}, {"gpus": 1}]})"),
                    Contains("resources.workers[1]") && Contains("gpus"));
  CHECK_THROWS_WITH(read(R"({"workers": 2})"), Contains("workers is 2"));
  CHECK_THROWS_WITH(read(R"({"strategy": "PACK"})"),
                    Contains("\"PACK\"") && Contains("strict_spread"));
  CHECK(read(R"({"strategy": "strict_pack"})").strategy == GangStrategy::strict_pack);
}

TEST_CASE("a trial tells what it asked for", "[resources]") {
  Trial trial(TrialId{1});
  CHECK(trial.request() == ResourceRequest());
  trial.set_request(std::make_shared<const ResourceRequest>(Resources{.workers = {{}}}));
  CHECK(trial.request().is_gang());
}

}  // namespace
}  // namespace tune
