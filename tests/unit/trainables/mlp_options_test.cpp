#include "trainables/mlp/options.hpp"

#include <string>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/error.hpp>
#include <tune/json.hpp>

namespace tune::trainables {
namespace {

using Catch::Matchers::Contains;

MlpOptions parse(const std::string& json) { return mlp_options(Config(Json::parse(json))); }

/// The message of the InvalidConfig that `json` causes.
std::string refusal(const std::string& json) {
  try {
    (void)parse(json);
  } catch (const InvalidConfig& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("mlp options: defaults", "[mlp][options]") {
  const MlpOptions options = parse("{}");
  CHECK(options.data == "/usr/share/datasets/fashion-mnist");
  CHECK(options.hidden == std::vector<std::int64_t>{128});
  CHECK(options.batch_size == 128);
  CHECK(options.dropout == 0);
  CHECK(options.validation_images == 5000);
  REQUIRE(std::holds_alternative<AdamOptions>(options.optimizer));
  CHECK(std::get<AdamOptions>(options.optimizer).lr == 0.001);
}

TEST_CASE("mlp options: every key is read", "[mlp][options]") {
  const MlpOptions sgd = parse(R"({"data": "/d", "hidden": [30, 20], "optimizer": "sgd", "lr": 0.5,
      "momentum": 0.8, "batch_size": 7, "dropout": 0.25, "validation_images": 11})");
  CHECK(sgd.data == "/d");
  CHECK(sgd.hidden == std::vector<std::int64_t>{30, 20});
  CHECK(std::get<SgdOptions>(sgd.optimizer).lr == 0.5);
  CHECK(std::get<SgdOptions>(sgd.optimizer).momentum == 0.8);
  CHECK(sgd.batch_size == 7);
  CHECK(sgd.dropout == 0.25);
  CHECK(sgd.validation_images == 11);

  const auto adam = std::get<AdamOptions>(
      parse(R"({"lr": 0.5, "beta1": 0.8, "beta2": 0.9, "epsilon": 0.01})").optimizer);
  CHECK(adam.lr == 0.5);
  CHECK(adam.beta1 == 0.8);
  CHECK(adam.beta2 == 0.9);
  CHECK(adam.epsilon == 0.01);
  CHECK(parse(R"({"hidden": []})").hidden.empty());
  CHECK(parse(R"({"hidden": 64})").hidden == std::vector<std::int64_t>{64});
}

TEST_CASE("mlp options: what cannot work is an InvalidConfig that names it", "[mlp][options]") {
  CHECK_THAT(refusal(R"({"dropuot": 0.1})"),
             Contains("unknown key dropuot") && Contains("dropout"));
  CHECK_THAT(refusal(R"({"momentum": 0.9})"),
             Contains("momentum does not belong to optimizer adam"));
  CHECK_THAT(refusal(R"({"optimizer": "sgd", "beta1": 0.9})"),
             Contains("beta1 does not belong to optimizer sgd"));
  CHECK_THAT(refusal(R"({"optimizer": "lbfgs"})"),
             Contains("optimizer is lbfgs, allowed is sgd or adam"));
  CHECK_THAT(refusal(R"({"lr": 0})"), Contains("lr is 0, want a value above 0"));
  CHECK_THAT(refusal(R"({"lr": "fast"})"), Contains("lr") && Contains("fast"));
  CHECK_THAT(refusal(R"({"hidden": 0})"), Contains("hidden is 0, allowed is 1 to 65536"));
  CHECK_THAT(refusal(R"({"hidden": 65537})"), Contains("hidden is 65537"));
  CHECK_THAT(refusal(R"({"hidden": [64, -1]})"), Contains("hidden is -1"));
  CHECK_THAT(refusal(R"({"hidden": 1.5})"), Contains("hidden") && Contains("1.5"));
  CHECK_THAT(refusal(R"({"batch_size": 0})"), Contains("batch_size is 0"));
  CHECK_THAT(refusal(R"({"dropout": 1})"), Contains("dropout is 1, allowed is [0, 1)"));
  CHECK_THAT(refusal(R"({"dropout": -0.1})"), Contains("dropout is -0.1"));
  CHECK_THAT(refusal(R"({"validation_images": 0})"), Contains("validation_images is 0"));
  CHECK_THAT(refusal(R"({"optimizer": "sgd", "momentum": 1})"), Contains("momentum is 1"));
}

}  // namespace
}  // namespace tune::trainables
